"""Statements that read and write the code of repositories."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, LiteralString, TypeAlias

from sidecypher_procedures.code.delta import Delta, Key, Stored

Run: TypeAlias = Callable[..., Awaitable[Iterable[Mapping[str, Any]]]]
"""Runs a statement with parameters, and returns its records."""

BATCH: Final = 5000
"""The most rows of a statement."""

_BEGIN: Final[LiteralString] = """
    MERGE (r:Repo {repo_id: $repoId})
    SET r.status = 'writing', r.path = $path
    RETURN r.digest AS digest
"""
_END: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId})
    SET r.status = 'ready', r.indexed_at = datetime(), r.failed = $failed,
        r.unresolved = $unresolved, r.unresolved_files = $unresolvedFiles
    FINISH
"""
_ENTITIES: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
    RETURN e.id AS key, e.digest AS digest
"""
_CHUNKS: Final[LiteralString] = """
    MATCH (c:Chunk) WHERE c.repo_id = $repoId AND c.file_path >= ''
    RETURN c.id AS key, c.digest AS digest
"""
_RELATIONSHIPS: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
    MATCH (e)-[r:CALLS|IMPORTS|INHERITS|CONTAINS|REFERENCES]->(t)
    RETURN type(r) + ' ' + e.id + ' ' + t.id AS key, r.digest AS digest
"""
_CREATE_CHUNKS: Final[LiteralString] = """
    UNWIND $rows AS row CREATE (c:Chunk) SET c = row FINISH
"""
_CREATE_ENTITIES: Final[LiteralString] = """
    UNWIND $rows AS row
    CREATE (e:Entity) SET e = row
    WITH e WHERE e.chunk_id IS NOT NULL
    MATCH (c:Chunk {id: e.chunk_id})
    CREATE (e)-[:DEFINED_IN]->(c)
    FINISH
"""
_CHANGE_CHUNKS: Final[LiteralString] = """
    UNWIND $rows AS row MATCH (c:Chunk {id: row.id}) SET c = row FINISH
"""
_CHANGE_ENTITIES: Final[LiteralString] = """
    UNWIND $rows AS row
    MATCH (e:Entity {id: row.id})
    SET e = row
    WITH e
    OPTIONAL MATCH (e)-[old:DEFINED_IN]->(was)
    DELETE old
    WITH DISTINCT e WHERE e.chunk_id IS NOT NULL
    MATCH (c:Chunk {id: e.chunk_id})
    CREATE (e)-[:DEFINED_IN]->(c)
    FINISH
"""
_DELETE_ENTITIES: Final[LiteralString] = """
    UNWIND $keys AS key MATCH (e:Entity {id: key}) DETACH DELETE e FINISH
"""
_DELETE_CHUNKS: Final[LiteralString] = """
    UNWIND $keys AS key MATCH (c:Chunk {id: key}) DETACH DELETE c FINISH
"""
_CREATE_LINKS: Final[dict[str, LiteralString]] = {
    name: f"""
    UNWIND $rows AS row
    MATCH (s:Entity {{id: row.source}}), (t:Entity {{id: row.target}})
    CREATE (s)-[r:{name}]->(t) SET r = row.properties FINISH
"""
    for name in ("CALLS", "IMPORTS", "INHERITS", "CONTAINS", "REFERENCES")
}
_CHANGE_LINKS: Final[dict[str, LiteralString]] = {
    name: f"""
    UNWIND $rows AS row
    MATCH (s:Entity {{id: row.source}})-[r:{name}]->(t:Entity {{id: row.target}})
    SET r = row.properties FINISH
"""
    for name in _CREATE_LINKS
}
_DELETE_LINKS: Final[dict[str, LiteralString]] = {
    name: f"""
    UNWIND $rows AS row
    MATCH (s:Entity {{id: row.source}})-[r:{name}]->(t:Entity {{id: row.target}})
    DELETE r FINISH
"""
    for name in _CREATE_LINKS
}


async def begin(run: Run, repo_id: str, path: str) -> None:
    """Mark a repository as being written; create it first if it is new."""
    await run(_BEGIN, repoId=repo_id, path=path)


async def read_stored(run: Run, repo_id: str) -> Stored:
    """Return the digests of all that Neo4j has of a repository."""

    async def digests(statement: LiteralString) -> dict[Key, str]:
        records = await run(statement, repoId=repo_id)
        return {record["key"]: record["digest"] for record in records}

    return Stored(await digests(_ENTITIES), await digests(_CHUNKS), await digests(_RELATIONSHIPS))


async def write(run: Run, delta: Delta) -> None:
    """Write what differs, old things first."""
    links, entities, chunks = delta.links, delta.entities, delta.chunks
    gone = set(entities.deleted)
    # What ends at a deleted entity goes with it.
    kept = [key for key in links.deleted if gone.isdisjoint(key.split(" ")[1:])]
    for name, keys in _by_type(kept):
        for batch in _batches(keys):
            await run(_DELETE_LINKS[name], rows=[_ends(key) for key in batch])
    for statement, keys in ((_DELETE_ENTITIES, entities.deleted), (_DELETE_CHUNKS, chunks.deleted)):
        for batch in _batches(keys):
            await run(statement, keys=batch)
    for statement, rows in (
        (_CREATE_CHUNKS, chunks.created),
        (_CHANGE_CHUNKS, chunks.changed),
        (_CREATE_ENTITIES, entities.created),
        (_CHANGE_ENTITIES, entities.changed),
    ):
        for batch in _batches(list(rows.values())):
            await run(statement, rows=batch)
    for statements, changed in ((_CREATE_LINKS, links.created), (_CHANGE_LINKS, links.changed)):
        for name, keys in _by_type(changed):
            for batch in _batches(keys):
                pairs = [_ends(key) | {"properties": changed[key]} for key in batch]
                await run(statements[name], rows=pairs)


async def end(run: Run, repo_id: str, delta: Delta) -> None:
    """Mark a repository as written, and keep what could not be read or resolved."""
    unresolved = sorted(delta.unresolved.items())
    await run(
        _END,
        repoId=repo_id,
        failed=[f"{path}: {reason}" for path, reason in sorted(delta.failed.items())],
        unresolvedFiles=[path for path, _ in unresolved],
        unresolved=[count for _, count in unresolved],
    )


def _by_type(keys: Sequence[Key] | Mapping[Key, Any]) -> Iterator[tuple[str, list[Key]]]:
    for name in _CREATE_LINKS:
        yield name, [key for key in keys if key.startswith(f"{name} ")]


def _ends(key: Key) -> dict[str, Any]:
    _, source, target = key.split(" ")
    return {"source": source, "target": target}


def _batches(rows: Sequence[Any]) -> Iterator[list[Any]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        yield batch
