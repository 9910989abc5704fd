"""Table of the commands, and the import of each when it is called.

`sidecypher --help` shows the table below and imports no module of these commands. Packages
add commands by entry point; a package's command is imported when it is called or listed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from sidecypher.cli.errors import not_understood
from sidecypher.errors import ModuleLoadError

_UsageError: Final[Any] = typer.BadParameter.__base__
"""Usage error of Typer; only its subclass `BadParameter` has a public name."""

_CommandError: Final[Any] = _UsageError.__base__
"""Base of all errors that Typer raises for a command line, such as a file that it cannot open."""

ENTRY_POINT_GROUP: Final = "sidecypher.commands"
"""Entry points for commands of packages: each a Typer app or a function."""

_START: Final = "Get started"
_RUN: Final = "Run"
_USE: Final = "Call and manage data"
_LOOK: Final = "Inspect"
_PACKAGES: Final = "Commands of packages"


class Command(NamedTuple):
    """A command, as the help of `sidecypher` lists it.

    Attributes:
        module: Module of this package whose member of the command's name is the command.
        summary: The first sentence of its own help.
        panel: Heading under which it is listed; None hides it.
    """

    module: str
    summary: str
    panel: str | None


COMMANDS: Final = {
    "demo": Command("demo.command", "Run queries on a sample graph and GitHub data.", _START),
    "init": Command("init", "Write a project with one procedure and its test.", _START),
    "dev": Command("dev", "Run Neo4j and reload procedures on each save.", _START),
    "test": Command("test", "Run the tests of this project with pytest.", _START),
    "up": Command("up", "Start Neo4j and the sidecar in the background.", _RUN),
    "status": Command("status", "Show what is running and where.", _RUN),
    "reload": Command("reload", "Load changed procedures in every running sidecar.", _RUN),
    "restart": Command("up", "Stop and start Neo4j and the sidecar.", _RUN),
    "down": Command("down", "Stop Neo4j and the sidecar.", _RUN),
    "serve": Command("serve", "Run the sidecar alone in the foreground.", _RUN),
    "plugin": Command("plugin", "Build the jar that Neo4j loads.", _RUN),
    "supervise": Command("supervise", "Keep Neo4j and the sidecar running.", None),
    "procedures": Command("procedures", "List procedures and functions with a sample call.", _USE),
    "call": Command("call", "Call a procedure in Neo4j and print its rows.", _USE),
    "cypher": Command("cypher", "Run a Cypher statement and print its rows.", _USE),
    "migrate": Command("migrate", "Apply constraints, indexes and triggers from files.", _USE),
    "doctor": Command("doctor.report", "Check the installation and suggest fixes.", _LOOK),
    "logs": Command("logs", "Show the log lines of all processes.", _LOOK),
    "config": Command("config", "Show every setting with its value and origin.", _LOOK),
    "version": Command("version", "Show the versions of sidecypher and its parts.", _LOOK),
}


class Commands(TyperGroup):
    """The commands of the table; each module is imported when its command is called."""

    def __init__(self, **attributes: Any) -> None:
        listed = {
            name: TyperCommand(
                name,
                help=command.summary,
                hidden=command.panel is None,
                rich_help_panel=command.panel,
            )
            for name, command in COMMANDS.items()
        }
        super().__init__(**{**attributes, "commands": listed})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, with those of packages last."""
        return [*super().list_commands(ctx), *_package_commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command with a name, from the table or a package, or None."""
        listed = super().get_command(ctx, cmd_name)
        if listed is not None:
            return listed
        point = _package_commands().get(cmd_name)
        return None if point is None else _load_package_command(point)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return name and command at the start of the arguments, and the other arguments."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, load_command(str(name)) if name in COMMANDS else found, rest

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the arguments before the command.

        Raises:
            NotUnderstood: They are not valid.
        """
        with _errors_converted():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Parse the other arguments, and run the command.

        Raises:
            NotUnderstood: They are not valid.
        """
        with _errors_converted():
            return super().invoke(ctx)


@contextmanager
def _errors_converted() -> Iterator[None]:
    """Raise errors of sidecypher or Python instead of Typer's, which would be printed in a box."""
    try:
        yield
    except _UsageError as error:
        # The message is empty if help was shown.
        if not error.format_message():
            raise
        raise not_understood(error) from None
    except _CommandError as error:
        # The file of an option cannot be opened.
        raise error.__cause__ or error from None


def load_command(name: str) -> Any:
    """Import the module of a command, and return the command with its options and verbs."""
    return _as_command(
        name, getattr(import_module(f"sidecypher.cli.{COMMANDS[name].module}"), name)
    )


def all_commands() -> dict[str, Any]:
    """Import and return every listed command, with those of packages last."""
    own = {name: load_command(name) for name, each in COMMANDS.items() if each.panel is not None}
    return own | {name: _load_package_command(each) for name, each in _package_commands().items()}


def _as_command(name: str, found: Any) -> Any:
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False, rich_markup_mode="markdown")
        found.command(name)(function)
    loaded = typer.main.get_command(found)
    loaded.name = name
    return loaded


def _package_commands() -> dict[str, EntryPoint]:
    """Return the commands of packages by name, except those with names of sidecypher."""
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name)
    return {point.name: point for point in points if point.name not in COMMANDS}


def _load_package_command(point: EntryPoint) -> Any:
    try:
        loaded = _as_command(point.name, point.load())
    # The import of a package may do anything; the help must still list the other commands.
    except Exception as error:  # noqa: BLE001
        problem = f"The command `{point.name}` cannot be loaded: {type(error).__name__}"

        def refuse() -> None:
            raise ModuleLoadError(
                problem, hint=f"Correct or uninstall the package of `{point.value}`."
            )

        refuse.__doc__ = f"{problem}."
        loaded = _as_command(point.name, refuse)
    loaded.rich_help_panel = _PACKAGES
    return loaded
