"""The `rules` namespace: preferences with provenance, and who wins when two contradict.

What is stated is stored and never rewritten; what holds is computed from it.
"""

from sidecypher_procedures.rules.procedures import (
    active,
    add,
    check,
    confirm,
    context,
    contradictions,
    explain,
    history,
    recheck,
    record,
    remember,
    retract,
    suspect,
    unknown,
)

__all__ = [
    "active",
    "add",
    "check",
    "confirm",
    "context",
    "contradictions",
    "explain",
    "history",
    "recheck",
    "record",
    "remember",
    "retract",
    "suspect",
    "unknown",
]
