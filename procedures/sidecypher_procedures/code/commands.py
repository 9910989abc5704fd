"""The command `sidecypher code`."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from msgspec import structs

from sidecypher import SidecypherError
from sidecypher.cli.packages import (
    AsJson,
    Config,
    Database,
    Home,
    open_client,
    run_cypher,
    show_error,
    show_json,
    show_phases,
    show_table,
)
from sidecypher_procedures.command_options import Svg

if TYPE_CHECKING:
    from sidecypher_procedures.code.rows import Indexed

_WATCH_MILLISECONDS: Final = 200
"""How often the watcher reports."""

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")

Repository = Annotated[str, typer.Argument(help="Use the repository with this id.", metavar="REPO")]
Name = Annotated[str, typer.Argument(help="List who calls the function with this name.")]
Hops = Annotated[
    int, typer.Option("--hops", help="List callers up to this many calls away.", min=1, max=5)
]

Limit = Annotated[int, typer.Option("--limit", help="List at most this many.", min=1, max=50)]


@app.callback()
def _code() -> None:
    """Index source code, search it, and find callers."""


@app.command()
def index(
    path: Annotated[
        Path,
        typer.Argument(help="Read the files of this folder.", resolve_path=True),
    ],
    repo: Annotated[
        str | None, typer.Option("--repo", help="Name the repository; default: the folder's name.")
    ] = None,
    scip: Annotated[
        list[str] | None,
        typer.Option("--scip", help="Use this SCIP index, a path from PATH.", metavar="FILE"),
    ] = None,
    is_watched: Annotated[
        bool, typer.Option("--watch", help="Read it again after each save, until Ctrl-C.")
    ] = False,
    home: Home = None,
    config: Config = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Index the source files of a folder.

    Reads the folder here, so `SIDECYPHER_CODE_ROOTS` does not limit it. Writes only what differs
    from the graph, in several transactions. Uses the embedded Neo4j, or the one that
    `SIDECYPHER_NEO4J_URI` or `NEO4J_URI` names. With `--watch`, an error after the first time is
    printed, and the next save is indexed.

    ```sh
    sidecypher code index shop
    ```
    """

    def index_once() -> None:
        row = structs.asdict(_index(repo or path.name, path, scip or [], home, config, database))
        if as_json:
            show_json(row)
        else:
            show_table("Index", ["what", "value"], row.items())

    if not is_watched:
        index_once()
        return
    # Ctrl-C is the normal end.
    with suppress(KeyboardInterrupt):
        _watch(path, index_once)


def _index(
    repo: str,
    path: Path,
    scip: list[str],
    home: Path | None,
    config: Path | None,
    database: str | None,
) -> "Indexed":
    # Other commands need none of it, and `sidecypher --help` imports this module.
    import asyncio  # noqa: PLC0415

    from sidecypher_procedures.code.indexing import index_here  # noqa: PLC0415
    from sidecypher_procedures.code.options import IndexOptions  # noqa: PLC0415

    async def index_with_bars() -> "Indexed":
        async with open_client(database=database, home=home, config=config) as client:
            with show_phases() as on_progress:
                return await index_here(
                    repo, path, client.run, on_progress, IndexOptions(scip=scip)
                )

    return asyncio.run(index_with_bars())


def _watch(path: Path, index_once: Callable[[], None]) -> None:
    from watchfiles import watch  # noqa: PLC0415

    is_first = True
    # Its first answer means that it has started: nothing saved meanwhile is missed.
    for changes in watch(path, rust_timeout=_WATCH_MILLISECONDS, yield_on_timeout=True):
        try:
            if is_first or changes:
                index_once()
        except SidecypherError as error:
            if is_first:
                raise
            show_error(error)
        is_first = False


@app.command()
def callers(
    repo: Repository,
    name: Name,
    hops: Hops = 1,
    home: Home = None,
    config: Config = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List who calls a function.

    ```sh
    sidecypher code callers shop price_of --hops 2
    ```
    """
    rows = run_cypher(
        """
        CALL code.callers($repo, $name, {hops: $hops})
        YIELD qualifiedName, filePath, line, resolution, hops
        RETURN qualifiedName, filePath, line, resolution, hops
        """,
        {"repo": repo, "name": name, "hops": hops},
        database=database,
        home=home,
        config=config,
    )
    columns = ["qualifiedName", "filePath", "line", "resolution", "hops"]
    _show("Callers", columns, rows, as_json=as_json)


@app.command()
def search(
    repo: Repository,
    query: Annotated[str, typer.Argument(help="Show parts of files with names or words of this.")],
    legs: Annotated[
        list[str] | None,
        typer.Option("--leg", help="Use graph, sparse or dense; repeatable; default: sparse."),
    ] = None,
    limit: Limit = 10,
    home: Home = None,
    config: Config = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Search for parts of files by names, relationships or words.

    ```sh
    sidecypher code search shop "price of a product" --leg graph --leg sparse
    ```
    """
    rows = run_cypher(
        """
        CALL code.search($repo, $query, {legs: $legs, limit: $limit})
        YIELD filePath, startLine, endLine, name, score, why
        RETURN filePath, startLine, endLine, name, round(score, 4) AS score, why
        """,
        {"repo": repo, "query": query, "legs": legs or ["sparse"], "limit": limit},
        database=database,
        home=home,
        config=config,
    )
    columns = ["filePath", "startLine", "endLine", "name", "score", "why"]
    # In the table, each step of a reason has its line.
    shown = rows if as_json else [row | {"why": "\n".join(row["why"])} for row in rows]
    _show("Found", columns, shown, as_json=as_json)


@app.command()
def stats(
    repo: Repository,
    home: Home = None,
    config: Config = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """Count what a repository has, and its unresolved calls.

    ```sh
    sidecypher code stats shop
    ```
    """
    rows = run_cypher(
        "CALL code.stats($repo) YIELD kind, key, count RETURN kind, key, count",
        {"repo": repo},
        database=database,
        home=home,
        config=config,
    )
    _show("Statistics", ["kind", "key", "count"], rows, as_json=as_json)


@app.command("map")
def map_(
    repo: Repository,
    svg: Svg = None,
    limit: Limit = 24,
    home: Home = None,
    config: Config = None,
    database: Database = None,
    as_json: AsJson = False,
) -> None:
    """List the largest communities of a repository, or draw them.

    In the picture, a circle is a community with the members that are used most. The line between
    two is as thick as they have relationships. The SVG file has the same words as its description.

    ```sh
    sidecypher code map shop
    sidecypher code map shop --svg shop.svg
    ```
    """
    parameters = {"repo": repo, "limit": limit}
    if svg is not None:
        [picture] = run_cypher(
            "CALL code.map($repo, {limit: $limit})",
            parameters,
            database=database,
            home=home,
            config=config,
        )
        svg.write(picture["svg"])
    rows = run_cypher(
        """
        CALL code.communities($repo, {limit: $limit}) YIELD label, size, members
        RETURN label, size, members
        """,
        parameters,
        database=database,
        home=home,
        config=config,
    )
    shown = rows if as_json else [row | {"members": ", ".join(row["members"])} for row in rows]
    _show("Communities", ["label", "size", "members"], shown, as_json=as_json)


def _show(title: str, columns: list[str], rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        show_json(rows)
    else:
        show_table(title, columns, [row.values() for row in rows])
