"""`python -m benchmarks.code`: the time of indexing Django, and what searches find and take."""

import argparse
import asyncio
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.figures import Bar, Figure, ratio, summarise
from benchmarks.installation import Installation, installed
from benchmarks.measures import Samples
from benchmarks.releases import Release, Sdist, releases
from benchmarks.report import table
from sidecypher.cli.packages import open_client
from sidecypher.host.settings import load_settings
from sidecypher_procedures.code.community_store import read_map
from sidecypher_procedures.code.delta import Stored
from sidecypher_procedures.code.drawing import draw_map
from sidecypher_procedures.code.indexing import differences, index_here
from sidecypher_procedures.code.model import LANGUAGES, Request
from sidecypher_procedures.code.options import IndexOptions, MapOptions

_NAMES: Final = """
    MATCH (e:Entity {repo_id: $repo, type: 'function'}) WHERE NOT e.external
    WITH e ORDER BY e.id LIMIT $limit
    RETURN e.qualified_name AS name
"""
_CALLERS: Final = "CALL code.callers($repo, $name)"
_SEARCH: Final = "CALL code.search($repo, $name, {legs: ['graph', 'sparse'], hops: 2, limit: 30})"
_CHUNKS: Final = """
    MATCH (c:Chunk {repo_id: $repo})
    RETURN c.file_path AS filePath, c.start_line AS startLine, c.end_line AS endLine,
        toLower(c.text) AS text
"""
_FOUND: Final = "CALL code.search($repo, $message, {legs: $legs, limit: 10})"
_PICKED: Final = {
    "django.core.management.get_commands": {
        ("django/core/checks/commands.py", 8),
        ("django/core/management/__init__.py", 110),
        ("django/core/management/__init__.py", 212),
        ("django/core/management/__init__.py", 253),
        ("django/core/management/__init__.py", 311),
    },
    "django.db.migrations.graph.MigrationGraph.add_node": {
        ("django/db/migrations/loader.py", 241),
    },
    "django.db.models.sql.query.Query.names_to_path": {
        ("django/db/models/sql/query.py", 1330),
        ("django/db/models/sql/query.py", 1764),
        ("django/db/models/sql/query.py", 1897),
        ("django/db/models/sql/query.py", 2288),
        ("django/db/models/sql/query.py", 2531),
    },
    "django.http.request.split_domain_port": {
        ("django/contrib/sites/models.py", 43),
        ("django/http/request.py", 175),
        ("django/test/testcases.py", 502),
    },
    "django.utils.crypto.get_random_string": {
        ("django/contrib/auth/hashers.py", 55),
        ("django/contrib/auth/hashers.py", 104),
        ("django/contrib/auth/hashers.py", 244),
        ("django/contrib/sessions/backends/base.py", 195),
        ("django/contrib/sessions/backends/base.py", 201),
        ("django/core/files/storage/base.py", 73),
        ("django/core/management/utils.py", 86),
        ("django/db/backends/oracle/creation.py", 410),
        ("django/middleware/csrf.py", 56),
    },
}
"""Functions of Django 5.2.1 with the first call in each caller, found by reading the source."""

_EDGES: Final = "CALL code.edges('django')"
_EDITED: Final = ("    value = str(value)\n", "    value = capfirst(str(value))\n")
_FIRST: Final = 10
"""How many results of a search count."""


@dataclass(frozen=True)
class Scale:
    """Size of the measurement.

    Attributes:
        names: Functions whose callers are listed, and that are searched for.
        histories: Projects whose lists of changes are searched for.
        large: Projects that are one repository together.
    """

    names: int = 200
    histories: tuple[str, ...] = ("click", "flask", "jinja2", "werkzeug")
    large: tuple[str, ...] = ("django", "sympy")


QUICK = Scale(names=5, histories=("click",), large=("click",))

FIGURES = (
    Figure("resolved", "Django, relationships resolved", "s", bar=Bar(12)),
    Figure("stored", "Django, stored", "s", bar=Bar(60)),
    Figure("memory", "the largest process of it", "MB", bar=Bar(1000)),
    Figure("unchanged", "the same again", "s", bar=Bar(6)),
    Figure("rewritten", "what that writes", "rows", bar=Bar(0)),
    Figure("edited", "after an edit of one function", "s", bar=Bar(8)),
    Figure("edited_rows", "what the edit writes", "rows", bar=Bar(99)),
    Figure("unequal", "second builds that differ", "builds", bar=Bar(0)),
    Figure(
        "picked", "functions whose callers are as read by hand", "of 5", bar=Bar(5, at_least=True)
    ),
    Figure("callers", "`code.callers`, one hop", "ms", bar=Bar(5)),
    Figure("search", "`code.search`, 2 hops, p95", "ms", bar=Bar(100)),
    Figure("entities", "entities of Django and SymPy", ""),
    Figure("relationships", "their relationships", ""),
    Figure("large", "`code.search` in them, p95", "ms", bar=Bar(100)),
    Figure("words", "changes found by words", "%"),
    Figure("both", "changes found by graph and words", "%"),
    Figure("grep", "changes found by counting words", "%"),
    Figure(
        "both_to_words",
        "graph and words / words",
        "x",
        ratio("both", "words"),
        Bar(1, at_least=True),
    ),
)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.code", description=main.__doc__)
    parser.add_argument("--quick", action="store_true", help="less of each, to see that it works")
    parser.add_argument("--map", type=Path, help="draw Django's communities to this SVG file")
    arguments = parser.parse_args()
    scale = QUICK if arguments.quick else Scale()
    sources = load_settings({}).cache_dir / "sdists"
    sources.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="sidecypher-bench-") as folder, installed() as installation:
        installation.command("migrate")
        tree = Path(folder, "tree")
        [django] = Sdist.all_of("django")
        shutil.copytree(django.package(sources), tree / "django")
        samples = _indexing(installation, tree) | _reading(installation, scale)
        samples |= _searching_much(installation, Path(folder, "large"), sources, scale)
        history = [each for name in scale.histories for each in releases(name, sources)]
        samples |= _localisation(installation, history)
        if arguments.map:
            arguments.map.write_text(asyncio.run(_drawn(installation, tree)))
    print(table(summarise([samples], FIGURES)))


