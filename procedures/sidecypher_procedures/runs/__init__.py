"""The `runs` namespace: workflow runs as an event graph that cannot fork, lose or reorder."""

from sidecypher_procedures.runs.procedures import (
    append,
    append_many,
    create,
    events,
    get,
    state,
    verify,
)

__all__ = ["append", "append_many", "create", "events", "get", "state", "verify"]
