"""Search for chunks of code: by the graph, by words, and by meaning."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from sidecypher_procedures.code import vectors
from sidecypher_procedures.code.embeddings import Embedder
from sidecypher_procedures.code.errors import BadQuery, EmbeddingFailed, UnknownChunk
from sidecypher_procedures.code.expansion import Expansion, Reached, expand
from sidecypher_procedures.code.options import GraphOptions, SearchOptions
from sidecypher_procedures.code.rows import Match
from sidecypher_procedures.code.seeds import find_seeds, full_text, read_index
from sidecypher_procedures.code.store import Run
from sidecypher_procedures.fusion import Fused, fuse

LONGEST_QUERY: Final = 10_000

_LEVEL_SECONDS: Final = 0.2
"""How long a level of the graph may take."""

_OF_REPOSITORY: Final[LiteralString] = """
    WITH node, score ORDER BY score DESC, node.id
    RETURN count(*) AS read, collect(
        CASE WHEN node.repo_id = $repoId THEN {id: node.id, score: score} END
    ) AS found
"""
# A query of stop words alone matches everything, with the score 0.
_SPARSE: Final[LiteralString] = f"""
    CALL db.index.fulltext.queryNodes('chunk_words', $text, {{limit: $most}}) YIELD node, score
    WHERE score > 0
    {_OF_REPOSITORY}
"""
_DENSE: Final[LiteralString] = f"""
    CALL db.index.vector.queryNodes($name, $most, $vector) YIELD node, score
    {_OF_REPOSITORY}
"""
_COMMUNITIES: Final[LiteralString] = """
    UNWIND $ids AS id
    MATCH (e:Entity {id: id})-[:IN_COMMUNITY]->(c:Community)
    RETURN id, c.community_id AS community
"""
# A chunk that no leg of the graph has reached is shown with the definition it begins with.
_CHUNKS: Final[LiteralString] = """
    UNWIND $ids AS id
    MATCH (c:Chunk {id: id})
    CALL (c) {
        OPTIONAL MATCH (e:Entity)-[:DEFINED_IN]->(c) WHERE e.type <> 'import'
        RETURN e ORDER BY e.type = 'module', e.start_line, e.id LIMIT 1
    }
    RETURN c.id AS id, c.file_path AS file_path, c.start_line AS start_line,
        c.end_line AS end_line, e.id AS entity_id, e.name AS name
"""
_ENTITIES: Final[LiteralString] = """
    UNWIND $ids AS id
    MATCH (c:Chunk {id: id}) WHERE c.repo_id = $repoId
    OPTIONAL MATCH (e:Entity)-[:DEFINED_IN]->(c) WHERE e.type <> 'import'
    RETURN c.id AS chunk_id, e.id AS id, e.name AS name, e.qualified_name AS qualified_name,
        e.type AS type
    ORDER BY chunk_id, id
