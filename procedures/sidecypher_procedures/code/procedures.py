"""The procedures `code.*`."""

from collections.abc import AsyncIterator
from typing import Final

from sidecypher import Context, procedure
from sidecypher_procedures.code import indexing, queries, rows
from sidecypher_procedures.code.options import CallsOptions, EdgesOptions, IndexOptions
from sidecypher_procedures.code.settings import Configuration
from sidecypher_procedures.names import Id

INDEX_SECONDS: Final = 900.0
"""Timeout of `code.index`: a large repository takes minutes."""


@procedure("code.index", mode="WRITE", timeout=INDEX_SECONDS)
async def index(
    ctx: Context, repo_id: Id, path: str, options: IndexOptions = IndexOptions()
) -> rows.Indexed:
    """Index the source files of a folder, or what has changed in them."""
    folder = ctx.resource(Configuration).settings.allowed(path)
    return await indexing.index(ctx, repo_id, folder, options)


@procedure("code.list")
async def repositories(ctx: Context) -> list[rows.Repository]:
    """List the indexed repositories."""
    return await queries.repositories(ctx)


@procedure("code.drop", mode="WRITE")
async def drop(ctx: Context, repo_id: Id) -> rows.Dropped:
    """Delete an indexed repository from the graph."""
    return await queries.drop(ctx, repo_id)


@procedure("code.callers")
async def callers(
    ctx: Context, repo_id: Id, name: Id, options: CallsOptions = CallsOptions()
) -> AsyncIterator[rows.Called]:
    """List who calls a function, with the line of the call."""
    async for row in queries.calls(ctx, repo_id, name, options, is_backwards=True):
        yield row


@procedure("code.callees")
async def callees(
    ctx: Context, repo_id: Id, name: Id, options: CallsOptions = CallsOptions()
) -> AsyncIterator[rows.Called]:
    """List what a function calls, with the line of the call."""
    async for row in queries.calls(ctx, repo_id, name, options, is_backwards=False):
        yield row


@procedure("code.definition")
async def definition(ctx: Context, repo_id: Id, file: str, line: int) -> list[rows.DefinitionRow]:
    """List the definitions around a line, the innermost first."""
    return await queries.definitions(ctx, repo_id, file, line)


@procedure("code.stats")
async def stats(ctx: Context, repo_id: Id) -> list[rows.Statistic]:
    """Count entities and relationships of a repository, and what was not resolved."""
    return await queries.statistics(ctx, repo_id)


@procedure("code.edges")
async def edges(
    ctx: Context, repo_id: Id, options: EdgesOptions = EdgesOptions()
) -> AsyncIterator[rows.Edge]:
    """List the relationships of a repository in a fixed order."""
    async for row in queries.edges(ctx, repo_id, options):
        yield row
