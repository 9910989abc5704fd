"""The code graph from Python, without a sidecar: a client, a builder and a retriever.

They run the same code as the procedures `code.*`.

Example:
    >>> async def who_prices() -> list[ChunkMatch]:
    ...     config = GraphStorageConfig(neo4j_password="secret")
    ...     async with Neo4jClient.of(config) as client:
    ...         await GraphBuilder(client).build_graph("shop", "/srv/code/shop", config)
    ...         return await client.graph_search("shop", "price_of", config.max_hops, 5)
"""

from sidecypher_procedures.code.client.connection import Neo4jClient
from sidecypher_procedures.code.client.models import (
    ChunkMatch,
    Community,
    Entity,
    GraphSearchConfig,
    GraphStats,
    GraphStorageConfig,
    Relationship,
)
from sidecypher_procedures.code.client.retrieval import GraphBuilder, GraphRetriever

__all__ = [
    "ChunkMatch",
    "Community",
    "Entity",
    "GraphBuilder",
    "GraphRetriever",
    "GraphSearchConfig",
    "GraphStats",
    "GraphStorageConfig",
    "Neo4jClient",
    "Relationship",
]
