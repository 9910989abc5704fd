"""Communities of the graph that Neo4j has, wherever its entities come from."""

import asyncio
from functools import partial
from typing import Final, LiteralString

from sidecypher_procedures.code import community_store, store
from sidecypher_procedures.code.communities import partition
from sidecypher_procedures.code.delta import community_changes
from sidecypher_procedures.code.indexing import check_installed
from sidecypher_procedures.code.model import Algorithm, CodeGraph, Entity, Relationship
from sidecypher_procedures.code.queries import check_repository
from sidecypher_procedures.code.store import Run

_ENTITIES: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
    RETURN e.id AS id, e.name AS name, e.qualified_name AS qualified_name, e.type AS type,
        e.file_path AS path, e.language AS language, e.start_line AS start_line,
        e.end_line AS end_line, e.external AS external
    ORDER BY id
"""
_RELATIONSHIPS: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
    MATCH (e)-[r:CALLS|IMPORTS|INHERITS|CONTAINS|REFERENCES]->(t)
    RETURN e.id AS source, t.id AS target, toLower(type(r)) AS type, r.resolution AS resolution,
        r.confidence AS confidence, r.file_path AS path, r.line AS line, r.column AS column
    ORDER BY type, source, target
"""


async def detect(run: Run, repo_id: str, algorithm: Algorithm) -> None:
    """Find the communities of a repository again, and write what has changed.

    Args:
        run: Runs the statements, all in one transaction.
        repo_id: The repository.
        algorithm: How they are found.

    Raises:
        UnknownRepository: The repository is not there.
        RepositoryBusy: An indexing writes it, or was broken off.
        NotInstalled: The libraries are missing.
    """
    check_installed()
    # Half a graph would be taken for a whole one.
    if await check_repository(run, repo_id):
        raise store.busy(repo_id)
    state = await store.state_of(run, repo_id)
    stored = await community_store.read_stored(run, repo_id)
    graph = await _graph(run, repo_id)
    find = partial(partition, graph, algorithm, digest=stored.digest, stored=stored.members)
    found = await asyncio.to_thread(find)
    digest = found.digest if found else stored.digest
    changes = community_changes(repo_id, stored, found)
    writing = store.Writing(run, repo_id)
    await writing.begin(None, state.version)
    await writing.write(community_store.statements(*changes), 0, lambda *_: None)
    await writing.end_communities(digest)


async def _graph(run: Run, repo_id: str) -> CodeGraph:
    return CodeGraph(
        entities=[Entity(**record) for record in await run(_ENTITIES, repoId=repo_id)],
        relationships=[
            Relationship(**record) for record in await run(_RELATIONSHIPS, repoId=repo_id)
        ],
    )
