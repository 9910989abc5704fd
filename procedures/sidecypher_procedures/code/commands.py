"""The command `sidecypher code`."""

from pathlib import Path
from typing import Annotated

import typer

from sidecypher.cli.packages import AsJson, Config, Home, run_cypher, show_json, show_table

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
    home: Home = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Index the source files of a folder.

    Reads the folder here, so `SIDECYPHER_CODE_ROOTS` does not limit it. Writes only what differs
    from the graph, in several transactions. Uses the embedded Neo4j, or the one that
    `SIDECYPHER_NEO4J_URI` names.

    ```sh
    sidecypher code index shop
    ```
    """
    # Other commands need none of it, and `sidecypher --help` imports this module.
    from sidecypher_procedures.code.indexing import index_here  # noqa: PLC0415

    row = index_here(
        repo or path.name,
        path,
        lambda statement, parameters: run_cypher(statement, parameters, home=home, config=config),
    )
    if as_json:
        show_json(row)
    else:
        show_table("Index", ["what", "value"], row.items())


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
