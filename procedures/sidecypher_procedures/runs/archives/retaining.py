"""Which runs of a type have ended long enough ago to leave the graph."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal, Self

from sidecypher import Context, Duration
from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.archives.archiving import archive_run
from sidecypher_procedures.runs.archives.removing import lock_ended, remove
from sidecypher_procedures.runs.archives.rows import Retained
from sidecypher_procedures.runs.errors import (
    ArchiveDamaged,
    InvalidOption,
    RunMustStay,
    RunTaken,
    UnknownRun,
)
from sidecypher_procedures.runs.reading import AWAITED
from sidecypher_procedures.runs.states import FINAL, SYNONYMS, state_of

RETAIN_KEYS: Final = ("dryRun", "delete", "limit")

Action = Literal["archive", "delete", "stay"]

_MOST: Final = 1000
_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
_ENDED: Final = sorted({*FINAL, *SYNONYMS})
_OLD: Final = f"""
    MATCH (r:WorkflowRun)
    WHERE r.type = $type AND r.completedAt >= $since AND r.completedAt < datetime() - $olderThan
    AND (r.completedAt > $since OR r.id > $after)
    AND coalesce(r.state, r.status) IN $ended
    AND NOT EXISTS {{ (r)<-[:FORKED_FROM]-() }}
    AND NOT {AWAITED}
    WITH r ORDER BY r.type, r.completedAt, r.id LIMIT $limit
    RETURN r.id AS id, coalesce(r.state, r.status) AS state, r.completedAt AS completedAt
    ORDER BY completedAt, id
"""


@dataclass(frozen=True, slots=True)
class Retention:
    """What happens to old runs.

    Attributes:
        dry_run: Whether it is only told.
        action: What it is.
        limit: How many leave at most, the oldest first.
    """

    dry_run: bool
    action: Literal["archive", "delete"]
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
            action="delete" if fields.flag("delete") else "archive",
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
    wanted = {"type": run_type, "olderThan": older_than, "ended": _ENDED}
    left, since, after = retention.limit, _BEGINNING, ""
    # Those that stay are no part of the limit: they would hold up all that are younger.
    while left:
        found = list(ctx.run(_OLD, **wanted, since=since, after=after, limit=left))
        if not found:
            return
        since, after = found[-1]["completedAt"], found[-1]["id"]
        # Who locks several runs does so in the order of their ids.
        for record in sorted(found, key=itemgetter("id")):
            action = (
                retention.action if retention.dry_run else _leave(ctx, folder, record, retention)
            )
            if action is not None:
                left -= action != "stay"
                yield Retained(
                    run_id=record["id"],
                    state=state_of(record["state"]),
                    completed_at=record["completedAt"],
                    action=action,
                )


def _leave(
    ctx: Context, folder: Path | None, record: Mapping[str, Any], retention: Retention
) -> Action | None:
    """Take a run out of the graph; tell what was done, None if it is another one by now."""
    try:
        ended = lock_ended(ctx, record["id"])
    except (RunMustStay, UnknownRun):
        return None
    if ended.completed_at != record["completedAt"]:
        return None
    if retention.action == "delete":
        remove(ctx, record["id"])
        return "delete"
    try:
        archive_run(ctx, folder, record["id"])
    except (RunMustStay, RunTaken, ArchiveDamaged):
        # All of these come before anything of it is deleted.
        return "stay"
    return "archive"
