"""The command `python -m sidecypher_procedures.code.trace`."""

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from sidecypher import SidecypherError
from sidecypher.cli.packages import Config, Database, Home, open_client, show_error, show_table
from sidecypher_procedures.code.errors import NotTraced
from sidecypher_procedures.code.trace.comparison import Comparison, Known, Pair
from sidecypher_procedures.code.trace.confirmation import confirm, read_known
from sidecypher_procedures.code.trace.programs import found, record
from sidecypher_procedures.names import shown_id

_NAMES: Final = {
    "call": "calls",
    "implicit": "operators, `with`, `for`, properties",
    "library": "through other code",
}

app = typer.Typer(
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


# What follows the program is its own, options included.
@app.command(context_settings={"allow_interspersed_args": False})
def trace(
    program: Annotated[
        list[str],
        typer.Argument(
            help="Run this script, installed program, or `-m` and a module.", metavar="PROGRAM"
        ),
    ],
    root: Annotated[
        Path,
        typer.Option("--root", help="Use the files of this folder.", resolve_path=True),
    ] = Path(),
    repo: Annotated[
        str | None,
        typer.Option("--repo", help="Use this repository; default: the root's name."),
    ] = None,
    missing: Annotated[
        int, typer.Option("--missing", help="List this many calls that are missing.", min=0)
    ] = 20,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Run a Python program, mark the calls that happen, and print recall.

    Ends with the exit status of the program.

    ```sh
    python -m sidecypher_procedures.code.trace -- pytest
    ```
    """
    repo_id = repo or root.name
    command = found(program)
    known = asyncio.run(_read(repo_id, home, config, database))
    if not any(Path(root, file).is_file() for file in known.files):
        raise NotTraced(
            f"The folder has no Python file of the repository `{shown_id(repo_id)}`",
            hint="Name the folder that was indexed with `--root`.",
        )
    status, recording = record(command, root, known.files)
    if not recording.ran:
        raise NotTraced(
            f"The program ran no file of the repository `{shown_id(repo_id)}`",
            hint="If it imports an installed copy, install the folder: `pip install -e .`.",
        )
    comparison = Comparison.of(known, recording)
    asyncio.run(_confirm(comparison.confirmed - known.confirmed, home, config, database))
    _show(comparison, missing)
    if recording.is_cut:
        sys.stdout.write("Calls are missing: the program has called sys.setprofile.\n")
    raise typer.Exit(status)


async def _read(
    repo_id: str, home: Path | None, config: Path | None, database: str | None
) -> Known:
    async with open_client(database=database, home=home, config=config) as client:
        return await read_known(client.run, repo_id)


async def _confirm(
    pairs: set[Pair], home: Path | None, config: Path | None, database: str | None
) -> None:
    async with open_client(database=database, home=home, config=config) as client:
        await confirm(client.run, pairs)


def _show(comparison: Comparison, most: int) -> None:
    show_table(
        "Recorded calls",
        ["how", "recorded", "in the graph", "recall"],
        [
            (_NAMES[kind], share.whole, share.part, share)
            for kind, share in comparison.recall.items()
        ],
    )
    show_table(
        "Calls of the graph",
        ["resolution", "caller ran", "confirmed", "share"],
        [(tier, share.whole, share.part, share) for tier, share in comparison.tiers.items()],
    )
    if comparison.unknown:
        sys.stdout.write(f"{comparison.unknown} functions that ran are not in the graph.\n")
    if comparison.missing:
        sys.stdout.write(f"{len(comparison.missing)} calls are missing in the graph:\n")
    for each in comparison.missing[:most]:
        sys.stdout.write(f"{each.path}:{each.line}: {each.caller} calls {each.callee}\n")


def main() -> None:
    """Run the command; show errors as `sidecypher` does."""
    try:
        app(prog_name="python -m sidecypher_procedures.code.trace")
    except SidecypherError as error:
        show_error(error)
        sys.exit(1)
