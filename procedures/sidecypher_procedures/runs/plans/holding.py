"""A plan whose run is locked, as every writer of it finds it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.errors import PlanSuperseded, UnknownPlan
from sidecypher_procedures.runs.locking import NOW
from sidecypher_procedures.runs.plans.rows import PlanRow
from sidecypher_procedures.runs.plans.statuses import Status

# The lock is that of `runs.locking`: what is read after the SET cannot change any more. What plain
# Cypher has written may lack status and version.
_HOLD: Final = f"""
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
class HeldPlan:
    """A version of a plan that this transaction has to itself until it ends.

    Attributes:
        id: Its id.
        run_id: The run that it was written to.
        status: Its status.
        version: Its number, from 1.
        deleted: Whether its content was deleted.
        next_id: The id of the version after it, None when it is the latest.
        actions: Who has done what and said what: types of relationships, ids of users, messages.
        issues: Ids of the issues that it implements.
        now: The time at which the lock was had, later than the run was touched before.
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
        """Check that no version comes after this one.

        Raises:
            PlanSuperseded: One does.
        """
        if self.next_id is not None:
            raise PlanSuperseded(
                f"The plan `{shown_id(self.id)}` has a newer version",
                hint=f"The version after it is `{shown_id(self.next_id)}`.",
            )

    def has(self, action: str, user: str, message: str) -> bool:
        """Tell whether a user has done this and said so; without a message, whatever was said."""
        return any(done[:2] == (action, user) and message in {"", done[2]} for done in self.actions)

    def row(self, status: Status | None = None) -> PlanRow:
        """Return what procedures tell of it, with another status than it had if one is given."""
        return PlanRow(
            plan_id=self.id,
            status=status or self.status,
            version=self.version,
            run_id=self.run_id,
        )


def hold(ctx: Context, plan_id: str) -> HeldPlan:
    """Lock the run of a plan until the transaction ends, and read the plan.

    Raises:
        UnknownPlan: No plan of a run has this id, or it was deleted.
    """
    found = find(ctx, plan_id)
    if found is None:
        raise UnknownPlan(f"There is no plan `{shown_id(plan_id)}` of a run")
    if found.deleted:
        raise UnknownPlan(f"The plan `{shown_id(plan_id)}` was deleted")
    return found


def find(ctx: Context, plan_id: str) -> HeldPlan | None:
    """Do the same, without an error for a plan that is not there or was deleted."""
    found = ctx.run(_HOLD, planId=plan_id)
    if not len(found):
        return None
    record = found.single()
    return HeldPlan(
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
