"""Archiving, restoring and retention of runs."""

from collections.abc import Iterable, Iterator, Mapping
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
from sidecypher_procedures.runs.integrity import fault_of
from sidecypher_procedures.runs.model import FINAL, SYNONYMS, state_of
from sidecypher_procedures.runs.options import ArchivesOptions, RetainOptions
from sidecypher_procedures.runs.rows import Archived, ArchivedRow, Removed, Retained
from sidecypher_procedures.runs.store import AWAITED

_IS_THERE: Final = """
    OPTIONAL MATCH (r:WorkflowRun {id: $runId})
    OPTIONAL MATCH (e:Event {runId: $runId, seq: 1})
    RETURN r IS NOT NULL OR e IS NOT NULL AS found
"""

# Written in the transaction that moves a run, so the graph knows the latest archive even after a
# rollback.
_READ_DIGEST: Final = "MATCH (a:ArchivedRun {id: $runId}) RETURN a.digest AS digest"
# The node is deleted by the restore that succeeds, for which another one waits here.
_LOCK_DIGEST: Final = "MATCH (a:ArchivedRun {id: $runId}) SET a.lock = true"
_WRITE_DIGEST: Final = "CREATE (:ArchivedRun {id: $runId, digest: $digest})"
_DELETE_DIGEST: Final = "MATCH (a:ArchivedRun {id: $runId}) DELETE a"


def archive_run(ctx: Context, folder: Path | None, run_id: str) -> Archived:
    """Move a run to a file. If the run is archived already, only check its file.

    Raises:
        ArchiveUnavailable: The file cannot be written.
        ArchiveDamaged: The file does not have what was written.
        UnknownRun: No run has this id, and none was archived.
        RunMustStay: The run cannot be archived now.
        RunTaken: Another run with this id was archived.
        SequenceConflict: A relationship was added to the run meanwhile.
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
    if _archived_digest(ctx, run_id) is not None:
        raise RunTaken(
            f"Another run whose id was `{shown_id(run_id)}` too was archived",
            hint="Delete its node `(:ArchivedRun)` if that one is not needed; its file stays.",
        )
    reason = fault_of(ctx, run_id)
    if reason is not None:
        raise RunMustStay(
            f"The history of the run `{shown_id(run_id)}` does not verify: {reason}",
            hint="`runs.verify` shows where.",
        )
    file = archives.write(lines_of(ctx, run_id))
    tail = file.check()
    # The file is complete from here on; the transaction decides whether the graph keeps the run.
    if remove(ctx, run_id) != (tail.nodes, tail.relationships):
        raise SequenceConflict(
            f"Something was attached to the run `{shown_id(run_id)}` meanwhile", hint="Try again."
        )
    ctx.run(_WRITE_DIGEST, runId=run_id, digest=tail.digest)
    return _row(file, tail)


def restore_run(ctx: Context, folder: Path | None, run_id: str) -> Archived:
    """Write an archived run to the graph; its file stays.

    Raises:
        ArchiveUnavailable: The file cannot be read.
        UnknownArchive: No run with this id was archived, or its latest archive is unknown.
        ArchiveDamaged: The file was changed, or the restored run differs from it.
        RunTaken: A run with this id is in the graph.
        EventTaken: The id of one of its events belongs to another event now.
        UnknownReference: A node that the run refers to is not in the graph.
    """
    archives = RunArchives.of(folder, ctx.database, run_id)
    ctx.run(_LOCK_DIGEST, runId=run_id)
    if ctx.run(_IS_THERE, runId=run_id).single()["found"]:
        raise RunTaken(f"The run `{shown_id(run_id)}` is in the graph", hint="It needs no restore.")
    file = _latest(ctx, archives)
    tail = file.check()
    write_lines(ctx, file.lines())
    reason = fault_of(ctx, run_id)
    if reason is not None:
        raise ArchiveDamaged(
            f"The history of the restored run `{shown_id(run_id)}` does not verify: {reason}",
            hint="Put back the file from a backup, or the key that signed the run.",
        )
    if digest_of(ctx, run_id) != tail.digest:
        raise ArchiveDamaged(
            f"The run `{shown_id(run_id)}` is another one when it is restored",
            hint="Restore the runs first that it is a fork of.",
        )
    ctx.run(_DELETE_DIGEST, runId=run_id)
    return _row(file, tail)


def delete_run(ctx: Context, run_id: str) -> Removed:
    """Delete a run from the graph, for good.

    Raises:
        UnknownRun: No run has this id.
        RunMustStay: It has not ended, a plan of it awaits its review, a fork shares its events, or
            it has children.
    """
    lock_ended(ctx, run_id)
    nodes, _ = remove(ctx, run_id)
    return Removed(id=run_id, events=nodes - 1)


_ARCHIVED: Final = """
    MATCH (a:ArchivedRun) WHERE a.id > $cursor
    RETURN a.id AS id, a.digest AS digest ORDER BY a.id LIMIT $limit
