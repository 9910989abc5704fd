"""The commands `sidecypher sync postgres`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import typer

from sidecypher.cli.packages import AsJson, Config, Home, Service, show_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")

SERVICE = Service(
    "sync-postgres", command=("sync", "postgres", "run"), variable="SIDECYPHER_POSTGRES_URL"
)

_Answer = TypeVar("_Answer")


@app.callback()
def _postgres() -> None:
    """Write events from PostgreSQL to the graph."""


@app.command()
def init(as_json: AsJson = False) -> None:
    """Apply the SQL files that create or update the tables.

    Creates them in the schema that `SIDECYPHER_POSTGRES_SCHEMA` names, in the database that
    `SIDECYPHER_POSTGRES_URL` names. The user needs the right to create there.

    ```sh
    sidecypher sync postgres init
    ```
    """
    url = _url()
    from sidecypher_procedures.sync.postgres.schema import init  # noqa: PLC0415

    applied = _ask(url, init)
    if as_json:
        show_json({"applied": applied})
    else:
        typer.echo(f"applied: {', '.join(applied) or 'nothing, the tables are up to date'}")


@app.command()
def run(home: Home = None, config: Config = None) -> None:
    """Write events from PostgreSQL until it is stopped.

    Stays in the foreground and logs what happens as JSON. Several of these processes may run at
    once. Uses the PostgreSQL that `SIDECYPHER_POSTGRES_URL` names, and the embedded Neo4j or the
    one that `SIDECYPHER_NEO4J_URI` names. `sidecypher up` starts one of them if
    `SIDECYPHER_POSTGRES_URL` is set.

    ```sh
    sidecypher sync postgres run
    ```
    """
    url = _url()
    from sidecypher_procedures.sync.postgres.service import serve  # noqa: PLC0415

    serve(url, home=home, config=config)


def _url() -> str:
    """Return the address; called before imports that need the library, to say what to install."""
    from sidecypher_procedures.sync.postgres.settings import postgres_url  # noqa: PLC0415

    return postgres_url()


def _ask(url: str, work: Callable[[Any, str], Awaitable[_Answer]]) -> _Answer:
    """Run a function with a connection to PostgreSQL and the name of the schema."""
    from sidecypher_procedures.sync.postgres.connection import ask_postgres  # noqa: PLC0415
    from sidecypher_procedures.sync.postgres.settings import PostgresSettings  # noqa: PLC0415

    schema = PostgresSettings.load().namespace
    return ask_postgres(url, lambda conn: work(conn, schema))
