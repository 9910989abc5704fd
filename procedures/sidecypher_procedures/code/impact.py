"""What a change of the code can reach, and how one function reaches another."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, LiteralString

from sidecypher_procedures.code.errors import BadDiff, BadQuery
from sidecypher_procedures.code.model import VERBS
from sidecypher_procedures.code.options import Change, ImpactOptions, PathOptions
from sidecypher_procedures.code.queries import check_repository, named
from sidecypher_procedures.code.rows import Affected, PathStep
from sidecypher_procedures.code.store import Run
from sidecypher_procedures.code.words import lines_of

_SHORTEST: Final[LiteralString] = """
    MATCH (a:Entity) WHERE a.id IN $sources
    MATCH (b:Entity) WHERE b.id IN $targets AND b <> a
    MATCH p = shortestPath((a)-[:CALLS*..20]->(b))
    WHERE all(r IN relationships(p) WHERE r.resolution IN $tiers)
    WITH p ORDER BY length(p), a.id, b.id LIMIT 1
    WITH p WHERE length(p) <= $hops
    UNWIND range(0, length(p)) AS step
    WITH step, nodes(p)[step] AS e, relationships(p)[step] AS r
    RETURN step, e.id AS entity_id, e.name AS name, e.qualified_name AS qualified_name,
        coalesce(r.file_path, e.file_path) AS file_path, coalesce(r.line, e.start_line) AS line,
        r.resolution AS resolution
    ORDER BY step
"""
_COLUMNS: Final[LiteralString] = """
    e.id AS entity_id, e.name AS name, e.qualified_name AS qualified_name, e.type AS type,
        e.file_path AS file_path, e.start_line AS start_line
"""
_BY_ID: Final[LiteralString] = f"""
    UNWIND $ids AS id
    MATCH (n:Entity {{id: id}})
    // A class is what is in it, too.
    MATCH (n)-[:CONTAINS*0..3]->(e:Entity) WHERE e.type <> 'import' AND n.type <> 'module' OR e = n
    RETURN DISTINCT {_COLUMNS}
"""
_BY_FILE: Final[LiteralString] = f"""
    UNWIND $files AS file
    MATCH (e:Entity {{repo_id: $repoId, file_path: file}}) WHERE e.type <> 'import'
    RETURN {_COLUMNS}
"""
_BY_LINE: Final[LiteralString] = f"""
    UNWIND $places AS place
    UNWIND place.lines AS line
    MATCH (e:Entity {{repo_id: $repoId, file_path: place.file}})
    WHERE e.start_line <= line AND line <= e.end_line AND e.type <> 'import'
    WITH place, line, e ORDER BY e.end_line - e.start_line, e.id
    WITH place, line, collect(e)[0] AS e
    RETURN DISTINCT {_COLUMNS}
"""
_LEVEL: Final[LiteralString] = f"""
    UNWIND $frontier AS id
    MATCH (t:Entity {{id: id}})<-[r:CALLS|INHERITS|REFERENCES|IMPORTS|CONTAINS]-(e:Entity)
    WHERE type(r) IN $types AND r.resolution IN $tiers AND NOT e.id IN $seen AND e.type <> 'import'
    WITH e, t, r ORDER BY r.confidence DESC, t.qualified_name, r.line
    WITH e, collect({{type: type(r), of: t.qualified_name, line: r.line, file: r.file_path}})[0]
        AS way
    RETURN {_COLUMNS}, way
    ORDER BY file_path, start_line, entity_id LIMIT $most
