"""What is seen of runs: which there are, their shape, and what was said and called in them."""

from sidecypher_procedures.runs.views.procedures import (
    conversation,
    list_runs,
    path,
    timeline,
    tool_calls,
    tree,
)

__all__ = ["conversation", "list_runs", "path", "timeline", "tool_calls", "tree"]
