"""Statements that read and write the code of repositories."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from itertools import islice
from typing import Any, Final, LiteralString, TypeAlias
from uuid import uuid4

from sidecypher_procedures.code.delta import Counts, Delta, Key, Stored
from sidecypher_procedures.code.errors import RepositoryBusy
from sidecypher_procedures.names import shown_id

Record: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[..., Awaitable[Iterable[Record]]]
"""Runs a statement with parameters, and returns its records."""

Statement: TypeAlias = tuple[LiteralString, dict[str, Any], int]
"""A statement with its parameters, and how many nodes and relationships it writes."""

OnRows: TypeAlias = Callable[[int, int], None]
"""Gets how many nodes and relationships are written, and how many there are to write."""


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a repository before it is indexed.

    Attributes:
        version: How many times it was written.
        digest: That of the files, options and program it was made of; "" if it is not known.
        counts: How large its graph is, if that is made of them.
    """

    version: int = 0
    digest: str = ""
    counts: Counts = field(default_factory=Counts)


BATCH: Final = 2000
"""The most rows of a statement."""

LEASE_SECONDS: Final = 120
"""How long a repository is kept for an indexing after its last statement: more than one takes."""

_CREATE: Final[LiteralString] = """
    MERGE (r:Repo {repo_id: $repoId}) FINISH
"""
# The first SET locks the repository, so that what is read then stays true.
_BEGIN: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId})
    SET r.asked_at = datetime.realtime()
    WITH r WHERE coalesce(r.version, 0) = $version
        AND (coalesce(r.status, '') <> 'writing' OR r.lease_until < r.asked_at)
    SET r.status = 'writing', r.path = coalesce($path, r.path), r.writer = $writer,
        r.version = $version + 1, r.partition = NULL, r.digest = NULL,
        r.lease_until = r.asked_at + duration({seconds: $lease})
    RETURN r.version AS version
"""
# A statement writes nothing once the repository belongs to another indexing.
HELD: Final[LiteralString] = """
    MATCH (repo:Repo {repo_id: $repoId, writer: $writer})
    SET repo.lease_until = datetime.realtime() + duration({seconds: $lease})
    WITH repo
"""
_END: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId, writer: $writer})
    SET r.status = 'ready', r.indexed_at = datetime(), r.failed = $failed,
        r.unresolved = $unresolved, r.unresolved_files = $unresolvedFiles,
        r.partition = $partition, r.digest = $digest, r.files = $counts.files,
        r.entities = $counts.entities, r.relationships = $counts.relationships
    REMOVE r.writer, r.lease_until
    RETURN r.version AS version
"""
_DELETE: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId, writer: $writer})
    WITH r, r.version AS version
    DELETE r
    RETURN version
"""
_END_COMMUNITIES: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId, writer: $writer})
    SET r.status = 'ready', r.partition = $partition
    REMOVE r.writer, r.lease_until
    RETURN r.version AS version
"""
_RELEASE: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId, writer: $writer})
    REMOVE r.writer
    SET r.lease_until = datetime.realtime()
    FINISH
"""
_STATE: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId})
    RETURN coalesce(r.version, 0) AS version, r.digest AS digest, r.files AS files,
        r.entities AS entities, r.relationships AS relationships,
        reduce(sum = 0, count IN r.unresolved | sum + count) AS unresolved,
        coalesce(r.status, '') = 'writing' AND r.lease_until > datetime.realtime() AS isBusy
"""
_ENTITIES: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
    RETURN e.id AS key, e.digest AS digest
"""
_CHUNKS: Final[LiteralString] = """
    MATCH (c:Chunk) WHERE c.repo_id = $repoId AND c.file_path >= ''
    RETURN c.id AS key, c.digest AS digest
