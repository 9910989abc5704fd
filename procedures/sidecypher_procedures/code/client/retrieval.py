"""`GraphBuilder` and `GraphRetriever`: what fills a graph, and what asks it."""

from collections.abc import Iterable
from pathlib import Path

from sidecypher_procedures.code.client.connection import Neo4jClient
from sidecypher_procedures.code.client.models import (
    ChunkMatch,
    GraphSearchConfig,
    GraphStats,
    GraphStorageConfig,
)
from sidecypher_procedures.code.embeddings import Embedder
from sidecypher_procedures.code.indexing import OnProgress, index_here
from sidecypher_procedures.code.options import IndexOptions


class GraphBuilder:
    """Makes the graphs of folders, as `sidecypher code index` does.

    Example:
        >>> async def build(client: Neo4jClient) -> GraphStats:
        ...     config = GraphStorageConfig(include_communities=False)
        ...     return await GraphBuilder(client).build_graph("shop", "/srv/code/shop", config)
    """

    def __init__(self, neo4j: Neo4jClient) -> None:
        self.neo4j = neo4j

    async def build_graph(
        self,
        repo_id: str,
        folder: Path | str,
        config: GraphStorageConfig = GraphStorageConfig(),
        on_progress: OnProgress = lambda *_: None,
    ) -> GraphStats:
        """Extract, resolve and write what has changed in a folder, then count what there is.

        Args:
            repo_id: The repository.
            folder: Where its files are; no setting limits it.
            config: Which types are kept, and how communities are found.
            on_progress: Gets a phase, what is done, and what there is to do.

        Raises:
            NotConnected: The client is not connected.
            PathNotAllowed: The path is not a folder.
            CodeError: The folder cannot be analysed, or another indexing writes the repository.
        """
        options = IndexOptions(
            communities=config.community_algorithm if config.include_communities else "none",
            entity_types=config.entity_types,
            rel_types=config.relationship_types,
        )
        await index_here(repo_id, Path(folder), self.neo4j.run, on_progress, options)
        return await self.neo4j.get_graph_stats(repo_id)


class GraphRetriever:
    """Asks a graph for parts of files.

    Args:
        neo4j: The graph.
        embedder: Kept for the dense leg of a caller; the graph needs no vectors.

    Example:
        >>> async def around(client: Neo4jClient) -> list[ChunkMatch]:
        ...     retriever = GraphRetriever(client)
        ...     found = await retriever.search("shop", "price_of", GraphSearchConfig(top_k=3))
        ...     return await retriever.expand_context("shop", [each.chunk_id for each in found])
    """

    def __init__(self, neo4j: Neo4jClient, embedder: Embedder | None = None) -> None:
        self.neo4j = neo4j
        self.embedder = embedder

    async def search(
        self, repo_id: str, query: str, config: GraphSearchConfig = GraphSearchConfig()
    ) -> list[ChunkMatch]:
        """Return the parts of files around what a query names; see `Neo4jClient.graph_search`."""
        return await self.neo4j.graph_search(repo_id, query, config.max_hops, config.top_k)

    async def expand_context(
        self,
        repo_id: str,
        chunk_ids: Iterable[str],
        config: GraphSearchConfig = GraphSearchConfig(),
    ) -> list[ChunkMatch]:
        """Return the parts of files around some others; see `Neo4jClient.expand`."""
        return await self.neo4j.expand(repo_id, chunk_ids, config.max_hops, config.top_k)
