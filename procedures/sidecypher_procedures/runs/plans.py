"""Plans: versions, decisions and comments, all written under the lock of the run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from sidecypher import Context
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.errors import (
    EventTaken,
    InvalidArgument,
    PlanSuperseded,
    UnknownPlan,
    UnknownReference,
)
from sidecypher_procedures.runs.event import Event
from sidecypher_procedures.runs.event_log import append
from sidecypher_procedures.runs.lock import NOW, lock
from sidecypher_procedures.runs.model import Status, event_type, next_status
from sidecypher_procedures.runs.options import CommentInput, PlanInput, RevisionInput
from sidecypher_procedures.runs.rows import ActionRow, CommentRow, PlanRow

# The same lock as in `lock`: data read after the SET cannot change any more. Plans written by
# plain Cypher may lack status and version.
_LOCK_PLAN: Final = f"""
    MATCH (p:Plan {{id: $planId}})
    MATCH (r:WorkflowRun {{id: p.runId}})
    SET r.lock = true
    WITH p, r, {NOW} AS now
    RETURN r.id AS runId, now, p.deletedAt IS NOT NULL AS deleted,
        coalesce(p.status, 'draft') AS status, coalesce(p.version, 1) AS version,
        [(n:Plan)-[:PREVIOUS_VERSION]->(p) | n.id] AS nextIds,
        [(u:User)-[a:REVIEWS|APPROVES|REJECTS|EDITS]->(p) | [type(a), u.id, a.message]] AS actions,
        [(p)-[:IMPLEMENTS]->(i:Issue) | i.id] AS issues
"""


@dataclass(frozen=True, slots=True)
class LockedPlan:
    """A version of a plan whose run is locked by this transaction.

    Attributes:
        version: Its number, from 1.
        deleted: Whether its content was deleted.
        next_id: The id of the next version, None if it is the latest.
        actions: Actions of users: types of relationships, ids of users, messages.
        now: The time of the lock, later than every earlier `touchedAt` of the run.
    """

    id: str
    run_id: str
    status: Status
    version: int
    deleted: bool
    next_id: str | None
    actions: set[tuple[str, str, str]]
    issues: list[str]
    now: datetime

    def check_latest(self) -> None:
        """Raise PlanSuperseded if the plan has a newer version."""
        if self.next_id is not None:
            raise PlanSuperseded(
                f"The plan `{shown_id(self.id)}` has a newer version",
                hint=f"The version after it is `{shown_id(self.next_id)}`.",
            )

    def has(self, action: str, user: str, message: str) -> bool:
        """Return whether a user has done this with this message; an empty one matches any."""
        return any(done[:2] == (action, user) and message in {"", done[2]} for done in self.actions)

    def row(self, status: Status | None = None) -> PlanRow:
        """Return the row of the plan, with another status if one is given."""
        return PlanRow(
            id=self.id,
            status=status or self.status,
            version=self.version,
            run_id=self.run_id,
        )


def lock_plan(ctx: Context, plan_id: str) -> LockedPlan:
    """Lock the run of a plan until the transaction ends, and read the plan.

    Raises:
        UnknownPlan: No plan of a run has this id, or it was deleted.
    """
    found = lock_plan_if_any(ctx, plan_id)
    if found is None:
        raise UnknownPlan(f"There is no plan `{shown_id(plan_id)}` of a run")
    if found.deleted:
        raise UnknownPlan(f"The plan `{shown_id(plan_id)}` was deleted")
    return found


def lock_plan_if_any(ctx: Context, plan_id: str) -> LockedPlan | None:
    """Lock and read a plan like `lock_plan`; return None for a plan that does not exist."""
    found = ctx.run(_LOCK_PLAN, planId=plan_id)
    if not len(found):
        return None
    record = found.single()
    return LockedPlan(
        id=plan_id,
        run_id=record["runId"],
        status=record["status"],
        version=record["version"],
        deleted=record["deleted"],
        next_id=next(iter(record["nextIds"]), None),
        actions={(action, user, message or "") for action, user, message in record["actions"]},
        issues=record["issues"],
        now=record["now"],
    )


_LABEL_PLAN: Final = """
    MATCH (p:Message {id: $id})
    SET p:Plan, p += $properties, p.updatedAt = datetime.realtime()
