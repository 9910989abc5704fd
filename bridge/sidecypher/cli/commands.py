"""What commands there are, and how each is found when it is called.

`sidecypher --help` shows the table below and imports nothing of what the commands do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from sidecypher.cli.errors import not_understood

_UsageError: Final[Any] = typer.BadParameter.__base__
"""What Typer raises for a command line; of its kinds only this one has a public name."""

_START: Final = "Write procedures"
_RUN: Final = "Run them"
_USE: Final = "Use them"
_LOOK: Final = "Look into it"


class Command(NamedTuple):
    """A command, as the help of `sidecypher` lists it.

    Attributes:
        module: Module of this package whose member of the command's name is the command.
        summary: The first sentence of its own help.
        panel: Under which heading it is listed; None hides it.
    """

    module: str
    summary: str
    panel: str | None


COMMANDS: Final = {
    "init": Command("init", "Write a project with one procedure and its test.", _START),
    "dev": Command(
        "dev",
        "Bring up Neo4j and the sidecar, and load procedures again whenever a file is saved.",
        _START,
    ),
    "test": Command("test", "Run the tests of this project by pytest.", _START),
    "plugin": Command("plugin", "The jar that Neo4j loads.", _START),
    "up": Command("lifecycle", "Start Neo4j and the sidecar in the background.", _RUN),
    "down": Command("lifecycle", "Stop Neo4j and the sidecar.", _RUN),
    "status": Command("lifecycle", "Tell what runs and where.", _RUN),
    "reload": Command("reload", "Load changed procedures in every sidecar that runs.", _RUN),
    "serve": Command("serve", "Run the sidecar alone, in the foreground.", _RUN),
    "supervise": Command("supervise", "Keep Neo4j and the sidecar running.", None),
    "call": Command("call", "Call a procedure through Neo4j and print its rows.", _USE),
    "doctor": Command("doctor", "Look at everything that must hold, and tell the way out.", _LOOK),
    "procedures": Command(
        "procedures", "Tell what can be called, each with a sample call to paste.", _USE
    ),
    "runs": Command("runs", "Runs of workflows.", _USE),
    "migrate": Command("migrate", "Constraints, indexes and triggers, as Cypher files say.", _USE),
    "demo": Command("demo", "See it work: a small graph, queried with data from GitHub.", _USE),
    "logs": Command("logs", "Show what the processes of a home have written.", _LOOK),
    "config": Command("config", "Tell every setting, its value, and where that comes from.", _LOOK),
    "version": Command(
        "version", "Tell the versions of sidecypher and of what it works with.", _LOOK
    ),
}


class Commands(TyperGroup):
    """The commands of the table; the module of one is imported when it is called."""

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

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Return name and command that the arguments begin with, and the arguments left."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and load_command(str(name)), rest

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read what stands before the command.

        Raises:
            NotUnderstood: It is not understood.
        """
        with _told_as_others():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Read the rest, and run the command.

        Raises:
            NotUnderstood: The rest is not understood.
        """
        with _told_as_others():
            return super().invoke(ctx)


@contextmanager
def _told_as_others() -> Iterator[None]:
    """Raise an error of ours for one that Typer would put into a box."""
    try:
        yield
    except _UsageError as error:
        # It has none where the help was shown instead.
        if not error.format_message():
            raise
        raise not_understood(error) from None


def load_command(name: str) -> Any:
    """Import the module of a command, and return it with its options and verbs."""
    found = getattr(import_module(f"sidecypher.cli.{COMMANDS[name].module}"), name)
    if not isinstance(found, typer.Typer):
        function, found = found, typer.Typer(add_completion=False, rich_markup_mode="markdown")
        found.command(name)(function)
    loaded = typer.main.get_command(found)
    loaded.name = name
    return loaded
