"""What the graph of a repository's code answers, read in the caller's transaction."""

from collections.abc import AsyncIterator
from typing import Final, LiteralString

from sidecypher_procedures.code.errors import UnknownEntity, UnknownRepository
from sidecypher_procedures.code.options import CallsOptions, EdgesOptions
from sidecypher_procedures.code.rows import Called, DefinitionRow, Edge, Repository, Statistic
from sidecypher_procedures.code.store import Run
from sidecypher_procedures.names import shown_id

_REPOSITORIES: Final[LiteralString] = """
    MATCH (r:Repo)
    RETURN r.repo_id AS repo_id, r.status AS status, r.indexed_at AS indexed_at,
        COUNT { MATCH (e:Entity) WHERE e.repo_id = r.repo_id AND e.name_lower >= '' } AS entities
    ORDER BY repo_id
"""
_REPOSITORY: Final[LiteralString] = """
    MATCH (r:Repo {repo_id: $repoId}) RETURN r.status AS status
"""
_NAMED: Final[LiteralString] = """
    CALL () {
        MATCH (e:Entity {id: $name}) WHERE e.repo_id = $repoId RETURN e
        UNION
        MATCH (e:Entity {repo_id: $repoId, qualified_name: $name}) RETURN e
        UNION
        MATCH (e:Entity {repo_id: $repoId, name_lower: toLower(split($name, '.')[-1])})
        WHERE ('.' + e.qualified_name) ENDS WITH ('.' + $name) RETURN e
    }
    WITH e WHERE e.type IN ['function', 'class', 'module']
    RETURN e.id AS id ORDER BY id LIMIT $most
"""
_CALLS: Final[LiteralString] = """
    WITH e, r ORDER BY r.confidence DESC, r.file_path, r.line
    WITH e, collect(r)[0] AS r
    RETURN e.id AS entity_id, e.name AS name, e.qualified_name AS qualified_name,
        r.file_path AS file_path, r.line AS line, r.resolution AS resolution,
        r.confidence AS confidence
    ORDER BY file_path, line, qualified_name, entity_id LIMIT $most
"""
_CALLERS: Final[LiteralString] = f"""
    UNWIND $frontier AS id
    MATCH (:Entity {{id: id}})<-[r:CALLS]-(e:Entity)
    WHERE r.resolution IN $tiers AND NOT e.id IN $seen
    {_CALLS}
"""
_CALLEES: Final[LiteralString] = f"""
    UNWIND $frontier AS id
    MATCH (:Entity {{id: id}})-[r:CALLS]->(e:Entity)
    WHERE r.resolution IN $tiers AND NOT e.id IN $seen
    {_CALLS}
"""
_DEFINITIONS: Final[LiteralString] = """
    MATCH (e:Entity {repo_id: $repoId, file_path: $file})
    WHERE e.start_line <= $line AND e.end_line >= $line AND e.type <> 'import'
    RETURN e.id AS entity_id, e.name AS name, e.qualified_name AS qualified_name, e.type AS type,
        e.start_line AS start_line, e.end_line AS end_line, e.signature AS signature,
        e.docstring AS docstring
    ORDER BY end_line - start_line, entity_id
"""
_STATISTICS: Final[LiteralString] = """
    CALL () {
        MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
        RETURN 'type' AS kind, e.type AS key, count(*) AS count
        UNION ALL
        MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
        RETURN 'language' AS kind, e.language AS key, count(*) AS count
        UNION ALL
        MATCH (e:Entity)-[r:CALLS|IMPORTS|INHERITS|CONTAINS|REFERENCES]->()
        WHERE e.repo_id = $repoId AND e.name_lower >= '' AND r.digest IS NOT NULL
        RETURN 'relationship' AS kind, toLower(type(r)) AS key, count(*) AS count
        UNION ALL
        MATCH (e:Entity)-[r:CALLS]->()
        WHERE e.repo_id = $repoId AND e.name_lower >= '' AND r.digest IS NOT NULL
        RETURN 'tier' AS kind, r.resolution AS key, count(*) AS count
        UNION ALL
        MATCH (e:Entity)-[r:CALLS {trace_confirmed: true}]->()
        WHERE e.repo_id = $repoId AND e.name_lower >= ''
        RETURN 'traced' AS kind, r.resolution AS key, count(*) AS count
        UNION ALL
        MATCH (c:Community) WHERE c.repo_id = $repoId AND c.community_id >= 0
        RETURN 'community' AS kind, c.algorithm AS key, count(*) AS count
        UNION ALL
        MATCH (r:Repo {repo_id: $repoId})
        UNWIND range(0, size(r.unresolved_files) - 1) AS place
        RETURN 'unresolved' AS kind, r.unresolved_files[place] AS key, r.unresolved[place] AS count
        UNION ALL
        MATCH (r:Repo {repo_id: $repoId})
        UNWIND r.failed AS failed
        RETURN 'failed' AS kind, failed AS key, 1 AS count
    }
    RETURN kind, key, count ORDER BY kind, key
"""
_EDGES: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
    MATCH (e)-[r:CALLS|IMPORTS|INHERITS|CONTAINS|REFERENCES]->(t)
    WHERE r.digest IS NOT NULL AND ($types IS NULL OR toLower(type(r)) IN $types)
        AND ($tiers IS NULL OR r.resolution IN $tiers)
    RETURN e.id AS source, t.id AS target, toLower(type(r)) AS type,
        r.resolution AS resolution, r.file_path AS file_path, r.line AS line
    ORDER BY source, target, type