"""


def archived_runs(
    ctx: Context, folder: Path | None, options: ArchivesOptions
) -> Iterator[ArchivedRow]:
    """Yield the runs that were archived and not restored, by id.

    Raises:
        ArchiveUnavailable: There is no folder for archives.
    """
    for record in ctx.run(_ARCHIVED, cursor=options.cursor, limit=options.most):
        file = RunArchives.of(folder, ctx.database, record["id"]).file(record["digest"])
        yield ArchivedRow(id=record["id"], file=file.name, digest=record["digest"])


def _latest(ctx: Context, archives: RunArchives) -> ArchiveFile:
    """Return the archive that was written when the run left the graph."""
    digest = _archived_digest(ctx, archives.run_id)
    # Older versions wrote no digest to the graph, and one file for each run.
    return archives.only() if digest is None else archives.file(digest)


def _archived_digest(ctx: Context, run_id: str) -> str | None:
    return next((record["digest"] for record in ctx.run(_READ_DIGEST, runId=run_id)), None)


def _row(file: ArchiveFile, tail: Tail) -> Archived:
    return Archived(id=file.run_id, file=file.name, events=tail.nodes - 1, digest=tail.digest)


Action = Literal["archive", "delete", "stay"]

MOST_EVENTS: Final = 20_000
"""The most events of several runs that leave in one transaction."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
_ENDED: Final = sorted({*FINAL, *SYNONYMS})
_OLD_RUNS: Final = f"""
    MATCH (r:WorkflowRun)
    WHERE r.type = $type AND r.completedAt >= $since AND r.completedAt < datetime() - $olderThan
    AND (r.completedAt > $since OR r.id > $after)
    AND coalesce(r.state, r.status) IN $ended
    AND NOT EXISTS {{ (r)<-[:FORKED_FROM|CHILD_OF]-() }}
    AND NOT {AWAITED}
    WITH r ORDER BY r.type, r.completedAt, r.id LIMIT $limit
    RETURN r.id AS id, coalesce(r.state, r.status) AS state, r.completedAt AS completedAt,
        coalesce(r.lastSeq, 0) - coalesce(r.lineageSeqs[-1], 0) AS events
    ORDER BY completedAt, id
"""


def retain_runs(
    ctx: Context, folder: Path | None, run_type: str, older_than: Duration, options: RetainOptions
) -> Iterator[Retained]:
    """Archive or delete the runs of a type that ended before a time, or only list them.

    Raises:
        InvalidArgument: The age is negative.
    """
    if min(older_than.months, older_than.days, older_than.seconds) < 0:
        raise InvalidArgument("The age is negative", hint="Give one such as duration('P90D').")
    wanted = {"type": run_type, "olderThan": older_than, "ended": _ENDED}
    requested: Action = "delete" if options.delete else "archive"
    left, since, after, events = options.limit, _BEGINNING, "", 0
    # Runs that stay do not count: they would block all younger ones.
    while left:
        found = list(ctx.run(_OLD_RUNS, **wanted, since=since, after=after, limit=left))
        if not found:
            return
        since, after = found[-1]["completedAt"], found[-1]["id"]
        fitting = found if options.dry_run else list(_fitting(found, events))
        # Runs are always locked in the order of their ids, so that no two calls deadlock.
        for record in sorted(fitting, key=itemgetter("id")):
            action = requested if options.dry_run else _retire(ctx, folder, record, requested)
            if action is not None:
                if action != "stay":
                    left, events = left - 1, events + record["events"]
                yield Retained(
                    id=record["id"],
                    state=state_of(record["state"]),
                    completed_at=record["completedAt"],
                    action=action,
                )
        if len(fitting) < len(found):
            return


def _fitting(found: Iterable[Mapping[str, Any]], events: int) -> Iterator[Mapping[str, Any]]:
    """Yield runs as long as they fit into one transaction with some events; one in any case."""
    for record in found:
        if events and events + record["events"] > MOST_EVENTS:
            return
        events += record["events"]
        yield record


def _retire(
    ctx: Context, folder: Path | None, record: Mapping[str, Any], action: Action
) -> Action | None:
    """Archive or delete a run; return the action taken, None if the run has changed meanwhile."""
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
        # All of these are raised before anything is deleted.
        return "stay"
    return "archive"
