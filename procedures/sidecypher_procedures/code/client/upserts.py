"""Entities and relationships that a program adds to a graph, in one transaction."""

from collections.abc import Iterable
from typing import Final, LiteralString, cast

from sidecypher_procedures.code import model, store
from sidecypher_procedures.code.client.models import Entity, Relationship
from sidecypher_procedures.code.delta import entity_properties, link_properties
from sidecypher_procedures.code.errors import ForeignId, InvalidId, UnknownEntity
from sidecypher_procedures.code.model import RELATIONSHIP_TYPES, Language
from sidecypher_procedures.code.queries import check_repository
from sidecypher_procedures.code.store import Run, batches
from sidecypher_procedures.names import LONGEST_NAME, is_id, shown_id

# The first SET locks the repository. An indexing that has already compared it is then refused.
_OPEN: Final[LiteralString] = """
    MERGE (r:Repo {repo_id: $repoId})
    ON CREATE SET r.status = 'ready', r.unresolved_files = [], r.unresolved = [], r.failed = []
    SET r.asked_at = datetime.realtime()
    WITH r WHERE r.status <> 'writing' OR r.lease_until < r.asked_at
    SET r.version = coalesce(r.version, 0) + 1, r.partition = NULL,
        r.digest = NULL
    RETURN r.version AS version
"""
_FOREIGN: Final[LiteralString] = """
    UNWIND $rows AS row
    CALL (row) {
        MATCH (e:Entity {id: row.id}) WHERE e.repo_id <> $repoId RETURN e.id AS id
        UNION
        MATCH (c:Chunk {id: row.chunk_id}) WHERE c.repo_id <> $repoId RETURN c.id AS id
    }
    RETURN id LIMIT 1
"""
# Without a digest, the next indexing takes it for something that differs from the files.
_ENTITIES: Final[LiteralString] = """
    UNWIND $rows AS row
    MERGE (e:Entity {id: row.id})
    SET e += row, e.digest = ''
    WITH e
    CALL (e) {
        MATCH (e)-[old:DEFINED_IN]->(c) WHERE c.id <> coalesce(e.chunk_id, '')
        DELETE old
    }
    WITH e WHERE e.chunk_id IS NOT NULL
    MERGE (c:Chunk {id: e.chunk_id})
    ON CREATE SET c.repo_id = $repoId, c.file_path = e.file_path, c.start_line = e.start_line,
        c.end_line = e.end_line, c.text = '', c.tokens = 0, c.words = '', c.digest = ''
    MERGE (e)-[:DEFINED_IN]->(c)
    FINISH
"""
_MISSING: Final[LiteralString] = """
    UNWIND $rows AS row
    UNWIND [row.source, row.target] AS id
    OPTIONAL MATCH (e:Entity {id: id}) WHERE e.repo_id = $repoId
    WITH id, e WHERE e IS NULL
    RETURN id LIMIT 1
"""
_LINKS: Final[dict[model.RelationshipType, LiteralString]] = {
    name: f"""
    UNWIND $rows AS row
    MATCH (s:Entity {{id: row.source}}), (t:Entity {{id: row.target}})
    MERGE (s)-[r:{name.upper()}]->(t)
    SET r += row.properties, r.digest = ''
    FINISH
"""
    for name in RELATIONSHIP_TYPES
}


async def write_entities(run: Run, repo_id: str, entities: Iterable[Entity]) -> None:
    """Create or replace entities; the repository, too, if it is new.

    Raises:
        InvalidId: The repository cannot have this id.
        ForeignId: An entity or a chunk with this id is in another repository.
        RepositoryBusy: An indexing writes the repository.
    """
    if not is_id(repo_id):
        raise InvalidId(f"The id of a repository has 1 to {LONGEST_NAME} characters")
    await _open(run, repo_id)
    for batch in batches([entity_properties(repo_id, _entity(each)) for each in entities]):
        for record in await run(_FOREIGN, repoId=repo_id, rows=batch):
            raise ForeignId(f"The id `{shown_id(record['id'])}` is in another repository")
        await run(_ENTITIES, repoId=repo_id, rows=batch)


async def write_relationships(
    run: Run, repo_id: str, relationships: Iterable[Relationship]
) -> None:
    """Create or change relationships: one for each type and both ends.

    Raises:
        UnknownRepository: The repository is not there.
        UnknownEntity: It has no entity with the id of an end.
        RepositoryBusy: An indexing writes it.
    """
    await check_repository(run, repo_id)
    await _open(run, repo_id)
    given = [*relationships]
    for name, statement in _LINKS.items():
        for batch in batches([_link(each) for each in given if each.type == name]):
            for record in await run(_MISSING, repoId=repo_id, rows=batch):
                raise UnknownEntity(
                    f"The repository has no entity with the id `{shown_id(record['id'])}`",
                    hint="Upsert it first.",
                )
            await run(statement, rows=batch)


async def _open(run: Run, repo_id: str) -> None:
    if not [*await run(_OPEN, repoId=repo_id)]:
        raise store.busy(repo_id)


def _entity(each: Entity) -> model.Entity:
    return model.Entity(
        id=each.id,
        name=each.name,
        qualified_name=each.qualified_name or each.name,
        type=each.type,
        path=each.file_path,
        language=cast(Language, each.language),
        start_line=each.start_line,
        end_line=each.end_line,
        signature=each.signature,
        docstring=each.docstring,
        chunk_id=each.chunk_id,
    )


def _link(each: Relationship) -> dict[str, object]:
    relationship = model.Relationship(
        source=each.source,
        target=each.target,
        type=each.type,
        resolution=each.resolution,
        confidence=each.confidence,
        path=each.file_path,
        line=each.line,
        column=each.column,
    )
    return {
        "source": each.source,
        "target": each.target,
        "properties": link_properties(relationship),
    }
