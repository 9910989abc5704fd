"""`Neo4jClient`: the code graphs of a Neo4j, from Python."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, LiteralString, Self

from sidecypher import BoltClient, BoltTransaction
from sidecypher_procedures.code import community_store, queries
from sidecypher_procedures.code.client import detection, upserts
from sidecypher_procedures.code.client.models import (
    ChunkMatch,
    Community,
    Entity,
    GraphSearchConfig,
    GraphStats,
    GraphStorageConfig,
    Relationship,
)
from sidecypher_procedures.code.errors import NotConnected
from sidecypher_procedures.code.model import Algorithm
from sidecypher_procedures.code.options import CommunitiesOptions, GraphOptions, SearchOptions
from sidecypher_procedures.code.rows import Match
from sidecypher_procedures.code.search import Searcher

_TRANSACTION_SECONDS: Final = 600.0
"""Timeout of a transaction that writes many entities."""

_CONTENT: Final[LiteralString] = """
    UNWIND $ids AS id MATCH (c:Chunk {id: id}) RETURN id, c.text AS text
"""


class Neo4jClient:
    """The code graphs in one database of a Neo4j, whose schema `sidecypher migrate` makes.

    No sidecar and no plugin is needed: the statements are those of the procedures `code.*`.

    Args:
        uri: The server, such as ``bolt://localhost:7687``.
        user: The user.
        password: The user's password.
        database: The database that all statements run in.

    Example:
        >>> async def count() -> int:
        ...     async with Neo4jClient("bolt://localhost:7687", "neo4j", "secret") as client:
        ...         return (await client.get_graph_stats("shop")).entities
    """

    def __init__(self, uri: str, user: str, password: str, database: str = "neo4j") -> None:
        self.uri = uri
        self.user = user
        self.database = database
        self._password = password
        self._bolt: BoltClient | None = None

    @classmethod
    def of(cls, config: GraphStorageConfig) -> Self:
        """Return a client of the database that a configuration names."""
        return cls(
            config.neo4j_uri, config.neo4j_user, config.neo4j_password, config.neo4j_database
        )

    def __repr__(self) -> str:
        """Return a text without the password."""
        return f"{type(self).__name__}({self.uri!r}, {self.user!r}, database={self.database!r})"

    async def connect(self) -> None:
        """Connect, if the client is not connected.

        Raises:
            Neo4jUnavailable: Neo4j cannot be reached, or refuses the password.
            CypherError: The database cannot be used.
        """
        if self._bolt is not None:
            return
        bolt = BoltClient.at(self.uri, self.user, self._password, database=self.database)
        try:
            await bolt.run("RETURN 1 AS one")
        except BaseException:
            await bolt.stop()
            raise
        self._bolt = bolt

    async def disconnect(self) -> None:
        """Close all connections; running statements fail."""
        bolt, self._bolt = self._bolt, None
        if bolt is not None:
            await bolt.stop()

    async def __aenter__(self) -> Self:
        """Connect."""
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""
        await self.disconnect()

    async def run(self, cypher: LiteralString, /, **parameters: Any) -> list[dict[str, Any]]:
        """Run a statement in a transaction of its own, as `BoltClient.run` does.

        Raises:
            NotConnected: The client is not connected.
            CypherError: The statement failed.
        """
        return await self._connected().run(cypher, **parameters)

    async def execute_cypher(
        self, query: str, params: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Run any statement, for debugging and operations.

        Args:
            query: The statement; give values as parameters.
            params: Its parameters by name.

        Returns:
            Each record as a dict by column name, with values as `ctx.run` returns them.

        Raises:
            NotConnected: The client is not connected.
            CypherError: The statement failed.
        """
        return await self.run(query, **(params or {}))

    async def upsert_entity(self, repo_id: str, entity: Entity) -> None:
        """Create or replace an entity; see `upsert_entities`."""
        await self.upsert_entities(repo_id, [entity])

    async def upsert_entities(self, repo_id: str, entities: Iterable[Entity]) -> None:
        """Create entities, or replace those with the same ids: all of them, or none after an error.

        The repository is created, too. If its folder is indexed later, what only was upserted is
        removed: the graph is then that of the files.

        Raises:
            NotConnected: The client is not connected.
            InvalidId: The repository cannot have this id.
            ForeignId: An entity or a chunk with this id is in another repository.
            RepositoryBusy: An indexing writes the repository.
        """
        async with self._transaction() as tx:
            await upserts.write_entities(tx.run, repo_id, entities)

    async def upsert_relationship(self, repo_id: str, relationship: Relationship) -> None:
        """Create or change a relationship; see `upsert_relationships`."""
        await self.upsert_relationships(repo_id, [relationship])

    async def upsert_relationships(
        self, repo_id: str, relationships: Iterable[Relationship]
    ) -> None:
        """Create relationships, or change those of the same type between the same entities.

        Raises:
            NotConnected: The client is not connected.
            UnknownRepository: The repository is not there.
            UnknownEntity: It has no entity with the id of an end; nothing was written.
            RepositoryBusy: An indexing writes it.
        """
        async with self._transaction() as tx:
            await upserts.write_relationships(tx.run, repo_id, relationships)

    async def detect_communities(
        self, repo_id: str, algorithm: Algorithm = "louvain"
    ) -> list[Community]:
        """Find the communities of what the graph has, and return the largest.

        Raises:
            NotConnected: The client is not connected.
            UnknownRepository: The repository is not there.
            RepositoryBusy: An indexing writes it, or was broken off.
            NotInstalled: The libraries of the extra `code` are missing.
        """
        async with self._transaction() as tx:
            await detection.detect(tx.run, repo_id, algorithm)
        return await self.get_communities(repo_id)

    async def get_communities(
        self, repo_id: str, limit: int = 100, members: int = 5
    ) -> list[Community]:
        """Return the communities, the largest first.

        Args:
            repo_id: The repository.
            limit: The most communities, up to 10 000.
            members: The most members of each that are named, up to 1000.

        Raises:
            NotConnected: The client is not connected.
            UnknownRepository: The repository is not there.
        """
        options = CommunitiesOptions(limit=limit, members=members)
        await queries.check_repository(self.run, repo_id)
        rows = await community_store.communities(self.run, repo_id, options)
        return [Community(repo_id=repo_id, **_fields(row)) for row in rows]

    async def graph_search(
        self, repo_id: str, query: str, max_hops: int = 2, top_k: int = 30
    ) -> list[ChunkMatch]:
        """Return the parts of files around what a query names, the best first.

        Equal graphs give equal answers: those with equal scores are ordered by hops, then
        support, then id.

        Args:
            repo_id: The repository.
            query: Names of functions, classes, modules, or words of them.
            max_hops: How many relationships away, 1 to 5.
            top_k: The most results, 1 to 1000.

        Raises:
            NotConnected: The client is not connected.
            UnknownRepository: The repository is not there.
            BadQuery: The query has no word or is too long.
        """
        config = GraphSearchConfig(max_hops=max_hops, top_k=top_k)
        options = SearchOptions(legs=["graph"], hops=config.max_hops, limit=config.top_k)
        searcher = await self._searcher(repo_id)
        return await self._matches(await searcher.search(query, options))

    async def expand(
        self, repo_id: str, chunk_ids: Iterable[str], max_hops: int = 2, top_k: int = 30
    ) -> list[ChunkMatch]:
        """Return the parts of files around some others, which are not among them.

        Raises:
            NotConnected: The client is not connected.
            UnknownRepository: The repository is not there.
            UnknownChunk: It has no such chunk.
        """
        config = GraphSearchConfig(max_hops=max_hops, top_k=top_k)
        options = GraphOptions(hops=config.max_hops, limit=config.top_k)
        searcher = await self._searcher(repo_id)
        return await self._matches(await searcher.expand([*chunk_ids], options))

    async def get_graph_stats(self, repo_id: str) -> GraphStats:
        """Count the entities, relationships and communities of a repository.

        Raises:
            NotConnected: The client is not connected.
            UnknownRepository: The repository is not there.
        """
        counts: dict[str, dict[str, int]] = {}
        for row in await queries.statistics(self.run, repo_id):
            counts.setdefault(row.kind, {})[row.key] = row.count
        sums = {kind: sum(each.values()) for kind, each in counts.items()}
        return GraphStats(
            repo_id=repo_id,
            entities=sums.get("type", 0),
            relationships=sums.get("relationship", 0),
            communities=sums.get("community", 0),
            entity_types=counts.get("type", {}),
            relationship_types=counts.get("relationship", {}),
            unresolved=sums.get("unresolved", 0),
        )

    def _connected(self) -> BoltClient:
        if self._bolt is None:
            raise NotConnected("The client is not connected to Neo4j")
        return self._bolt

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[BoltTransaction]:
        async with self._connected().transaction(seconds=_TRANSACTION_SECONDS) as tx:
            yield tx

    async def _searcher(self, repo_id: str) -> Searcher:
        notices = await queries.check_repository(self.run, repo_id)
        return Searcher(self.run, self.run, repo_id, notices=notices)

    async def _matches(self, found: list[Match]) -> list[ChunkMatch]:
        records = await self.run(_CONTENT, ids=[each.chunk_id for each in found])
        texts = {record["id"]: record["text"] for record in records}
        return [ChunkMatch(content=texts[each.chunk_id], **_fields(each)) for each in found]


def _fields(row: Any) -> dict[str, Any]:
    """Return the columns of a row by name."""
    return {name: getattr(row, name) for name in type(row).__annotations__}
