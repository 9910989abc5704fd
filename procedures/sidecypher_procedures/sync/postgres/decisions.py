"""Decisions about plans that users have made about a draft."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sidecypher_procedures.sync.streams import Entry

PLAN: Final = "planId"
"""The key of a draft's metadata with the id of the plan that the draft is about."""

_DECISIONS: Final = {"approve": "approve", "discard": "reject"}
"""By what a user does with a draft, the procedure of `runs.plan` that tells the plan."""

_EACH: Final = """
    CALL () {{
        UNWIND $decisions AS decision
        WITH decision WHERE decision.action = '{action}'
        CALL runs.plan.{procedure}(decision.plan, decision.user, {{message: decision.message}})
        YIELD status
        RETURN count(*) AS {action}
    }}
"""

DECIDE: Final = "".join(
    _EACH.format(action=action, procedure=procedure) for action, procedure in _DECISIONS.items()
)
"""What follows on the writing of events. Doing the same again changes nothing."""

_LONGEST_MESSAGE: Final = 4000


def decisions_in(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return what entries about drafts decide about plans, as `DECIDE` takes it."""
    found = (_decision(entry.event) for entry in entries)
    return [decision for decision in found if decision is not None]


def _decision(event: Mapping[str, Any]) -> dict[str, Any] | None:
    metadata = event.get("metadata")
    if not isinstance(metadata, dict) or not {"draftId", PLAN} <= metadata.keys():
        return None
    action = metadata.get("action")
    if not isinstance(action, str) or action not in _DECISIONS:
        return None
    return {
        "action": action,
        "plan": metadata[PLAN],
        "user": metadata.get("userId"),
        "message": str(event.get("content"))[:_LONGEST_MESSAGE],
    }