"""


@dataclass(slots=True)
class _Leg:
    """What one way to search has found.

    Attributes:
        chunks: Ids of chunks with scores, the best first.
        notice: What the caller must know, such as that the leg has failed; "" if nothing.
        best: The entity for which a chunk was found.
        expansion: How entities were reached.
    """

    chunks: list[tuple[str, float]] = field(default_factory=list)
    notice: str = ""
    best: dict[str, Reached] = field(default_factory=dict)
    expansion: Expansion = field(default_factory=Expansion)


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches one repository.

    Attributes:
        run: Runs a statement.
        run_apart: Runs one in a transaction of its own: a procedure may not list indexes.
        embedder: Makes vectors of texts; None if there is none.
        remaining: Returns the seconds that are left.
        notices: What every answer lacks, whatever is searched for.
    """

    run: Run
    run_apart: Run
    repo_id: str
    embedder: Embedder | None = None
    remaining: Callable[[], float] = lambda: float("inf")
    notices: tuple[str, ...] = ()

    async def search(self, query: str, options: SearchOptions) -> list[Match]:
        """Return the chunks that fit a query, the best first.

        Raises:
            BadQuery: The query has no word or is too long.
        """
        if len(query) > LONGEST_QUERY:
            raise BadQuery(f"The query is longer than {LONGEST_QUERY} characters")
        if not full_text(self.repo_id, query):
            raise BadQuery("The query has no word to search for")
        searches: Mapping[str, Callable[[str, SearchOptions], Awaitable[_Leg]]] = {
            "graph": self._graph,
            "sparse": self._sparse,
            "dense": self._dense,
        }
        legs: dict[str, _Leg] = {
            name: await searches[name](query, options) for name in dict.fromkeys(options.legs)
        }
        if len(legs) == 1:
            [(name, leg)] = legs.items()
            fused = _ranked(name, leg.chunks)
        else:
            fused = fuse(
                {name: leg.chunks for name, leg in legs.items()},
                method=options.fusion,
                weights=options.weights,
                normalization=options.normalization,
            )
        notices = [*self.notices] + [
            leg.notice or f"{name}: nothing found"
            for name, leg in legs.items()
            if leg.notice or not leg.chunks
        ]
        best = legs.get("graph", _Leg()).best
        fused.sort(key=lambda each: _order(each, best.get(each.id)))
        return await self._matches(fused[: options.limit], legs, notices)

    async def expand(self, chunk_ids: Sequence[str], options: GraphOptions) -> list[Match]:
        """Return the chunks around some chunks, the nearest first.

        Raises:
            UnknownChunk: The repository has no such chunk.
        """
        records = [*await self.run(_ENTITIES, ids=[*chunk_ids], repoId=self.repo_id)]
        if len({record["chunk_id"] for record in records}) < len(set(chunk_ids)):
            raise UnknownChunk("A chunk is not part of the repository")
        seeds = [
            Reached.of(record, 1.0, reason=f"{record['qualified_name']} is in a given chunk")
            for record in records
            if record["id"] is not None
        ]
        leg = _by_chunk(await expand(self.run, seeds, options, self._is_late))
        given = set(chunk_ids)
        fused = _ranked("graph", [each for each in leg.chunks if each[0] not in given])
        notices = [*self.notices, *filter(None, [leg.notice])]
        return await self._matches(fused[: options.limit], {"graph": leg}, notices)

    def _is_late(self) -> bool:
        return self.remaining() < _LEVEL_SECONDS

    async def _graph(self, query: str, options: SearchOptions) -> _Leg:
        seeds = await find_seeds(self.run, self.repo_id, query, options.entity_types)
        expansion = await expand(self.run, seeds, options, self._is_late)
        if options.community_boost:
            await self._boost(expansion, options.community_boost)
        return _by_chunk(expansion)

    async def _boost(self, expansion: Expansion, boost: float) -> None:
        """Prefer what is in a community where the search began."""
        records = await self.run(_COMMUNITIES, ids=[*expansion.reached])
        communities = {record["id"]: record["community"] for record in records}
        homes = {
            communities[each.id]
            for each in expansion.reached.values()
            if each.hops == 0 and each.id in communities
        }
        for each in expansion.reached.values():
            if communities.get(each.id) in homes:
                each.score *= 1 + boost

    async def _sparse(self, query: str, options: SearchOptions) -> _Leg:
        records = await read_index(
            self.run,
            _SPARSE,
            options.limit,
            text=full_text(self.repo_id, query),
            repoId=self.repo_id,
        )
        return _Leg([(record["id"], record["score"]) for record in records])

    async def _dense(self, query: str, options: SearchOptions) -> _Leg:
        wanted = await vectors.dimensions(self.run_apart)
        if wanted is None:
            return _Leg(notice="dense: no chunk has an embedding")
        vector = options.vector
        if vector is None:
            if self.embedder is None:
                return _Leg(notice="dense: no embedder is set, and no `vector` is given")
            try:
                # The other half is for the statements that follow.
                async with asyncio.timeout(self.remaining() / 2):
                    [vector] = await self.embedder.embed([query])
            except EmbeddingFailed as error:
                return _Leg(notice=f"dense: {error}")
            except TimeoutError:
                return _Leg(notice="dense: the API of the embeddings took too long")
        if len(vector) != wanted:
            return _Leg(notice=f"dense: the query has {len(vector)} numbers, chunks have {wanted}")
        records = await read_index(
            self.run,
            _DENSE,
            options.limit,
            name=vectors.INDEX,
            vector=vector,
            repoId=self.repo_id,
        )
        return _Leg([(record["id"], record["score"]) for record in records])

    async def _matches(
        self, fused: Iterable[Fused], legs: Mapping[str, _Leg], notices: list[str]
    ) -> list[Match]:
        found = [*fused]
        records = await self.run(_CHUNKS, ids=[each.id for each in found])
        chunks = {record["id"]: record for record in records}
        return [_match(each, chunks[each.id], legs, notices) for each in found]


def _by_chunk(expansion: Expansion) -> _Leg:
    """Order chunks by the best entity in each."""
    leg = _Leg(expansion=expansion)
    for each in sorted(expansion.reached.values(), key=lambda each: each.order):
        if each.chunk_id is not None and each.chunk_id not in leg.best:
            leg.best[each.chunk_id] = each
            leg.chunks.append((each.chunk_id, each.score))
    if expansion.is_truncated:
        leg.notice = "graph: truncated, the time was over"
    return leg


def _order(fused: Fused, reached: Reached | None) -> tuple[float, float, int, str]:
    """Return the place of a chunk: of those with equal scores, the nearest first."""
    if reached is None:
        return -fused.score, float("inf"), 0, fused.id
    return -fused.score, reached.hops, -reached.support, fused.id


def _ranked(name: str, chunks: Iterable[tuple[str, float]]) -> list[Fused]:
    return [
        Fused(chunk, score, {name: rank}) for rank, (chunk, score) in enumerate(chunks, start=1)
    ]


def _match(
    fused: Fused, chunk: Mapping[str, Any], legs: Mapping[str, _Leg], notices: list[str]
) -> Match:
    graph = legs.get("graph", _Leg())
    reached = graph.best.get(fused.id)
    others = [f"{name}: rank {rank}" for name, rank in fused.ranks.items() if name != "graph"]
    return Match(
        chunk_id=fused.id,
        file_path=chunk["file_path"],
        start_line=chunk["start_line"],
        end_line=chunk["end_line"],
        entity_id=reached.id if reached else chunk["entity_id"],
        name=reached.name if reached else chunk["name"],
        score=fused.score,
        hops=reached.hops if reached else None,
        support=reached.support if reached else None,
        why=[*(graph.expansion.why(reached) if reached else ()), *others],
        notices=notices,
    )
