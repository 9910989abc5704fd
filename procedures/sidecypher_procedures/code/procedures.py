"""The procedures `code.*`."""

from collections.abc import AsyncIterator
from typing import Final

from sidecypher import BoltClient, Context, procedure
from sidecypher_procedures import fusion
from sidecypher_procedures.code import community_store, indexing, queries, rows
from sidecypher_procedures.code import impact as impacts
from sidecypher_procedures.code.console import show_repositories  # noqa: F401 - offered here
from sidecypher_procedures.code.drawing import draw_map
from sidecypher_procedures.code.errors import EmbeddingFailed
from sidecypher_procedures.code.mentions import mentions
from sidecypher_procedures.code.options import (
    CallsOptions,
    Change,
    CommunitiesOptions,
    EdgesOptions,
    EmbedOptions,
    FuseOptions,
    GraphOptions,
    ImpactOptions,
    IndexOptions,
    MapOptions,
    PathOptions,
    RankedList,
    SearchOptions,
)
from sidecypher_procedures.code.search import Searcher
from sidecypher_procedures.code.settings import Configuration
from sidecypher_procedures.code.vectors import embed_chunks
from sidecypher_procedures.names import Id

INDEX_SECONDS: Final = 900.0
"""Timeout of `code.index`: a large repository takes minutes."""

SEARCH_SECONDS: Final = 30.0
"""Timeout of a search, which answers with what it has by then."""


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
    return await queries.repositories(ctx.run)


@procedure("code.drop", mode="WRITE", timeout=INDEX_SECONDS)
async def drop(ctx: Context, repo_id: Id) -> rows.Dropped:
    """Delete an indexed repository from the graph."""
    await queries.check_repository(ctx.run, repo_id)
    return await indexing.drop(ctx, repo_id)


@procedure("code.callers")
async def callers(
    ctx: Context, repo_id: Id, name: Id, options: CallsOptions = CallsOptions()
) -> AsyncIterator[rows.Called]:
    """List who calls a function, with the line of the call."""
    async for row in queries.calls(ctx.run, repo_id, name, options, is_backwards=True):
        yield row


@procedure("code.callees")
async def callees(
    ctx: Context, repo_id: Id, name: Id, options: CallsOptions = CallsOptions()
) -> AsyncIterator[rows.Called]:
    """List what a function calls, with the line of the call."""
    async for row in queries.calls(ctx.run, repo_id, name, options, is_backwards=False):
        yield row


@procedure("code.definition")
async def definition(ctx: Context, repo_id: Id, file: str, line: int) -> list[rows.DefinitionRow]:
    """List the definitions around a line, the innermost first."""
    return await queries.definitions(ctx.run, repo_id, file, line)


@procedure("code.stats")
async def stats(ctx: Context, repo_id: Id) -> list[rows.Statistic]:
    """Count entities and relationships of a repository, and what was not resolved."""
    return await queries.statistics(ctx.run, repo_id)


@procedure("code.communities")
async def communities(
    ctx: Context, repo_id: Id, options: CommunitiesOptions = CommunitiesOptions()
) -> list[rows.CommunityRow]:
    """List the communities of a repository, the largest first."""
    await queries.check_repository(ctx.run, repo_id)
    return await community_store.communities(ctx.run, repo_id, options)


@procedure("code.map")
async def map_(ctx: Context, repo_id: Id, options: MapOptions = MapOptions()) -> list[rows.Picture]:
    """Draw the largest communities of a repository and what ties them, as SVG."""
    await queries.check_repository(ctx.run, repo_id)
    found = await community_store.read_map(ctx.run, repo_id, options.limit)
    return [rows.Picture(svg=draw_map(found))]


@procedure("code.edges")
async def edges(
    ctx: Context, repo_id: Id, options: EdgesOptions = EdgesOptions()
) -> AsyncIterator[rows.Edge]:
    """List the relationships of a repository in a fixed order."""
    async for row in queries.edges(ctx.run, repo_id, options):
        yield row


@procedure("code.search", timeout=SEARCH_SECONDS)
async def search(
    ctx: Context, repo_id: Id, query: str, options: SearchOptions = SearchOptions()
) -> list[rows.Match]:
    """Search for parts of files by names, relationships, words and meaning."""
    return await (await _searcher(ctx, repo_id)).search(query, options)


@procedure("code.expand", timeout=SEARCH_SECONDS)
async def expand(
    ctx: Context, repo_id: Id, chunk_ids: list[Id], options: GraphOptions = GraphOptions()
) -> list[rows.Match]:
    """List the parts of files around some others."""
    return await (await _searcher(ctx, repo_id)).expand(chunk_ids, options)


@procedure("code.embed", mode="WRITE", timeout=INDEX_SECONDS)
async def embed(ctx: Context, repo_id: Id, options: EmbedOptions = EmbedOptions()) -> rows.Embedded:
    """Give parts of files the embeddings that searches by meaning need."""
    await queries.check_repository(ctx.run, repo_id)
    embedder = ctx.resource(Configuration).embedder
    if embedder is None:
        raise EmbeddingFailed("No embedder is set")
    run_apart = ctx.resource(BoltClient).run
    return await embed_chunks(ctx.run, run_apart, repo_id, embedder, options.limit)


@procedure("code.fuse")
def fuse(lists: list[RankedList], options: FuseOptions = FuseOptions()) -> list[rows.FusedRow]:
    """Join ranked lists, such as those of searches elsewhere."""
    fused = fusion.fuse(
        {each.name: [(item.id, item.score) for item in each.items] for each in lists},
        method=options.fusion,
        weights={each.name: each.weight for each in lists},
        normalization=options.normalization,
    )
    return [
        rows.FusedRow(id=each.id, score=each.score, ranks=dict(each.ranks))
        for each in fused[: options.limit]
    ]


@procedure("code.path")
async def path(
    ctx: Context, repo_id: Id, source: Id, target: Id, options: PathOptions = PathOptions()
) -> list[rows.PathStep]:
    """List the calls by which one function reaches another."""
    return await impacts.path(ctx.run, repo_id, source, target, options)


@procedure("code.impact")
async def impact(
    ctx: Context, repo_id: Id, change: Change, options: ImpactOptions = ImpactOptions()
) -> list[rows.Affected]:
    """List what a change can reach, tests first."""
    return await impacts.impact(ctx.run, repo_id, change, options)


@procedure("code.link")
async def link(ctx: Context, repo_id: Id, text: str) -> list[rows.Mention]:
    """List the definitions that a text names, such as an issue."""
    return await mentions(ctx.run, repo_id, text)


async def _searcher(ctx: Context, repo_id: str) -> Searcher:
    embedder = ctx.resource(Configuration).embedder
    run_apart = ctx.resource(BoltClient).run
    notices = await queries.check_repository(ctx.run, repo_id)
    return Searcher(ctx.run, run_apart, repo_id, embedder, ctx.deadline.remaining, notices)
