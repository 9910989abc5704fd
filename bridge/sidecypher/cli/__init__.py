"""The command `sidecypher`.

Exit codes: 0 done, 1 it failed, 2 it was called in a way it does not understand.
"""

import signal
import sys

import typer

from sidecypher.cli.call import call
from sidecypher.cli.demo import demo
from sidecypher.cli.dev import dev, reload
from sidecypher.cli.lifecycle import down, serve, status, supervise, up
from sidecypher.cli.migrate import migrate
from sidecypher.cli.output import show_error
from sidecypher.cli.plugin import plugin
from sidecypher.cli.runs import runs
from sidecypher.errors import SettingsError, SidecypherError

app = typer.Typer(
    name="sidecypher",
    help="Write Neo4j procedures in Python.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (up, down, status, reload, dev, serve, call, demo):
    app.command()(command)
app.command(hidden=True)(supervise)
app.add_typer(plugin, name="plugin")
app.add_typer(migrate, name="migrate")
app.add_typer(runs, name="runs")


def main() -> None:
    """Run the command line; show errors as *error / cause / hint*."""
    # As an exception, so that what a command has started is ended; `serve` has handlers of its own.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _frame: sys.exit(128 + number))
    try:
        app()
    except SidecypherError as error:
        show_error(error)
        sys.exit(2 if isinstance(error, SettingsError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
