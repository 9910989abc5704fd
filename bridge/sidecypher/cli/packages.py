"""Helpers for commands that packages add to `sidecypher`, besides Typer.

Importing this module is fast, because `sidecypher --help` imports the commands of packages.

Example:
    >>> def queue(
    ...     home: Home = None, config: Config = None, database: Database = None
    ... ) -> None:
    ...     rows = run_cypher("CALL acme.queue()", database=database, home=home, config=config)
    ...     show_table("Queue", ["waiting"], [row.values() for row in rows])
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString

from sidecypher import SidecypherError
from sidecypher.cli.options import AsJson, Config, Database, Home

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from sidecypher import BoltClient
    from sidecypher.cli.tools import Tool as Tool  # noqa: PLC0414 - public

__all__ = [
    "AsJson",
    "Config",
    "Database",
    "Home",
    "Service",
    "list_tools",
    "load_token",
    "open_client",
    "run_cypher",
    "service_log",
    "show_error",
    "show_json",
    "show_phases",
    "show_table",
]


@dataclass(frozen=True, slots=True)
class Service:
    """A command that `sidecypher up` keeps running next to the sidecars.

    A package names it in an entry point of the group `sidecypher.services`. It gets SIGTERM when
    the installation stops, and is started again when it ends before.

    Attributes:
        name: Name of the process and of its log file.
        command: The words after `sidecypher`.
        variable: Name of an environment variable; while it is not set, nothing is started.

    Example:
        >>> Service("acme", command=("acme", "listen"), variable="ACME_URL").is_wanted({})
        False
    """

    name: str
    command: tuple[str, ...]
    variable: str

    def is_wanted(self, environ: Mapping[str, str]) -> bool:
        """Return whether its variable is set and not empty."""
        return bool(environ.get(self.variable, "").strip())


def run_cypher(
    cypher: LiteralString,
    parameters: Mapping[str, Any] | None = None,
    *,
    database: str | None = None,
    home: Path | None = None,
    config: Path | None = None,
) -> list[dict[str, Any]]:
    """Run a statement in the Neo4j that commands use, for at most a minute.

    Args:
        cypher: The statement; never build it from values.
        parameters: Its parameters by name.
        database: The value of `--database`.
        home: The value of `--home`.
        config: The value of `--config`.

    Returns:
        Each row as a dict by column name, with values as `ctx.run` returns them.

    Raises:
        SettingsError: A setting cannot be used.
        SidecypherError: SC-310 if the embedded Neo4j does not run and no other one is named.
        Neo4jUnavailable: Neo4j does not answer.
        CypherError: The statement failed.

    Example:
        >>> run_cypher("RETURN $x AS x", {"x": 1})  # doctest: +SKIP
        [{'x': 1}]
    """
    from sidecypher.cli.cypher import rows_of  # noqa: PLC0415

    return rows_of(cypher, parameters or {}, database=database, home=home, config=config)


def open_client(
    *, database: str | None = None, home: Path | None = None, config: Path | None = None
) -> "AbstractAsyncContextManager[BoltClient]":
    """Return a client of the Neo4j that commands use, for several statements.

    Args:
        database: The value of `--database`.
        home: The value of `--home`.
        config: The value of `--config`.

    Raises:
        SettingsError: A setting cannot be used.
        SidecypherError: SC-310 if the embedded Neo4j does not run and no other one is named.

    Example:
        >>> async def both():
        ...     async with open_client() as client:
        ...         return await client.run("RETURN 1 AS x"), await client.run("RETURN 2 AS x")
    """
    from sidecypher.cli.cypher import client_of  # noqa: PLC0415

    return client_of(database=database, home=home, config=config)


def list_tools(*, home: Path | None = None, config: Path | None = None) -> "Iterator[Tool]":
    """Yield the procedures that are found as tools for a language model.

    Batches and procedures for administrators are left out.

    Args:
        home: The value of `--home`.
        config: The value of `--config`.

    Raises:
        SettingsError: A setting cannot be used.

    Example:
        >>> next(list_tools()).name
        'algo.communities'
    """
    from sidecypher.cli import tools  # noqa: PLC0415

    return tools.list_tools(home=home, config=config)


def load_token(
    name: str, *, home: Path | None = None, config: Path | None = None
) -> tuple[bytes, Path]:
    """Return a secret token and its file, which is made at first use for its owner only.

    Args:
        name: Name of the file in the run folder.
        home: The value of `--home`.
        config: The value of `--config`.

    Raises:
        SettingsError: A setting cannot be used.
        SidecypherError: SC-604 if the run folder or the file cannot be used.

    Example:
        >>> token, file = load_token("acme-token")  # doctest: +SKIP
        >>> len(token), file.name  # doctest: +SKIP
        (64, 'acme-token')
    """
    from sidecypher.host import credentials  # noqa: PLC0415
    from sidecypher.host.settings import load_settings  # noqa: PLC0415

    folder = load_settings({"home": home}, config=config).run_folder
    return credentials.load_token(folder, name), folder / name


def service_log(*, home: Path | None = None, config: Path | None = None) -> "FilteringBoundLogger":
    """Return the structured log of a command that stays, in the level and format of the settings.

    Args:
        home: The value of `--home`.
        config: The value of `--config`.

    Raises:
        SettingsError: A setting cannot be used.

    Example:
        >>> def listen(home: Home = None, config: Config = None) -> None:
        ...     service_log(home=home, config=config).info("acme.started", port=7000)
    """
    from sidecypher.host.settings import load_settings  # noqa: PLC0415
    from sidecypher.telemetry.calls import configure_logging, logger  # noqa: PLC0415

    settings = load_settings({"home": home}, config=config)
    configure_logging(settings.log_level, settings.log_format)
    return logger()


@contextmanager
def show_phases() -> Iterator[Callable[[str, int, int], None]]:
    """Draw a bar for each phase of long work.

    The block gets a function with a phase, how much of it is done, and how much there is; 0 if
    that is not known. Nothing is drawn where there is no terminal.

    Example:
        >>> with show_phases() as on_progress:
        ...     on_progress("read", 3, 9)
    """
    from sidecypher.cli import output  # noqa: PLC0415

    with output.phase_bars() as on_progress:
        yield on_progress


def show_json(value: object) -> None:
    """Print one JSON document; values that JSON lacks are printed as strings.

    Example:
        >>> show_json({"waiting": 3})
        {
          "waiting": 3
        }
    """
    from sidecypher.cli import output  # noqa: PLC0415

    output.show_json(value)


def show_error(error: SidecypherError) -> None:
    """Print an error with its cause and hint to standard error, and go on."""
    from sidecypher.cli import output  # noqa: PLC0415

    output.show_error(error)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print rows as a table; control characters in them do not reach the terminal.

    Example:
        >>> show_table("Queue", ["waiting"], [[3]])  # doctest: +SKIP
        Queue
        ┏━━━━━━━━━┓
        ┃ waiting ┃
        ┡━━━━━━━━━┩
        │ 3       │
        └─────────┘
    """
    from sidecypher.cli import output  # noqa: PLC0415

    output.show_table(title, columns, rows)
