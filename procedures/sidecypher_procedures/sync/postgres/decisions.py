"""Decisions about plans that users have made about a draft."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, LiteralString

from sidecypher_procedures.sync.streams import Entry

PLAN: Final = "planId"
"""The key of a draft's metadata with the id of the plan that the draft is about."""

DECIDE: Final[LiteralString] = """
    CALL () {
        UNWIND $decisions AS decision
        WITH decision WHERE decision.action = 'approve'
        CALL runs.plan.approve(decision.plan, decision.user, {message: decision.message})
        YIELD status
        RETURN count(*) AS approved
    }
    CALL () {
        UNWIND $decisions AS decision
        WITH decision WHERE decision.action = 'discard'
        CALL runs.plan.reject(decision.plan, decision.user, {message: decision.message})
        YIELD status
        RETURN count(*) AS rejected
    }
"""
"""What follows on the writing of events. Doing the same again changes nothing."""

_DECIDES: Final = frozenset({"approve", "discard"})
_LONGEST_MESSAGE: Final = 4000


def decisions_in(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return what entries about drafts decide about plans, as `DECIDE` takes it."""
    found = (_decision(entry.event) for entry in entries)
    return [decision for decision in found if decision is not None]


def _decision(event: Mapping[str, Any]) -> dict[str, Any] | None:
    metadata = event.get("metadata")
    if not isinstance(metadata, dict) or not {"draftId", PLAN} <= metadata.keys():
        return None
    if metadata.get("action") not in _DECIDES:
        return None
    return {
        "action": metadata["action"],
        "plan": metadata[PLAN],
        "user": metadata.get("userId"),
        "message": str(event.get("content"))[:_LONGEST_MESSAGE],
    }
