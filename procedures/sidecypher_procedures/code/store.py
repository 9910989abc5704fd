"""Statements that read and write the code of repositories."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, LiteralString, TypeAlias

from sidecypher_procedures.code.model import Chunk, CodeGraph, Entity, Relationship

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

Key: TypeAlias = str
Properties: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Changes:
    """What differs between the graph in Neo4j and that of the files, for one kind of thing.

    Attributes:
        created: What is only in the files, by key.
        changed: What differs.
        deleted: The keys of what is only in Neo4j.
    """

    created: dict[Key, Properties] = field(default_factory=dict)
    changed: dict[Key, Properties] = field(default_factory=dict)
    deleted: list[Key] = field(default_factory=list)

    @classmethod
    def between(cls, stored: Mapping[Key, str], wanted: Mapping[Key, Properties]) -> "Changes":
        """Compare what Neo4j has, key and digest, with what it shall have."""
        changes = cls(deleted=[key for key in stored if key not in wanted])
        for key, properties in wanted.items():
            if key not in stored:
                changes.created[key] = properties
            elif stored[key] != properties["digest"]:
                changes.changed[key] = properties
        return changes

    def __len__(self) -> int:
        return len(self.created) + len(self.changed) + len(self.deleted)


@dataclass(slots=True)
class Delta:
    """What to write, so that Neo4j has the graph of the files."""

    entities: Changes
    chunks: Changes
    links: Changes

    @property
    def written(self) -> int:
        """How many nodes and relationships are created or changed."""
        parts = (self.entities, self.chunks, self.links)
        return sum(len(part.created) + len(part.changed) for part in parts)

    @property
    def removed(self) -> int:
        """How many nodes and relationships are deleted."""
        return sum(len(part.deleted) for part in (self.entities, self.chunks, self.links))


async def begin(run: Run, repo_id: str, path: str) -> None:
    """Mark a repository as being written; create it first if it is new."""
    await run(_BEGIN, repoId=repo_id, path=path)


async def read_delta(run: Run, repo_id: str, graph: CodeGraph) -> Delta:
    """Compare Neo4j with the graph of the files."""

    async def stored(statement: LiteralString) -> dict[Key, str]:
        records = await run(statement, repoId=repo_id)
        return {record["key"]: record["digest"] for record in records}

    return Delta(
        Changes.between(
            await stored(_ENTITIES),
            {entity.id: _entity(repo_id, entity) for entity in graph.entities},
        ),
        Changes.between(
            await stored(_CHUNKS), {chunk.id: _chunk(repo_id, chunk) for chunk in graph.chunks}
        ),
        Changes.between(
            await stored(_RELATIONSHIPS),
            {_link_key(each): _link(each) for each in graph.relationships},
        ),
    )


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


async def end(run: Run, repo_id: str, graph: CodeGraph) -> None:
    """Mark a repository as written, and keep what could not be read or resolved."""
    unresolved = sorted(graph.unresolved.items())
    await run(
        _END,
        repoId=repo_id,
        failed=[f"{path}: {reason}" for path, reason in sorted(graph.failed.items())],
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


def _digested(properties: Properties) -> Properties:
    text = json.dumps(properties, sort_keys=True, ensure_ascii=False)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return properties | {"digest": digest.hexdigest()}


def _entity(repo_id: str, entity: Entity) -> Properties:
    return _digested(
        {
            "repo_id": repo_id,
            "id": entity.id,
            "name": entity.name,
            "name_lower": entity.name.lower(),
            "qualified_name": entity.qualified_name,
            "type": entity.type,
            "file_path": entity.path,
            "start_line": entity.start_line,
            "end_line": entity.end_line,
            "language": entity.language,
            "chunk_id": entity.chunk_id,
            "signature": entity.signature,
            "docstring": entity.docstring,
            "external": entity.external,
        }
    )


def _chunk(repo_id: str, chunk: Chunk) -> Properties:
    return _digested(
        {
            "repo_id": repo_id,
            "id": chunk.id,
            "file_path": chunk.path,
            "start_line": chunk.start_line,
            "end_line": chunk.end_line,
            "text": chunk.text,
            "tokens": chunk.tokens,
        }
    )


def _link_key(each: Relationship) -> Key:
    return f"{each.type.upper()} {each.source} {each.target}"


def _link(each: Relationship) -> Properties:
    return _digested(
        {
            "resolution": each.resolution,
            "confidence": each.confidence,
            "file_path": each.path,
            "line": each.line,
            "column": each.column,
        }
    )