"""
WRITING: Final = "an indexing writes the repository: parts may be missing"
"""What is said of a repository whose graph is not whole."""

_MOST_NAMED: Final = 100


async def repositories(run: Run) -> list[Repository]:
    """Return the indexed repositories."""
    return [Repository(**record) for record in await run(_REPOSITORIES)]


async def check_repository(run: Run, repo_id: str) -> tuple[str, ...]:
    """Check that a repository is indexed; return what readers must know of its state.

    Raises:
        UnknownRepository: It is not.
    """
    for record in await run(_REPOSITORY, repoId=repo_id):
        return (WRITING,) if record["status"] == "writing" else ()
    raise UnknownRepository(f"There is no repository `{shown_id(repo_id)}`")


async def named(run: Run, repo_id: str, name: str) -> list[str]:
    """Return the ids of the entities with a name or the end of a qualified name, or with an id.

    Raises:
        UnknownRepository: The repository is not indexed.
        UnknownEntity: There is none.
    """
    records = await run(_NAMED, repoId=repo_id, name=name, most=_MOST_NAMED)
    found = [record["id"] for record in records]
    if not found:
        await check_repository(run, repo_id)
        raise UnknownEntity(f"Nothing is named `{shown_id(name)}`")
    return found


async def calls(
    run: Run, repo_id: str, name: str, options: CallsOptions, *, is_backwards: bool
) -> AsyncIterator[Called]:
    """Yield who calls a function, or whom it calls, the nearest first.

    Raises:
        UnknownRepository: The repository is not indexed.
        UnknownEntity: Nothing has this name.
    """
    frontier = await named(run, repo_id, name)
    statement = _CALLERS if is_backwards else _CALLEES
    seen: dict[str, None] = {}
    left = options.limit
    for hops in range(1, options.hops + 1):
        records = await run(
            statement, frontier=frontier, seen=[*seen], tiers=options.tiers, most=left
        )
        for record in records:
            yield Called(**record, hops=hops)
        frontier = [record["entity_id"] for record in records]
        seen |= dict.fromkeys(frontier)
        left -= len(frontier)
        if not frontier or not left:
            return


async def definitions(run: Run, repo_id: str, file: str, line: int) -> list[DefinitionRow]:
    """Return what is defined around a line, the innermost first."""
    await check_repository(run, repo_id)
    records = await run(_DEFINITIONS, repoId=repo_id, file=file, line=line)
    return [DefinitionRow(**record) for record in records]


async def statistics(run: Run, repo_id: str) -> list[Statistic]:
    """Return the counts of a repository."""
    await check_repository(run, repo_id)
    return [Statistic(**record) for record in await run(_STATISTICS, repoId=repo_id)]


async def edges(run: Run, repo_id: str, options: EdgesOptions) -> AsyncIterator[Edge]:
    """Yield the relationships of a repository in a total order."""
    await check_repository(run, repo_id)
    found = await run(_EDGES, repoId=repo_id, types=options.types, tiers=options.tiers)
    for record in found:
        yield Edge(**record)
