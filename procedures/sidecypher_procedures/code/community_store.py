"""Statements that read and write the communities of repositories."""

from collections.abc import Iterator
from typing import Final, LiteralString

from sidecypher_procedures.code.delta import Changes, StoredCommunities
from sidecypher_procedures.code.drawing import Area, CodeMap
from sidecypher_procedures.code.options import CommunitiesOptions
from sidecypher_procedures.code.rows import CommunityRow
from sidecypher_procedures.code.store import HELD, Run, Statement, batches

_PARTITION: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId}) RETURN coalesce(r.partition, '') AS digest
"""
_STORED: Final[LiteralString] = """
    MATCH (c:Community) WHERE c.repo_id = $repoId AND c.community_id >= 0
    RETURN c.community_id AS id, c.digest AS digest,
        COLLECT { MATCH (e:Entity)-[:IN_COMMUNITY]->(c) RETURN e.id } AS members
"""
_LEAVE: Final[LiteralString] = f"""
    {HELD}
    UNWIND $rows AS row
    MATCH (:Entity {{id: row.id}})-[r:IN_COMMUNITY]->
        (:Community {{repo_id: $repoId, community_id: row.community}})
    DELETE r FINISH
"""
_DELETE: Final[LiteralString] = f"""
    {HELD}
    UNWIND $ids AS id
    MATCH (c:Community {{repo_id: $repoId, community_id: id}}) DETACH DELETE c FINISH
"""
_CREATE: Final[LiteralString] = f"""
    {HELD}
    UNWIND $rows AS row CREATE (c:Community) SET c = row FINISH
"""
_CHANGE: Final[LiteralString] = f"""
    {HELD}
    UNWIND $rows AS row
    MATCH (c:Community {{repo_id: row.repo_id, community_id: row.community_id}}) SET c = row FINISH
"""
_JOIN: Final[LiteralString] = f"""
    {HELD}
    UNWIND $rows AS row
    MATCH (e:Entity {{id: row.id}}), (c:Community {{repo_id: $repoId, community_id: row.community}})
    CREATE (e)-[:IN_COMMUNITY]->(c) FINISH
"""
_LARGEST: Final[LiteralString] = """
    MATCH (c:Community) WHERE c.repo_id = $repoId AND c.community_id >= 0
    WITH c ORDER BY c.size DESC, c.community_id LIMIT $limit
    RETURN c.community_id AS community_id, c.level AS level, c.algorithm AS algorithm,
        c.size AS size, c.label AS label, COLLECT {
            MATCH (e:Entity)-[:IN_COMMUNITY]->(c)
            WITH e, COUNT { (e)<-[:CALLS|INHERITS|REFERENCES]-() } AS uses
            ORDER BY e.name STARTS WITH '_', uses DESC, e.qualified_name, e.id LIMIT $members
            RETURN e.qualified_name
        } AS members
    ORDER BY size DESC, community_id
"""
_TIES: Final[LiteralString] = """
    UNWIND $ids AS id
    MATCH (:Community {repo_id: $repoId, community_id: id})<-[:IN_COMMUNITY]-(e:Entity)
    MATCH (e)-[:CALLS|IMPORTS|INHERITS|REFERENCES]->(:Entity)-[:IN_COMMUNITY]->(other)
    WHERE other.community_id <> id AND other.community_id IN $ids
    RETURN id, other.community_id AS other, count(*) AS count
"""
_MAP_MEMBERS: Final = 4
"""The most members that a map names."""


async def read_stored(run: Run, repo_id: str) -> StoredCommunities:
    """Return the communities that Neo4j has."""
    stored = StoredCommunities()
    for record in await run(_PARTITION, repoId=repo_id):
        stored.digest = record["digest"]
    for record in await run(_STORED, repoId=repo_id):
        stored.digests[str(record["id"])] = record["digest"]
        stored.members[record["id"]] = record["members"]
    return stored


def statements(communities: Changes, memberships: Changes) -> Iterator[Statement]:
    """Yield what writes communities, after the entities: what was deleted has left its own."""
    for batch in batches(memberships.deleted):
        yield _LEAVE, {"rows": [_membership(key) for key in batch]}, len(batch)
    for batch in batches(communities.deleted):
        yield _DELETE, {"ids": [int(key) for key in batch]}, len(batch)
    for statement, rows in ((_CREATE, communities.created), (_CHANGE, communities.changed)):
        for batch in batches([*rows.values()]):
            yield statement, {"rows": batch}, len(batch)
    for batch in batches([*memberships.created]):
        yield _JOIN, {"rows": [_membership(key) for key in batch]}, len(batch)


async def communities(run: Run, repo_id: str, options: CommunitiesOptions) -> list[CommunityRow]:
    """Return the largest communities, each with the members that are used most."""
    records = await run(_LARGEST, repoId=repo_id, limit=options.limit, members=options.members)
    return [CommunityRow(**record) for record in records]


async def read_map(run: Run, repo_id: str, limit: int) -> CodeMap:
    """Return what a map of the largest communities shows.

    Args:
        run: Runs the statements.
        repo_id: The repository.
        limit: The most communities.
    """
    options = CommunitiesOptions(limit=limit, members=_MAP_MEMBERS)
    found = await communities(run, repo_id, options)
    places = {each.community_id: place for place, each in enumerate(found)}
    ties = await run(_TIES, repoId=repo_id, ids=[*places])
    return CodeMap(
        f"The largest communities of {repo_id}",
        [Area(each.label, each.size, each.members) for each in found],
        {(places[each["id"]], places[each["other"]]): each["count"] for each in ties},
    )


def _membership(key: str) -> dict[str, str | int]:
    member, _, community = key.partition(" ")
    return {"id": member, "community": int(community)}
