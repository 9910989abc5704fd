"""What differs between a repository's graph in Neo4j and that of its files."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from sidecypher_procedures.code.communities import Community, Partition
from sidecypher_procedures.code.model import Algorithm, Chunk, CodeGraph, Entity, Relationship
from sidecypher_procedures.code.words import words

Key: TypeAlias = str
"""The id of an entity or a chunk; the type of a relationship and the ids of both ends."""

Properties: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class StoredCommunities:
    """The communities that Neo4j has.

    Attributes:
        digest: That of the `Partition`; "" if it was not written to its end.
        digests: Those of the communities' properties, by id.
        members: The ids of the entities, by the community's id.
    """

    digest: str = ""
    digests: dict[Key, str] = field(default_factory=dict)
    members: dict[int, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class Stored:
    """What Neo4j has: the digests of the properties, by key."""

    entities: dict[Key, str] = field(default_factory=dict)
    chunks: dict[Key, str] = field(default_factory=dict)
    links: dict[Key, str] = field(default_factory=dict)
    communities: StoredCommunities = field(default_factory=StoredCommunities)


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


@dataclass(frozen=True, slots=True)
class Counts:
    """How large a graph is.

    Attributes:
        unresolved: How many calls have no target in the repository.
    """

    files: int = 0
    entities: int = 0
    relationships: int = 0
    unresolved: int = 0


@dataclass(slots=True)
class Delta:
    """What to write, so that Neo4j has the graph of the files.

    Attributes:
        memberships: What belongs to which community, by the ids of both.
        partition: The digest of the communities.
        digest: The digest of what the graph depends on.
        counts: How large the graph is.
        unresolved: How many calls of each file have no target in the repository.
        failed: Why a file could not be read or parsed, by path.
    """

    entities: Changes
    chunks: Changes
    links: Changes
    communities: Changes
    memberships: Changes
    partition: str
    digest: str
    counts: Counts
    unresolved: dict[str, int]
    failed: dict[str, str]

    @classmethod
    def between(
        cls,
        repo_id: str,
        stored: Stored,
        graph: CodeGraph,
        found: Partition | None,
        digest: str = "",
    ) -> "Delta":
        """Compare Neo4j with the graph of the files, and its communities if they may differ."""
        communities, memberships = community_changes(repo_id, stored.communities, found)
        return cls(
            entities=Changes.between(
                stored.entities,
                ((each.id, entity_properties(repo_id, each)) for each in graph.entities),
            ),
            chunks=Changes.between(
                stored.chunks, ((each.id, _chunk(repo_id, each)) for each in graph.chunks)
            ),
            links=Changes.between(
                stored.links,
                ((_link_key(each), link_properties(each)) for each in graph.relationships),
            ),
            communities=communities,
            memberships=memberships,
            partition=found.digest if found else stored.communities.digest,
            digest=digest,
            counts=Counts(
                files=len({entity.path for entity in graph.entities} - {""}),
                entities=len(graph.entities),
                relationships=len(graph.relationships),
                unresolved=sum(graph.unresolved.values()),
            ),
            unresolved=graph.unresolved,
            failed=graph.failed,
        )

    @property
    def written(self) -> int:
        """How many nodes and relationships are created or changed."""
        return sum(len(part.created) + len(part.changed) for part in self._parts)

    @property
    def removed(self) -> int:
        """How many nodes and relationships are deleted."""
        return sum(len(part.deleted) for part in self._parts)

    @property
    def _parts(self) -> tuple[Changes, ...]:
        return self.entities, self.chunks, self.links, self.communities, self.memberships


def community_changes(
    repo_id: str, stored: StoredCommunities, found: Partition | None
) -> tuple[Changes, Changes]:
    """Compare communities, and what belongs to them."""
    if found is None:
        return Changes(), Changes()
    communities = Changes.between(
        stored.digests,
        ((str(each.id), _community(repo_id, found.algorithm, each)) for each in found.communities),
    )
    was = {f"{member} {number}" for number, ids in stored.members.items() for member in ids}
    wanted = {f"{member} {each.id}" for each in found.communities for member in each.members}
    memberships = Changes(
        created={key: {} for key in sorted(wanted - was)}, deleted=sorted(was - wanted)
    )
    return communities, memberships


def _community(repo_id: str, algorithm: Algorithm, community: Community) -> Properties:
    return {
        "repo_id": repo_id,
        "level": 0,
        "community_id": community.id,
        "algorithm": algorithm,
        "size": len(community.members),
        "label": community.label,
    }


def entity_properties(repo_id: str, entity: Entity) -> Properties:
    """Return what Neo4j has of an entity, apart from the digest."""
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
        # Imports would take the places of definitions with the same words.
        "words": "" if entity.type == "import" else " ".join(words(entity.qualified_name)),
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


def link_properties(each: Relationship) -> Properties:
    """Return what Neo4j has of a relationship, apart from the digest."""
    return {
        "resolution": each.resolution,
        "confidence": each.confidence,
        "file_path": each.path,
        "line": each.line,
        "column": each.column,
    }
