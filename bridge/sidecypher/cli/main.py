"""The command line: its options, its errors, and its exit codes."""

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from sidecypher.cli.commands import Commands
from sidecypher.cli.errors import NotUnderstood, storage_failure
from sidecypher.errors import SettingsError, SidecypherError

app = typer.Typer(
    name="sidecypher",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    # The commands inherit it.
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        # Slow to import, and `--help` does not need it.
        from importlib.metadata import version  # noqa: PLC0415

        sys.stdout.write(f"sidecypher {version('sidecypher')}\n")
        raise typer.Exit


@app.callback()
def _sidecypher(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Write Neo4j procedures in Python.

    ```sh
    sidecypher init people && cd people && sidecypher dev
    ```
    """


def main() -> None:
    """Run the command line; show errors as *error / cause / hint*."""
    _open_closed_streams()
    # Raise an exception, so that commands stop what they started; `serve` has its own handlers.
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Keep a signal ignored if `nohup` set that.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    try:
        app(prog_name="sidecypher")
    except SidecypherError as error:
        _fail(error)
    except OSError as error:
        failure = storage_failure(error)
        if failure is None:
            raise
        _fail(failure)
    except KeyboardInterrupt:
        sys.exit(130)


def _open_closed_streams() -> None:
    """Open the standard streams that the caller has closed, which Python leaves as None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The first free descriptor is that of the stream. It stays open until the end.
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - see above
            setattr(sys, name, stream)


def _fail(error: SidecypherError) -> NoReturn:
    # The import of `rich` is slow, and commands that succeed do not need it here.
    from sidecypher.cli.output import show_error  # noqa: PLC0415

    show_error(error)
    sys.exit(2 if isinstance(error, SettingsError | NotUnderstood) else 1)