"""
# If a plan follows several messages, the latest one generated it.
_LINK_SOURCE: Final = """
    MATCH (m:Message) WHERE m.id IN $sources
    WITH m ORDER BY m.seq DESC LIMIT 1
    MATCH (p:Plan {id: $id})
    CREATE (m)-[:GENERATED_PLAN]->(p)
    RETURN m.id AS id
"""
_LINK_VERSION: Final = """
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


def create_version(ctx: Context, run_id: str, plan: PlanInput) -> PlanRow:
    """Append a plan to a run. An existing plan is not changed.

    Raises:
        UnknownRun: No run has this id.
        EventTaken: The id belongs to another event, or to a later version of a plan.
        UnknownParent: A parent is not an event of this run.
        UnknownReference: A referenced message of this run, or an issue, does not exist.
    """
    event = plan.event
    _check_source(ctx, run_id, plan.generated_by)
    [done] = append(ctx, run_id, [event])
    if done.duplicate:
        return _first_version(ctx, event)
    row = PlanRow(id=event.id, status=plan.status, version=1, run_id=run_id)
    _label_plan(ctx, row, {"originalVersion": True})
    if plan.generated_by is None:
        _link_source(ctx, row, [parent.id for parent in done.parents])
    else:
        _link_given_source(ctx, row, plan.generated_by)
    _implement(ctx, row, plan.implements)
    return row


def revise(ctx: Context, plan_id: str, user: str, revision: RevisionInput) -> PlanRow:
    """Append a new version of a plan to its run. An existing version is not changed.

    Raises:
        UnknownPlan: No plan of a run has this id.
        PlanSuperseded: It has a newer version.
        IllegalStatus: It is implemented.
        EventTaken: The id belongs to another event, or to a version with another user or message.
        UnknownParent: A parent is not an event of the plan's run.
        UnknownReference: A referenced message of the run, or an issue, does not exist.
    """
    old, event = lock_plan(ctx, plan_id), revision.event
    if old.next_id == event.id:
        append(ctx, old.run_id, [event])
        new = lock_plan(ctx, event.id)
        if ("EDITS", user, revision.message) not in new.actions:
            raise _id_taken(event)
        return new.row()
    old.check_latest()
    status = next_status("revise", old.status)
    _check_source(ctx, old.run_id, revision.generated_by)
    [done] = append(ctx, old.run_id, [event])
    if done.duplicate:
        raise _id_taken(event)
    row = PlanRow(id=event.id, status=status, version=old.version + 1, run_id=old.run_id)
    _label_plan(ctx, row, _edited(old, user, revision))
    ctx.run(
        _LINK_VERSION,
        id=row.id,
        oldId=old.id,
        user=user,
        now=old.now,
        message=revision.message or None,
    )
    if revision.generated_by is not None:
        _link_given_source(ctx, row, revision.generated_by)
    _implement(ctx, row, old.issues if revision.implements is None else revision.implements)
    return row


def _edited(old: LockedPlan, user: str, revision: RevisionInput) -> dict[str, Any]:
    return {
        "originalVersion": False,
        "editedAt": old.now,
        "editedBy": user,
        "editMessage": revision.message or None,
        "parentId": old.id,
    }


def _check_source(ctx: Context, run_id: str, source: str | None) -> None:
    """Check that the message that generated a plan is in its run."""
    if source is None:
        return
    held = lock(ctx, run_id, [source])
    known = held.events.get(source)
    if known is None or not held.holds(known):
        raise _unknown_message(source)