"""
# What others have drawn between entities has no digest, and stays theirs.
_RELATIONSHIPS: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
    MATCH (e)-[r:CALLS|IMPORTS|INHERITS|CONTAINS|REFERENCES]->(t) WHERE r.digest IS NOT NULL
    RETURN type(r) + ' ' + e.id + ' ' + t.id AS key, r.digest AS digest
"""
_CREATE_CHUNKS: Final[LiteralString] = f"""
    {HELD}
    UNWIND $rows AS row CREATE (c:Chunk) SET c = row FINISH
"""
_CREATE_ENTITIES: Final[LiteralString] = f"""
    {HELD}
    UNWIND $rows AS row
    CREATE (e:Entity) SET e = row
    WITH e WHERE e.chunk_id IS NOT NULL
    MATCH (c:Chunk {{id: e.chunk_id}})
    CREATE (e)-[:DEFINED_IN]->(c)
    FINISH
"""
# A chunk that has only moved keeps the embedding of its text.
_CHANGE_CHUNKS: Final[LiteralString] = f"""
    {HELD}
    UNWIND $rows AS row MATCH (c:Chunk {{id: row.id}})
    SET c = row {{.*, embedding: CASE c.text WHEN row.text THEN c.embedding END}} FINISH
"""
_CHANGE_ENTITIES: Final[LiteralString] = f"""
    {HELD}
    UNWIND $rows AS row
    MATCH (e:Entity {{id: row.id}})
    SET e = row
    WITH e
    OPTIONAL MATCH (e)-[old:DEFINED_IN]->(was)
    DELETE old
    WITH DISTINCT e WHERE e.chunk_id IS NOT NULL
    MATCH (c:Chunk {{id: e.chunk_id}})
    CREATE (e)-[:DEFINED_IN]->(c)
    FINISH
"""
_DELETE_ENTITIES: Final[LiteralString] = f"""
    {HELD}
    UNWIND $keys AS key MATCH (e:Entity {{id: key}}) DETACH DELETE e FINISH
"""
_DELETE_CHUNKS: Final[LiteralString] = f"""
    {HELD}
    UNWIND $keys AS key MATCH (c:Chunk {{id: key}}) DETACH DELETE c FINISH
"""
_CREATE_LINKS: Final[dict[str, LiteralString]] = {
    name: f"""
    {HELD}
    UNWIND $rows AS row
    MATCH (s:Entity {{id: row.source}}), (t:Entity {{id: row.target}})
    CREATE (s)-[r:{name}]->(t) SET r = row.properties FINISH
"""
    for name in ("CALLS", "IMPORTS", "INHERITS", "CONTAINS", "REFERENCES")
}
# What a trace has confirmed stays confirmed: the two still call each other, on another line.
_CHANGE_LINKS: Final[dict[str, LiteralString]] = {
    name: f"""
    {HELD}
    UNWIND $rows AS row
    MATCH (s:Entity {{id: row.source}})-[r:{name}]->(t:Entity {{id: row.target}})
    WHERE r.digest IS NOT NULL
    SET r += row.properties FINISH
"""
    for name in _CREATE_LINKS
}
_DELETE_LINKS: Final[dict[str, LiteralString]] = {
    name: f"""
    {HELD}
    UNWIND $rows AS row
    MATCH (s:Entity {{id: row.source}})-[r:{name}]->(t:Entity {{id: row.target}})
    WHERE r.digest IS NOT NULL
    DELETE r FINISH
"""
    for name in _CREATE_LINKS
}


async def state_of(run: Run, repo_id: str) -> State:
    """Return what is known of a repository before it is indexed.

    Raises:
        RepositoryBusy: Another indexing is writing it.
    """
    for record in await run(_STATE, repoId=repo_id):
        if record["isBusy"]:
            raise busy(repo_id)
        if record["digest"] is None:
            return State(version=record["version"])
        counts = Counts(**{each.name: record[each.name] for each in fields(Counts)})
        return State(record["version"], record["digest"], counts)
    return State()


async def read_stored(run: Run, repo_id: str) -> Stored:
    """Return the digests of all that Neo4j has of a repository."""

    async def digests(statement: LiteralString) -> dict[Key, str]:
        records = await run(statement, repoId=repo_id)
        return {record["key"]: record["digest"] for record in records}

    return Stored(await digests(_ENTITIES), await digests(_CHUNKS), await digests(_RELATIONSHIPS))


