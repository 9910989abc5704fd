"""Statements that read what a graph has of calls, and mark those that happen."""

from collections.abc import Iterable
from typing import Final, LiteralString

from sidecypher_procedures.code.queries import check_repository
from sidecypher_procedures.code.store import Run, batches, busy
from sidecypher_procedures.code.trace.comparison import Definition, Known, Pair

_DEFINITIONS: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= ''
        AND e.language = 'python' AND e.type IN ['function', 'class', 'module']
        AND NOT e.external
    RETURN e.id AS id, e.type AS type, e.qualified_name AS qualified_name, e.file_path AS path,
        e.start_line AS start_line
"""
_LINKS: Final[LiteralString] = """
    MATCH (e:Entity) WHERE e.repo_id = $repoId AND e.name_lower >= '' AND e.language = 'python'
    MATCH (e)-[r:CALLS|REFERENCES]->(t) WHERE r.digest IS NOT NULL
    RETURN e.id AS source, t.id AS target, type(r) AS type, r.resolution AS resolution,
        coalesce(r.trace_confirmed, false) AS isConfirmed
"""
_CONFIRM: Final[LiteralString] = """
    UNWIND $rows AS row
    MATCH (:Entity {id: row.source})-[r:CALLS]->(:Entity {id: row.target})
    SET r.trace_confirmed = true FINISH
"""


async def read_known(run: Run, repo_id: str) -> Known:
    """Return what a graph has of a repository's Python files.

    Raises:
        UnknownRepository: The repository is not indexed.
        RepositoryBusy: An indexing writes it.
    """
    if await check_repository(run, repo_id):
        raise busy(repo_id)
    known = Known([Definition(**each) for each in await run(_DEFINITIONS, repoId=repo_id)])
    for link in await run(_LINKS, repoId=repo_id):
        pair = link["source"], link["target"]
        if link["type"] == "REFERENCES":
            known.references.add(pair)
        else:
            known.calls[pair] = link["resolution"]
            if link["isConfirmed"]:
                known.confirmed.add(pair)
    return known


async def confirm(run: Run, pairs: Iterable[Pair]) -> None:
    """Mark calls as ones that happen."""
    for batch in batches(sorted(pairs)):
        rows = [{"source": source, "target": target} for source, target in batch]
        await run(_CONFIRM, rows=rows)
