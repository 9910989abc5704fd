"""The procedures `runs.*` that read PostgreSQL."""

from collections.abc import Iterator
from typing import Final

from sidecypher import Context, procedure
from sidecypher_procedures.sync.postgres.rows import BrokenReference, DraftRow
from sidecypher_procedures.sync.postgres.settings import postgres_url

CHECK_SECONDS: Final = 600.0
"""Timeout of `runs.checkReferences`, which reads all drafts."""


@procedure("runs.drafts")
def drafts(ctx: Context, run_id: str) -> Iterator[DraftRow]:
    """List the drafts of a run in PostgreSQL, the oldest first."""
    postgres_url()
    from sidecypher_procedures.sync.postgres import references  # noqa: PLC0415

    yield from references.drafts_of(ctx.resource(references.DraftPool), run_id)


@procedure("runs.checkReferences", timeout=CHECK_SECONDS)
def check_references(ctx: Context) -> Iterator[BrokenReference]:
    """List drafts whose run does not exist, and runs whose draft does not exist."""
    # Before the import that needs the library, since its error says what to install.
    postgres_url()
    from sidecypher_procedures.sync.postgres import references  # noqa: PLC0415

    yield from references.broken_references(ctx, ctx.resource(references.DraftPool))
