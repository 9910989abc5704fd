"""Moving runs from the graph to their files, and back."""

from pathlib import Path
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.archives.exporting import digest_of, lines_of
from sidecypher_procedures.runs.archives.files import ArchiveFile
from sidecypher_procedures.runs.archives.importing import write_lines
from sidecypher_procedures.runs.archives.lines import Tail
from sidecypher_procedures.runs.archives.removing import lock_ended, remove
from sidecypher_procedures.runs.archives.rows import Archived
from sidecypher_procedures.runs.errors import (
    ArchiveDamaged,
    RunMustStay,
    RunTaken,
    SequenceConflict,
    UnknownRun,
)
from sidecypher_procedures.runs.verifying import verify_run

_IS_THERE: Final = """
    OPTIONAL MATCH (r:WorkflowRun {id: $runId})
    OPTIONAL MATCH (e:Event {runId: $runId, seq: 1})
    RETURN r IS NOT NULL OR e IS NOT NULL AS found
"""


def archive_run(ctx: Context, folder: Path | None, run_id: str) -> Archived:
    """Move a run to its file; one that is there already is only read.

    Raises:
        ArchiveUnavailable: The file cannot be written.
        ArchiveDamaged: What is read back is not what was written.
        UnknownRun: No run has this id, and none was archived.
        RunMustStay: The run may not leave the graph.
        RunTaken: The file is of another run that had the same id.
        SequenceConflict: Something was attached to the run meanwhile.
    """
    file = ArchiveFile.of(folder, ctx.database, run_id)
    try:
        lock_ended(ctx, run_id)
    except UnknownRun:
        if file.exists():
            return _row(file, file.check())
        raise
    if not verify_run(ctx, run_id).ok:
        raise RunMustStay(
            f"The history of the run `{shown_id(run_id)}` is not as it was written",
            hint="`runs.verify` tells where.",
        )
    tail = file.write(lines_of(ctx, run_id))
    # From here on the file has all that is deleted, and the transaction decides which of them is.
    if remove(ctx, run_id) != (tail.nodes, tail.relationships):
        raise SequenceConflict(
            f"Something was attached to the run `{shown_id(run_id)}` meanwhile", hint="Try again."
        )
    return _row(file, tail)


def restore_run(ctx: Context, folder: Path | None, run_id: str) -> Archived:
    """Write an archived run to the graph; its file stays.

    Raises:
        ArchiveUnavailable: The file cannot be read.
        UnknownArchive: No run of this id was archived.
        ArchiveDamaged: The file is not what was written, or the graph then has something else.
        RunTaken: A run of this id is in the graph.
        EventTaken: The id of an event of it belongs to another one by now.
        UnknownReference: What the run refers to is not in the graph.
    """
    file = ArchiveFile.of(folder, ctx.database, run_id)
    tail = file.check()
    if ctx.run(_IS_THERE, runId=run_id).single()["found"]:
        raise RunTaken(f"The run `{shown_id(run_id)}` is in the graph", hint="It needs no restore.")
    write_lines(ctx, file.lines())
    if not verify_run(ctx, run_id).ok or digest_of(ctx, run_id) != tail.digest:
        raise ArchiveDamaged(
            f"The run `{shown_id(run_id)}` is another one when it is restored",
            hint="Restore the runs first that it is a fork of.",
        )
    return _row(file, tail)


def _row(file: ArchiveFile, tail: Tail) -> Archived:
    return Archived(run_id=file.run_id, file=file.name, events=tail.nodes - 1, digest=tail.digest)
