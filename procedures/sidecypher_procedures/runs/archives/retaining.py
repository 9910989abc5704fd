"""Which runs of a type have ended long enough ago to leave the graph."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from sidecypher import Context, Duration
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.archives.archiving import archive_run
from sidecypher_procedures.runs.archives.removing import lock_ended, remove
from sidecypher_procedures.runs.archives.rows import Retained
from sidecypher_procedures.runs.errors import InvalidOption, RunMustStay, UnknownRun
from sidecypher_procedures.runs.states import FINAL

RETAIN_KEYS: Final = ("dryRun", "delete", "limit")

_MOST: Final = 1000
_OLD: Final = """
    MATCH (r:WorkflowRun)
    WHERE r.type = $type AND r.completedAt < datetime() - $olderThan AND r.state IN $final
    AND NOT EXISTS { (r)<-[:FORKED_FROM]-() }
    AND NOT EXISTS { MATCH (p:Plan) WHERE p.runId = r.id AND p.status = 'pending_review' }
    WITH r ORDER BY r.type, r.completedAt LIMIT $limit
    RETURN r.id AS id, r.state AS state, r.completedAt AS completedAt ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class Retention:
    """What happens to old runs.

    Attributes:
        dry_run: Whether it is only told.
        delete: Whether they are deleted instead of archived.
        limit: Of how many at most, the oldest first.
    """

    dry_run: bool
    delete: bool
    limit: int

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Self:
        """Check the MAP `options`.

        Raises:
            InvalidOption: One is unknown or has an unusable value.
        """
        fields = Fields(options, "list of options", RETAIN_KEYS, InvalidOption)
        return cls(
            dry_run=fields.flag("dryRun") if "dryRun" in fields else True,
            delete=fields.flag("delete"),
            limit=fields.count("limit", 100, largest=_MOST),
        )


def retain_runs(
    ctx: Context, folder: Path | None, run_type: str, older_than: Duration, retention: Retention
) -> Iterator[Retained]:
    """Archive or delete the runs of a type that ended before a time, or tell which these are.

    Raises:
        InvalidOption: The time is negative.
    """
    if min(older_than.months, older_than.days, older_than.seconds) < 0:
        raise InvalidOption("The age is negative", hint="Give one such as duration('P90D').")
    found = ctx.run(
        _OLD, type=run_type, olderThan=older_than, final=sorted(FINAL), limit=retention.limit
    )
    action = "delete" if retention.delete else "archive"
    # By id, as all who lock several runs.
    for record in list(found):
        if retention.dry_run or _leave(ctx, folder, record, retention):
            yield Retained(
                run_id=record["id"],
                state=record["state"],
                completed_at=record["completedAt"],
                action=action,
            )


def _leave(
    ctx: Context, folder: Path | None, record: Mapping[str, Any], retention: Retention
) -> bool:
    """Take a run out of the graph, unless it is another one by now."""
    try:
        if lock_ended(ctx, record["id"]).completed_at != record["completedAt"]:
            return False
    except (RunMustStay, UnknownRun):
        return False
    if retention.delete:
        remove(ctx, record["id"])
    else:
        archive_run(ctx, folder, record["id"])
    return True
