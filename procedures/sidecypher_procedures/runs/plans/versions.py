"""Writing plans: the first version, and those after it. A plan is an event of its run."""

from collections.abc import Sequence
from typing import Any, Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.appending import append
from sidecypher_procedures.runs.errors import EventTaken, UnknownReference
from sidecypher_procedures.runs.inputs import EventInput
from sidecypher_procedures.runs.locking import lock
from sidecypher_procedures.runs.plans.holding import HeldPlan, find, hold
from sidecypher_procedures.runs.plans.inputs import PlanInput, RevisionInput
from sidecypher_procedures.runs.plans.rows import PlanRow
from sidecypher_procedures.runs.plans.statuses import after

_MARK: Final = """
    MATCH (p:Message {id: $id})
    SET p:Plan, p += $properties, p.updatedAt = datetime.realtime()
"""
# Of several messages that a plan follows the latest one counts.
_GENERATE: Final = """
    MATCH (m:Message) WHERE m.id IN $sources
    WITH m ORDER BY m.seq DESC LIMIT 1
    MATCH (p:Plan {id: $id})
    CREATE (m)-[:GENERATED_PLAN]->(p)
    RETURN m.id AS id
"""
_SUCCEED: Final = """
    MATCH (p:Plan {id: $id}), (old:Plan {id: $oldId})
    MERGE (u:User {id: $user})
    CREATE (p)-[:PREVIOUS_VERSION]->(old),
        (u)-[:EDITS {timestamp: $now, message: $message, version: p.version}]->(p)
"""
_IMPLEMENT: Final = """
    UNWIND $issues AS id
    MATCH (p:Plan {id: $id}), (i:Issue {id: id})
    CREATE (p)-[:IMPLEMENTS]->(i)
    RETURN i.id AS id
"""


def create(ctx: Context, run_id: str, plan: PlanInput) -> PlanRow:
    """Append a plan to a run; one that is there already is left as it is.

    Raises:
        UnknownRun: No run has this id.
        EventTaken: The id belongs to another event, or to a later version of a plan.
        UnknownParent: A parent is not an event of this run.
        UnknownReference: A message of this run or an issue that it names is not there.
    """
    event = plan.event
    _check_source(ctx, run_id, plan.generated_by)
    [done] = append(ctx, run_id, [event])
    if done.duplicate:
        return _first_version(ctx, event)
    row = PlanRow(plan_id=event.id, status=plan.status, version=1, run_id=run_id)
    _mark(ctx, row, {"originalVersion": True})
    if plan.generated_by is None:
        _generate(ctx, row, [parent.id for parent in done.parents])
    else:
        _generate_by(ctx, row, plan.generated_by)
    _implement(ctx, row, plan.implements)
    return row


def revise(ctx: Context, plan_id: str, user: str, revision: RevisionInput) -> PlanRow:
    """Append a new version of a plan to its run; one that is there already is left as it is.

    Raises:
        UnknownPlan: No plan of a run has this id.
        PlanSuperseded: It has a newer version.
        IllegalStatus: It is implemented.
        EventTaken: The id belongs to another event, or to a version of another user or message.
        UnknownParent: A parent is not an event of the plan's run.
        UnknownReference: A message of the run or an issue that it names is not there.
    """
    old, event = hold(ctx, plan_id), revision.event
    if old.next_id == event.id:
        append(ctx, old.run_id, [event])
        new = hold(ctx, event.id)
        if ("EDITS", user, revision.message) not in new.actions:
            raise _taken(event)
        return new.row()
    old.check_latest()
    status = after("revise", old.status)
    _check_source(ctx, old.run_id, revision.generated_by)
    [done] = append(ctx, old.run_id, [event])
    if done.duplicate:
        raise _taken(event)
    row = PlanRow(plan_id=event.id, status=status, version=old.version + 1, run_id=old.run_id)
    _mark(ctx, row, _edited(old, user, revision))
    _succeed(ctx, row, old, user, revision)
    if revision.generated_by is not None:
        _generate_by(ctx, row, revision.generated_by)
    _implement(ctx, row, old.issues if revision.implements is None else revision.implements)
    return row


def _edited(old: HeldPlan, user: str, revision: RevisionInput) -> dict[str, Any]:
    return {
        "originalVersion": False,
        "editedAt": old.now,
        "editedBy": user,
        "editMessage": revision.message or None,
        "parentId": old.id,
    }


def _check_source(ctx: Context, run_id: str, source: str | None) -> None:
    """Check that what a plan is said to have come of is of its run."""
    if source is None:
        return
    held = lock(ctx, run_id, [source])
    known = held.events.get(source)
    if known is None or not held.holds(known):
        raise _no_message(source)


def _first_version(ctx: Context, event: EventInput) -> PlanRow:
    found = find(ctx, event.id)
    if found is None or found.version != 1:
        raise _taken(event)
    return found.row()


def _mark(ctx: Context, row: PlanRow, properties: dict[str, Any]) -> None:
    properties = properties | {"status": row.status, "version": row.version}
    ctx.run(_MARK, id=row.plan_id, properties=properties)


def _generate(ctx: Context, row: PlanRow, sources: Sequence[str]) -> bool:
    return bool(len(ctx.run(_GENERATE, id=row.plan_id, sources=list(sources))))


def _generate_by(ctx: Context, row: PlanRow, source: str) -> None:
    if not _generate(ctx, row, [source]):
        raise _no_message(source)


def _implement(ctx: Context, row: PlanRow, issues: Sequence[str]) -> None:
    if not issues:
        return
    # In one order, so that no two writers of the same ones wait for each other.
    wanted = sorted(issues)
    found = {record["id"] for record in ctx.run(_IMPLEMENT, id=row.plan_id, issues=wanted)}
    missing = next((name for name in wanted if name not in found), None)
    if missing is not None:
        raise UnknownReference(
            f"There is no issue `{shown_id(missing)}` that the plan could implement",
            hint="Write it first, as `github.mergeIssue` does, or leave it out.",
        )


def _succeed(ctx: Context, row: PlanRow, old: HeldPlan, user: str, revision: RevisionInput) -> None:
    ctx.run(
        _SUCCEED,
        id=row.plan_id,
        oldId=old.id,
        user=user,
        now=old.now,
        message=revision.message or None,
    )


def _taken(event: EventInput) -> EventTaken:
    return EventTaken(f"The id `{shown_id(event.id)}` belongs to another event")


def _no_message(source: str) -> UnknownReference:
    return UnknownReference(
        f"There is no message `{shown_id(source)}` of the run that the plan could come of",
        hint="Give the id of a message that `runs.events` lists for the run, or leave it out.",
    )