class Writing:
    """A repository while one indexing writes it.

    Another indexing meanwhile is refused. If this one is broken off, the repository stays its own
    for `LEASE_SECONDS`; then the next indexing writes what is missing.

    Args:
        run: Runs the statements, in one transaction or each in its own.
        repo_id: The repository.
    """

    def __init__(self, run: Run, repo_id: str) -> None:
        self._run = run
        self._repo_id = repo_id
        self._writer = uuid4().hex

    async def begin(self, path: str | None, version: int) -> None:
        """Mark the repository as being written; create it first if it is new.

        Args:
            path: The folder that its files are in; None to keep what is known of it.
            version: That of its `State`.

        Raises:
            RepositoryBusy: It was written since its `State` was read, or is now.
        """
        if not version:
            await self._do(_CREATE)
        await self._check(_BEGIN, path=path, version=version)

    async def write(self, statements: Iterable[Statement], total: int, on_rows: OnRows) -> None:
        """Run the statements that write what differs."""
        done = 0
        for statement, parameters, rows in statements:
            await self._do(statement, **parameters)
            done += rows
            on_rows(done, total)

    async def end(self, delta: Delta) -> None:
        """Mark the repository as written, and keep what could not be read or resolved.

        Raises:
            RepositoryBusy: It belongs to another indexing, since this one has taken too long.
        """
        unresolved = sorted(delta.unresolved.items())
        await self._check(
            _END,
            failed=[f"{path}: {reason}" for path, reason in sorted(delta.failed.items())],
            unresolvedFiles=[path for path, _ in unresolved],
            unresolved=[count for _, count in unresolved],
            partition=delta.partition,
            digest=delta.digest,
            counts=asdict(delta.counts),
        )

    async def delete(self) -> None:
        """Delete the repository itself, after all that it has.

        Raises:
            RepositoryBusy: It belongs to an indexing, since this one has taken too long.
        """
        await self._check(_DELETE)

    async def end_communities(self, partition: str) -> None:
        """Mark the repository as written, after only its communities were."""
        await self._check(_END_COMMUNITIES, partition=partition)

    async def release(self) -> None:
        """Let the next indexing begin at once, after this one has failed."""
        await self._do(_RELEASE)

    async def _check(self, statement: LiteralString, **parameters: Any) -> None:
        if not [*await self._do(statement, **parameters)]:
            raise busy(self._repo_id)

    async def _do(self, statement: LiteralString, **parameters: Any) -> Iterable[Record]:
        return await self._run(
            statement,
            repoId=self._repo_id,
            writer=self._writer,
            lease=LEASE_SECONDS,
            **parameters,
        )


def busy(repo_id: str) -> RepositoryBusy:
    """Return the error that another indexing writes a repository."""
    return RepositoryBusy(f"Another indexing writes the repository `{shown_id(repo_id)}`")


def statements(delta: Delta) -> Iterator[Statement]:
    """Yield what writes entities, chunks and their relationships, old things first."""
    links, entities, chunks = delta.links, delta.entities, delta.chunks
    gone = set(entities.deleted)
    # What ends at a deleted entity goes with it.
    kept = [key for key in links.deleted if gone.isdisjoint(key.split(" ")[1:])]
    for name, keys in _by_type(kept):
        for batch in batches(keys):
            yield _DELETE_LINKS[name], {"rows": [_ends(key) for key in batch]}, len(batch)
    for statement, keys in ((_DELETE_ENTITIES, entities.deleted), (_DELETE_CHUNKS, chunks.deleted)):
        for batch in batches(keys):
            yield statement, {"keys": batch}, len(batch)
    for statement, rows in (
        (_CREATE_CHUNKS, chunks.created),
        (_CHANGE_CHUNKS, chunks.changed),
        (_CREATE_ENTITIES, entities.created),
        (_CHANGE_ENTITIES, entities.changed),
    ):
        for batch in batches(list(rows.values())):
            yield statement, {"rows": batch}, len(batch)
    for texts, changed in ((_CREATE_LINKS, links.created), (_CHANGE_LINKS, links.changed)):
        for name, keys in _by_type(changed):
            for batch in batches(keys):
                pairs = [_ends(key) | {"properties": changed[key]} for key in batch]
                yield texts[name], {"rows": pairs}, len(batch)


def _by_type(keys: Sequence[Key] | Mapping[Key, Any]) -> Iterator[tuple[str, list[Key]]]:
    for name in _CREATE_LINKS:
        yield name, [key for key in keys if key.startswith(f"{name} ")]


def _ends(key: Key) -> dict[str, Any]:
    _, source, target = key.split(" ")
    return {"source": source, "target": target}


def batches(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield rows in parts of at most `BATCH`."""
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        yield batch
