"""The command `sidecypher code`."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from sidecypher import SidecypherError
from sidecypher.cli.packages import (
    AsJson,
    Config,
    Home,
    open_client,
    run_cypher,
    show_error,
    show_json,
    show_phases,
    show_table,
)

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


@app.callback()
def _code() -> None:
    """Index source code and find callers."""


@app.command()
def index(
    path: Annotated[
        Path,
        typer.Argument(help="Read the files of this folder.", resolve_path=True),
    ],
    repo: Annotated[
        str | None, typer.Option("--repo", help="Name the repository; default: the folder's name.")
    ] = None,
    is_watched: Annotated[
        bool, typer.Option("--watch", help="Read it again after each save, until Ctrl-C.")
    ] = False,
    home: Home = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Index the source files of a folder.

    Reads the folder here, so `SIDECYPHER_CODE_ROOTS` does not limit it. Writes only what differs
    from the graph, in several transactions. Uses the embedded Neo4j, or the one that
    `SIDECYPHER_NEO4J_URI` names. With `--watch`, an error after the first time is printed, and the
    next save is indexed.

    ```sh
    sidecypher code index shop
    ```
    """

    def index_once() -> None:
        row = asdict(_index(repo or path.name, path, home, config))
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


def _index(repo: str, path: Path, home: Path | None, config: Path | None) -> "Indexed":
    # Other commands need none of it, and `sidecypher --help` imports this module.
    import asyncio  # noqa: PLC0415

    from sidecypher_procedures.code.indexing import index_here  # noqa: PLC0415

    async def index_with_bars() -> "Indexed":
        async with open_client(home=home, config=config) as client:
            with show_phases() as on_progress:
                return await index_here(repo, path, client.run, on_progress)

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
    as_json: AsJson = False,
) -> None:
    """List who calls a function.

    Uses the embedded Neo4j, or the one that `SIDECYPHER_NEO4J_URI` names.

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
        home=home,
        config=config,
    )
    if as_json:
        show_json(rows)
    else:
        columns = ["qualifiedName", "filePath", "line", "resolution", "hops"]
        show_table("Callers", columns, [row.values() for row in rows])
