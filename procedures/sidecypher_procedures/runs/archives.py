"""Move runs from the graph to archives, restore them, and apply retention."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, Literal

from sidecypher import Context, Duration
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.runs.archive_format import ArchiveFile, RunArchives, Tail
from sidecypher_procedures.runs.archive_graph import (
    digest_of,
    lines_of,
    lock_ended,
    remove,
    write_lines,
)
from sidecypher_procedures.runs.errors import (
    ArchiveDamaged,
    InvalidArgument,
    RunMustStay,
    RunTaken,
    SequenceConflict,
    UnknownArchive,
    UnknownRun,
)
from sidecypher_procedures.runs.integrity import is_whole
from sidecypher_procedures.runs.model import FINAL, SYNONYMS, state_of
from sidecypher_procedures.runs.options import RetainOptions
from sidecypher_procedures.runs.rows import Archived, Retained
from sidecypher_procedures.runs.store import AWAITED

_IS_THERE: Final = """
    OPTIONAL MATCH (r:WorkflowRun {id: $runId})
    OPTIONAL MATCH (e:Event {runId: $runId, seq: 1})
    RETURN r IS NOT NULL OR e IS NOT NULL AS found
"""


# Part of the transaction that moves a run, so that the graph says which archive is the latest, also
# after a rollback.
_NOTED: Final = "MATCH (a:ArchivedRun {id: $runId}) RETURN a.digest AS digest"
_NOTE: Final = "CREATE (:ArchivedRun {id: $runId, digest: $digest})"
_FORGET: Final = "MATCH (a:ArchivedRun {id: $runId}) DELETE a"


def archive_run(ctx: Context, folder: Path | None, run_id: str) -> Archived:
    """Move a run to a file; of one that has left already the file is only read.

    Raises:
        ArchiveUnavailable: The file cannot be written.
        ArchiveDamaged: What is read back is not what was written.
        UnknownRun: No run has this id, and none was archived.
        RunMustStay: The run may not leave the graph.
        RunTaken: Another run of this id was archived.
        SequenceConflict: Something was attached to the run meanwhile.
    """
    archives = RunArchives.of(folder, ctx.database, run_id)
    try:
        lock_ended(ctx, run_id)
    except UnknownRun as error:
        try:
            file = _latest(ctx, archives)
        except UnknownArchive:
            raise error from None
        return _row(file, file.check())
    if _noted(ctx, run_id) is not None:
        raise RunTaken(
            f"Another run whose id was `{shown_id(run_id)}` too was archived",
            hint="Delete its node `(:ArchivedRun)` if that one is not needed; its file stays.",
        )
    if not is_whole(ctx, run_id):
        raise RunMustStay(
            f"The history of the run `{shown_id(run_id)}` is not as it was written",
            hint="`runs.verify` tells where.",
        )
    file = archives.write(lines_of(ctx, run_id))
    tail = file.check()
    # From here on the file has all that is deleted, and the transaction decides which of them is.
    if remove(ctx, run_id) != (tail.nodes, tail.relationships):
        raise SequenceConflict(
            f"Something was attached to the run `{shown_id(run_id)}` meanwhile", hint="Try again."
        )
    ctx.run(_NOTE, runId=run_id, digest=tail.digest)
    return _row(file, tail)


def restore_run(ctx: Context, folder: Path | None, run_id: str) -> Archived:
    """Write an archived run to the graph; its file stays.

    Raises:
        ArchiveUnavailable: The file cannot be read.
        UnknownArchive: No run of this id was archived, or several are there and none is noted.
        ArchiveDamaged: The file is not what was written, or the graph then has something else.
        RunTaken: A run of this id is in the graph.
        EventTaken: The id of an event of it belongs to another one by now.
        UnknownReference: What the run refers to is not in the graph.
    """
    file = _latest(ctx, RunArchives.of(folder, ctx.database, run_id))
    tail = file.check()
    if ctx.run(_IS_THERE, runId=run_id).single()["found"]:
        raise RunTaken(f"The run `{shown_id(run_id)}` is in the graph", hint="It needs no restore.")
    write_lines(ctx, file.lines())
    if not is_whole(ctx, run_id) or digest_of(ctx, run_id) != tail.digest:
        raise ArchiveDamaged(
            f"The run `{shown_id(run_id)}` is another one when it is restored",
            hint="Restore the runs first that it is a fork of.",
        )
    ctx.run(_FORGET, runId=run_id)
    return _row(file, tail)


def _latest(ctx: Context, archives: RunArchives) -> ArchiveFile:
    """Return the archive that was made when the run left the graph."""
    digest = _noted(ctx, archives.run_id)
    # Runs that left before the graph said so have one file.
    return archives.only() if digest is None else archives.file(digest)


def _noted(ctx: Context, run_id: str) -> str | None:
    return next((record["digest"] for record in ctx.run(_NOTED, runId=run_id)), None)


def _row(file: ArchiveFile, tail: Tail) -> Archived:
    return Archived(id=file.run_id, file=file.name, events=tail.nodes - 1, digest=tail.digest)


Action = Literal["archive", "delete", "stay"]

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


def retain_runs(
    ctx: Context, folder: Path | None, run_type: str, older_than: Duration, options: RetainOptions
) -> Iterator[Retained]:
    """Archive or delete the runs of a type that ended before a time, or tell which these are.

    Raises:
        InvalidArgument: The time is negative.
    """
    if min(older_than.months, older_than.days, older_than.seconds) < 0:
        raise InvalidArgument("The age is negative", hint="Give one such as duration('P90D').")
    wanted = {"type": run_type, "olderThan": older_than, "ended": _ENDED}
    wish: Action = "delete" if options.delete else "archive"
    left, since, after = options.limit, _BEGINNING, ""
    # Those that stay are not part of the limit: they would hold up all that are younger.
    while left:
        found = list(ctx.run(_OLD, **wanted, since=since, after=after, limit=left))
        if not found:
            return
        since, after = found[-1]["completedAt"], found[-1]["id"]
        # Who locks several runs does so in the order of their ids.
        for record in sorted(found, key=itemgetter("id")):
            action = wish if options.dry_run else _leave(ctx, folder, record, wish)
            if action is not None:
                left -= action != "stay"
                yield Retained(
                    id=record["id"],
                    state=state_of(record["state"]),
                    completed_at=record["completedAt"],
                    action=action,
                )


def _leave(
    ctx: Context, folder: Path | None, record: Mapping[str, Any], action: Action
) -> Action | None:
    """Take a run out of the graph; tell what was done, None if it is another one by now."""
    try:
        ended = lock_ended(ctx, record["id"])
    except (RunMustStay, UnknownRun):
        return None
    if ended.completed_at != record["completedAt"]:
        return None
    if action == "delete":
        remove(ctx, record["id"])
        return "delete"
    try:
        archive_run(ctx, folder, record["id"])
    except (RunMustStay, RunTaken, ArchiveDamaged):
        # All of these come before anything of it is deleted.
        return "stay"
    return "archive"