def _first_version(ctx: Context, event: Event) -> PlanRow:
    found = lock_plan_if_any(ctx, event.id)
    if found is None or found.version != 1:
        raise _id_taken(event)
    return found.row()


def _label_plan(ctx: Context, row: PlanRow, properties: dict[str, Any]) -> None:
    properties = properties | {"status": row.status, "version": row.version}
    ctx.run(_LABEL_PLAN, id=row.id, properties=properties)


def _link_source(ctx: Context, row: PlanRow, sources: Sequence[str]) -> bool:
    return bool(len(ctx.run(_LINK_SOURCE, id=row.id, sources=list(sources))))


def _link_given_source(ctx: Context, row: PlanRow, source: str) -> None:
    if not _link_source(ctx, row, [source]):
        raise _unknown_message(source)


def _implement(ctx: Context, row: PlanRow, issues: Sequence[str]) -> None:
    if not issues:
        return
    # A fixed order, so that two writers of the same issues cannot deadlock.
    wanted = sorted(set(issues))
    found = {record["id"] for record in ctx.run(_IMPLEMENT, id=row.id, issues=wanted)}
    missing = next((name for name in wanted if name not in found), None)
    if missing is not None:
        raise UnknownReference(
            f"There is no issue `{shown_id(missing)}` that the plan could implement",
            hint="Write it first, as `github.mergeIssue` does, or leave it out.",
        )


def _id_taken(event: Event) -> EventTaken:
    return EventTaken(f"The id `{shown_id(event.id)}` belongs to another event")


def _unknown_message(source: str) -> UnknownReference:
    return UnknownReference(
        f"There is no message `{shown_id(source)}` of the run that the plan could come of",
        hint="Give the id of a message that `runs.events` lists for the run, or leave it out.",
    )


Decision = Literal["review", "approve", "reject"]

_RELATIONSHIP: Final[dict[Decision, str]] = {
    "review": "REVIEWS",
    "approve": "APPROVES",
    "reject": "REJECTS",
}
_CHANGE: Final = """
    SET p.status = $status, p.updatedAt = $now
    WITH p MATCH (r:WorkflowRun {id: p.runId}) SET r.touchedAt = $now
"""
_DECIDE: Final = f"""
    MATCH (p:Plan {{id: $planId}})
    MERGE (u:User {{id: $user}})
    CREATE (u)-[:$($relationship) {{timestamp: $now, message: $message, version: $version}}]->(p)
    {_CHANGE}
"""
_IMPLEMENTED: Final = f"MATCH (p:Plan {{id: $planId}}) {_CHANGE}"
_RESULT: Final = """
    MATCH (p:Plan {id: $planId}), (pr:PullRequest {id: $pullRequest})
    MERGE (p)-[:RESULTS_IN]->(pr)
    RETURN pr.id AS id
"""


def decide(ctx: Context, decision: Decision, plan_id: str, user: str, message: str) -> PlanRow:
    """Write a user's decision on a plan. Repeating it with the same message changes nothing.

    A decision with another message is a new one: it is written as well, or refused.

    Raises:
        UnknownPlan: No plan of a run has this id.
        PlanSuperseded: It has a newer version.
        IllegalStatus: The decision is not allowed for a plan with this status.
    """
    plan = lock_plan(ctx, plan_id)
    relationship = _RELATIONSHIP[decision]
    if plan.has(relationship, user, message):
        return plan.row()
    plan.check_latest()
    status = next_status(decision, plan.status)
    ctx.run(
        _DECIDE,
        planId=plan_id,
        user=user,
        relationship=relationship,
        now=plan.now,
        message=message or None,
        version=plan.version,
        status=status,
    )
    return plan.row(status)