"""
_TEST_FOLDERS: Final = frozenset({"test", "tests", "__tests__", "spec", "testing"})
_TEST_FILE: Final = re.compile(r"test_|.*([_.-](test|spec)|Tests?)\.\w+$|conftest\.py$")


async def path(
    run: Run, repo_id: str, source: str, target: str, options: PathOptions
) -> list[PathStep]:
    """Return one of the shortest ways of calls from one function to another; none if there is none.

    Raises:
        UnknownRepository: The repository is not indexed.
        UnknownEntity: Nothing has one of the names.
    """
    await check_repository(run, repo_id)
    records = await run(
        _SHORTEST,
        sources=await named(run, repo_id, source),
        targets=await named(run, repo_id, target),
        tiers=options.tiers,
        hops=options.hops,
    )
    return [PathStep(**record) for record in records]


async def impact(run: Run, repo_id: str, change: Change, options: ImpactOptions) -> list[Affected]:
    """Return what a change can reach: tests first, then by distance.

    Raises:
        UnknownRepository: The repository is not indexed.
        UnknownEntity: Nothing has one of the names.
        BadDiff: The diff is none.
        BadQuery: The change names nothing.
    """
    await check_repository(run, repo_id)
    if not (change.entities or change.files or change.diff):
        raise BadQuery("The change has no `entities`, `files` or `diff`")
    changed = {record["entity_id"]: record for record in await _changed(run, repo_id, change)}
    found = [_affected(record, 0, "it has changed") for record in changed.values()]
    seen = frontier = [*changed]
    for depth in range(1, options.hops + 1):
        left = options.limit + len(changed) - len(found)
        if not frontier or left <= 0:
            break
        records = await run(
            _LEVEL,
            frontier=frontier,
            seen=seen,
            types=[each.upper() for each in options.rel_types],
            tiers=options.tiers,
            most=left,
        )
        new = [_affected(record, depth, _why(record["way"])) for record in records]
        found += new
        frontier = [each.entity_id for each in new]
        seen = seen + frontier
    found.sort(key=lambda each: (not each.is_test, each.depth, each.file_path, each.start_line))
    return found


async def _changed(run: Run, repo_id: str, change: Change) -> list[Mapping[str, Any]]:
    ids = [each for name in change.entities for each in await named(run, repo_id, name)]
    places = [{"file": file, "lines": lines} for file, lines in changed_lines(change.diff).items()]
    return [
        *await run(_BY_ID, ids=ids),
        *await run(_BY_FILE, repoId=repo_id, files=change.files),
        *await run(_BY_LINE, repoId=repo_id, places=places),
    ]


def _affected(record: Mapping[str, Any], depth: int, why: str) -> Affected:
    columns = {name: value for name, value in record.items() if name != "way"}
    is_test = is_test_file(record["file_path"])
    return Affected(depth=depth, is_test=is_test, why=why, **columns)


def _why(way: Mapping[str, Any]) -> str:
    return f"{VERBS[way['type']]} {way['of']} ({way['file']}:{way['line']})"


def is_test_file(path: str) -> bool:
    """Return whether a file has tests, by the names that test runners look for.

    Example:
        >>> is_test_file("shop/test_cart.py"), is_test_file("cart.spec.ts"), is_test_file("cart.go")
        (True, True, False)
    """
    parts = PurePosixPath(path).parts
    return not _TEST_FOLDERS.isdisjoint(parts[:-1]) or bool(_TEST_FILE.match(parts[-1]))


_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def changed_lines(diff: str) -> dict[str, list[int]]:
    r"""Return which lines of the old files a unified diff changes, or adds lines behind.

    Raises:
        BadDiff: The text is not a unified diff.

    Example:
        >>> changed_lines("--- a/x.py\n+++ b/x.py\n@@ -4,2 +4,2 @@\n same\n-old\n+new\n")
        {'x.py': [5]}
    """
    changed: dict[str, list[int]] = {}
    lines = iter(lines_of(diff))
    file, is_diff = "", not diff.strip()
    for text in lines:
        is_diff = is_diff or text.startswith("diff --git ")
        if text.startswith("--- "):
            file = _path(text[4:].partition("\t")[0]).removeprefix("a/")
        hunk = _HUNK.match(text)
        if hunk is not None:
            is_diff = True
            found = _lines_of_hunk(lines, int(hunk[1]), int(hunk[2] or 1), int(hunk[3] or 1))
            changed[file] = [*dict.fromkeys([*changed.get(file, ()), *found])]
    if not is_diff:
        raise BadDiff("The text has no part that begins with `@@`")
    changed.pop("/dev/null", None)
    return changed


def _path(text: str) -> str:
    """Return a path that git has put in quotes, with escapes for what is not ASCII, as it is."""
    if not text.startswith('"'):
        return text
    escaped = text[1:].removesuffix('"').encode()
    as_bytes = escaped.decode("unicode_escape", "replace").encode("latin-1", "replace")
    return as_bytes.decode("utf-8", "replace")


def _lines_of_hunk(lines: Iterator[str], line: int, old: int, new: int) -> Iterable[int]:
    """Yield the lines that are removed, and those behind which others are added."""
    while (old > 0 or new > 0) and (text := next(lines, None)) is not None:
        mark = text[:1]
        if mark == "\\":  # that a file ends without a line feed
            continue
        if mark == "-":
            yield line
        elif mark == "+":
            yield max(line - 1, 1)
        line += mark != "+"
        old -= mark != "+"
        new -= mark != "-"
