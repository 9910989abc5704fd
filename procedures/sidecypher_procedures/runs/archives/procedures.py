"""`runs.archive`, `runs.restore` and `runs.retain` as Cypher sees them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sidecypher import Context, Duration, procedure
from sidecypher_procedures.runs.archives.archiving import archive_run, restore_run
from sidecypher_procedures.runs.archives.retaining import Retention, retain_runs
from sidecypher_procedures.runs.archives.rows import Archived, Retained
from sidecypher_procedures.runs.settings import Configuration

NO_OPTIONS: Final[dict[str, Any]] = {}
_LONG: Final = 3600.0
"""Seconds for what reads and writes whole runs."""


@procedure("runs.archive", mode="WRITE", timeout=_LONG)
def archive(ctx: Context, run_id: str) -> Archived:
    """Move a run that has ended from the graph to a file."""
    return archive_run(ctx, _folder(ctx), run_id)


@procedure("runs.restore", mode="WRITE", timeout=_LONG)
def restore(ctx: Context, run_id: str) -> Archived:
    """Write an archived run to the graph again."""
    return restore_run(ctx, _folder(ctx), run_id)


@procedure("runs.retain", mode="WRITE", timeout=_LONG)
def retain(
    ctx: Context,
    type: str,  # noqa: A002 - the name that Cypher shows
    older_than: Duration,
    options: dict[str, Any] = NO_OPTIONS,
) -> Iterator[Retained]:
    """Archive or delete old runs of a type; unless `dryRun` is false, only tell which these are."""
    yield from retain_runs(ctx, _folder(ctx), type, older_than, Retention.parse(options))


def _folder(ctx: Context) -> Path | None:
    return ctx.resource(Configuration).settings.archive_dir
