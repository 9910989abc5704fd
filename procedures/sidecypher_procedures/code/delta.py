"""What differs between a repository's graph in Neo4j and that of its files."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from sidecypher_procedures.code.model import Chunk, CodeGraph, Entity, Relationship
from sidecypher_procedures.code.words import words

Key: TypeAlias = str
"""The id of an entity or a chunk; the type of a relationship and the ids of both ends."""

Properties: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Stored:
    """What Neo4j has: the digests of the properties, by key."""

    entities: dict[Key, str] = field(default_factory=dict)
    chunks: dict[Key, str] = field(default_factory=dict)
    links: dict[Key, str] = field(default_factory=dict)


@dataclass(slots=True)
class Changes:
    """The changes for one kind of thing.

    Attributes:
        created: What is only in the files, by key.
        changed: What differs.
        deleted: The keys of what is only in Neo4j.
    """

    created: dict[Key, Properties] = field(default_factory=dict)
    changed: dict[Key, Properties] = field(default_factory=dict)
    deleted: list[Key] = field(default_factory=list)

    @classmethod
    def between(
        cls, stored: Mapping[Key, str], wanted: Iterable[tuple[Key, Properties]]
    ) -> "Changes":
        """Compare what Neo4j has with what it shall have."""
        changes = cls()
        left = dict.fromkeys(stored)
        for key, properties in wanted:
            left.pop(key, None)
            digest = hashlib.blake2b(msgspec.msgpack.encode(properties), digest_size=8).hexdigest()
            if stored.get(key) != digest:
                target = changes.changed if key in stored else changes.created
                target[key] = properties | {"digest": digest}
        changes.deleted = [*left]
        return changes


@dataclass(slots=True)
class Delta:
    """What to write, so that Neo4j has the graph of the files.

    Attributes:
        counts: How many files, entities and relationships the graph has.
        unresolved: How many calls of each file have no target in the repository.
        failed: Why a file could not be read or parsed, by path.
    """

    entities: Changes
    chunks: Changes
    links: Changes
    counts: dict[str, int]
    unresolved: dict[str, int]
    failed: dict[str, str]

    @classmethod
    def between(cls, repo_id: str, stored: Stored, graph: CodeGraph) -> "Delta":
        """Compare Neo4j with the graph of the files."""
        return cls(
            entities=Changes.between(
                stored.entities, ((each.id, _entity(repo_id, each)) for each in graph.entities)
            ),
            chunks=Changes.between(
                stored.chunks, ((each.id, _chunk(repo_id, each)) for each in graph.chunks)
            ),
            links=Changes.between(
                stored.links, ((_link_key(each), _link(each)) for each in graph.relationships)
            ),
            counts={
                "files": len({entity.path for entity in graph.entities} - {""}),
                "entities": len(graph.entities),
                "relationships": len(graph.relationships),
            },
            unresolved=graph.unresolved,
            failed=graph.failed,
        )

    @property
    def written(self) -> int:
        """How many nodes and relationships are created or changed."""
        parts = (self.entities, self.chunks, self.links)
        return sum(len(part.created) + len(part.changed) for part in parts)

    @property
    def removed(self) -> int:
        """How many nodes and relationships are deleted."""
        return sum(len(part.deleted) for part in (self.entities, self.chunks, self.links))


def _entity(repo_id: str, entity: Entity) -> Properties:
    return {
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
        "words": " ".join(words(entity.qualified_name)),
        "external": entity.external,
    }


def _chunk(repo_id: str, chunk: Chunk) -> Properties:
    return {
        "repo_id": repo_id,
        "id": chunk.id,
        "file_path": chunk.path,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "text": chunk.text,
        "tokens": chunk.tokens,
        "words": " ".join(words(f"{chunk.path} {chunk.text}")),
    }


def _link_key(each: Relationship) -> Key:
    return f"{each.type.upper()} {each.source} {each.target}"


def _link(each: Relationship) -> Properties:
    return {
        "resolution": each.resolution,
        "confidence": each.confidence,
        "file_path": each.path,
        "line": each.line,
        "column": each.column,
    }
