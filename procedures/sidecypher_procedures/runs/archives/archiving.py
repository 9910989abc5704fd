"""Moving runs from the graph to their files, and back."""

from pathlib import Path
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.archives.exporting import digest_of, lines_of
from sidecypher_procedures.runs.archives.files import ArchiveFile, RunArchives
from sidecypher_procedures.runs.archives.importing import write_lines
from sidecypher_procedures.runs.archives.lines import Tail
from sidecypher_procedures.runs.archives.removing import lock_ended, remove
from sidecypher_procedures.runs.archives.rows import Archived
from sidecypher_procedures.runs.errors import (
    ArchiveDamaged,
    RunMustStay,
    RunTaken,
    SequenceConflict,
    UnknownArchive,
    UnknownRun,
)
from sidecypher_procedures.runs.verifying import verify_run

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
    if not verify_run(ctx, run_id).ok:
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
    if not verify_run(ctx, run_id).ok or digest_of(ctx, run_id) != tail.digest:
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
    return Archived(run_id=file.run_id, file=file.name, events=tail.nodes - 1, digest=tail.digest)