def _indexing(installation: Installation, tree: Path) -> Samples:
    begun = time.perf_counter()
    request = Request(repo_id="django", root=str(tree), languages=LANGUAGES)
    asyncio.run(differences(request, _nothing, lambda *_: None))
    resolved = time.perf_counter() - begun
    first, memory = _index(installation, tree, "django")
    dump = _dump(installation)
    again, _ = _index(installation, tree, "django")
    text = tree / "django/utils/text.py"
    before = text.read_text()
    text.write_text(before.replace(*_EDITED))
    edited, _ = _index(installation, tree, "django")
    text.write_text(before)
    installation.rows("CALL code.drop('django')")
    _index(installation, tree, "django", PYTHONHASHSEED="7")
    return {
        "resolved": resolved,
        "stored": first["seconds"],
        "memory": memory,
        "unchanged": again["seconds"],
        "rewritten": again["written"] + again["removed"],
        "edited": edited["seconds"],
        "edited_rows": edited["written"] + edited["removed"],
        "unequal": float(_dump(installation) != dump),
        "picked": float(sum(_has_callers(installation, *each) for each in _PICKED.items())),
    }


def _has_callers(installation: Installation, name: str, places: set[tuple[str, int]]) -> bool:
    rows = installation.rows(_CALLERS, repo="django", name=name)
    return sorted((row["filePath"], row["line"]) for row in rows) == sorted(places)


async def _nothing() -> Stored:
    return Stored()


def _index(
    installation: Installation, folder: Path, repo: str, **environ: str
) -> tuple[Mapping[str, Any], float]:
    """Index by the command; return its row, and the bytes of the largest process of it."""
    command = [sys.executable, "-m", "sidecypher", "code", "index", str(folder), "--repo", repo]
    with subprocess.Popen(
        [*command, "--json"], env=installation.environ | environ, stdout=subprocess.PIPE
    ) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    return json.loads(output), usage.ru_maxrss * 1024.0


def _dump(installation: Installation) -> str:
    return hashlib.sha256(json.dumps(installation.rows(_EDGES)).encode()).hexdigest()


async def _drawn(installation: Installation, tree: Path) -> str:
    """Return a map of the communities of the Python files: JavaScript has minified names."""
    async with open_client(home=installation.home) as client:
        options = IndexOptions(languages=["python"])
        await index_here("django", tree, client.run, lambda *_: None, options)
        return draw_map(await read_map(client.run, "django", MapOptions().limit))


def _reading(installation: Installation, scale: Scale) -> Samples:
    callers = _seconds(installation, _CALLERS, "django", scale)
    searches = _seconds(installation, _SEARCH, "django", scale)
    return {"callers": median(callers), "search": quantiles(searches, n=20)[-1]}


def _searching_much(installation: Installation, tree: Path, sources: Path, scale: Scale) -> Samples:
    for name in scale.large:
        [*_, latest] = Sdist.all_of(name)
        shutil.copytree(latest.package(sources), tree / name)
    made, _ = _index(installation, tree, "large")
    searches = _seconds(installation, _SEARCH, "large", scale)
    return {
        "entities": float(made["entities"]),
        "relationships": float(made["relationships"]),
        "large": quantiles(searches, n=20)[-1],
    }


def _seconds(installation: Installation, statement: str, repo: str, scale: Scale) -> list[float]:
    """Return the times of calls for functions of a repository; the statement has been planned."""
    found = installation.rows(_NAMES, repo=repo, limit=scale.names)
    return [
        taken
        for row in found
        for taken in installation.seconds(statement, 1, repo=repo, name=row["name"])
    ]


def _localisation(installation: Installation, history: list[Release]) -> Samples:
    """Return for which share of messages the first results have a function that was changed."""
    found: dict[str, list[bool]] = {"words": [], "both": [], "grep": []}
    for release in history:
        _index(installation, release.before, release.name)
        chunks = installation.rows(_CHUNKS, repo=release.name)

        def search(message: str, legs: list[str], repo: str = release.name) -> Iterable[Any]:
            return installation.rows(_FOUND, repo=repo, message=message, legs=legs)

        for message in release.messages:
            found["words"].append(_has(release, search(message, ["sparse"])))
            found["both"].append(_has(release, search(message, ["graph", "sparse"])))
            found["grep"].append(_has(release, _counted(chunks, message)))
    return {name: sum(each) / len(each) for name, each in found.items()}


def _counted(chunks: list[dict[str, Any]], message: str) -> Iterable[Mapping[str, Any]]:
    """Return the chunks with most words of a message, the shorter ones first."""
    words = {word.lower() for word in re.findall(r"\w{3,}", message)}

    def order(chunk: dict[str, Any]) -> Any:
        shared = sum(word in chunk["text"] for word in words)
        return -shared, len(chunk["text"]), chunk["filePath"], chunk["startLine"]

    return sorted(chunks, key=order)[:_FIRST]


def _has(release: Release, rows: Iterable[Mapping[str, Any]]) -> bool:
    return any(
        row["filePath"] == path and row["startLine"] <= end and begin <= row["endLine"]
        for row in rows
        for path, begin, end in release.changed
    )


if __name__ == "__main__":
    main()