def implement(ctx: Context, plan_id: str, pull_request: str | None) -> PlanRow:
    """Mark a plan as implemented, by a pull request if one is given.

    Raises:
        UnknownPlan: No plan of a run has this id.
        PlanSuperseded: It has a newer version.
        IllegalStatus: It is not approved.
        UnknownReference: The pull request does not exist.
    """
    plan = lock_plan(ctx, plan_id)
    plan.check_latest()
    status = next_status("implement", plan.status)
    if status != plan.status:
        ctx.run(_IMPLEMENTED, planId=plan_id, status=status, now=plan.now)
    if pull_request is not None and not len(
        ctx.run(_RESULT, planId=plan_id, pullRequest=pull_request)
    ):
        raise UnknownReference(
            f"There is no pull request `{shown_id(pull_request)}`",
            hint="Write it first, as `github.mergePullRequest` does, or leave it out.",
        )
    return plan.row(status)


_COMMENT: Final = """
    MATCH (c:Event {id: $id}), (p:Plan {id: $planId})
    CREATE (c)-[:COMMENTS_ON]->(p)
"""
# A deleted comment has lost its relationship to the plan.
_COMMENTED: Final = """
    MATCH (c:Event {id: $id})
    WHERE c.deletedAt IS NOT NULL OR EXISTS { (c)-[:COMMENTS_ON]->(:Plan {id: $planId}) }
    RETURN c.id AS id
"""


def append_comment(ctx: Context, plan_id: str, user: str, comment: CommentInput) -> CommentRow:
    """Append a comment on a plan to the plan's run. An existing comment is not changed.

    Raises:
        InvalidArgument: The metadata of the comment has another user.
        UnknownPlan: No plan of a run has this id.
        EventTaken: The id belongs to another event.
        UnknownParent: A parent is not an event of the plan's run.
        UnknownReference: A node that it refers to does not exist.
    """
    metadata = {**(comment.metadata or {}), "userId": user}
    if (comment.metadata or {}).get("userId", user) != user:
        raise InvalidArgument(
            "The comment has another `userId` in its `metadata`", hint="Leave it out."
        )
    event = comment.to_event(
        event_type("reviewComment"),
        comment.content,
        plan_id if comment.suggests_edit else None,
        metadata=metadata,
    )
    plan = lock_plan(ctx, plan_id)
    [done] = append(ctx, plan.run_id, [event])
    if not done.duplicate:
        ctx.run(_COMMENT, id=event.id, planId=plan_id)
    elif not len(ctx.run(_COMMENTED, id=event.id, planId=plan_id)):
        raise EventTaken(
            f"The id `{shown_id(event.id)}` belongs to an event that does not comment on this plan"
        )
    return CommentRow(
        id=event.id,
        plan_id=plan_id,
        status=plan.status,
        version=plan.version,
        run_id=plan.run_id,
    )


# Versions are one chain. Without DISTINCT each step would visit all steps before it. Actions that
# plain Cypher has written without a time come last.
_HISTORY: Final = """
    MATCH (p:Plan {id: $planId})
    MATCH (p)-[:PREVIOUS_VERSION*0..]-(v:Plan)
    WITH DISTINCT v
    MATCH (u:User)-[a:REVIEWS|APPROVES|REJECTS|EDITS]->(v)
    WITH u, v, a, elementId(a) AS place, datetime({
        datetime: coalesce(a.timestamp, datetime('9999-12-31T23:59:59Z')), timezone: 'Z'
    }) AS at
    WHERE at > datetime($after) OR at = datetime($after) AND place > $afterId
    RETURN type(a) AS action, u.id AS user_id, a.timestamp AS created_at, a.message AS message,
        coalesce(v.version, 1) AS version, toString(at) + ' ' + place AS cursor
    ORDER BY at, place LIMIT $limit
"""


def history_of(ctx: Context, plan_id: str, page: Mapping[str, Any]) -> Iterator[ActionRow]:
    """Yield the actions of users on all versions of a plan, in order of time."""
    for record in ctx.run(_HISTORY, planId=plan_id, **page):
        yield ActionRow(**dict(record))
