"""The commands `sidecypher sync postgres`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sidecypher.cli.packages import AsJson, Config, Database, Home, Service, show_json, show_table

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")

SERVICE = Service(
    "sync-postgres", command=("sync", "postgres", "run"), variable="SIDECYPHER_POSTGRES_URL"
)

Run = Annotated[str, typer.Argument(help="Use the run with this id.")]
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
def run(home: Home = None, config: Config = None, database: Database = None) -> None:
    """Write events from PostgreSQL until it is stopped.

    Stays in the foreground and logs what happens as JSON. Several of these processes may run at
    once. Uses the PostgreSQL that `SIDECYPHER_POSTGRES_URL` names, and the embedded Neo4j or the
    one that `SIDECYPHER_NEO4J_URI` or `NEO4J_URI` names. `sidecypher up` starts one of them if
    `SIDECYPHER_POSTGRES_URL` is set.

    ```sh
    sidecypher sync postgres run
    ```
    """
    url = _url()
    from sidecypher_procedures.sync.postgres.service import serve  # noqa: PLC0415

    serve(url, home=home, config=config, database=database)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show what waits in the outbox, and its dead letters.

    `waiting` counts events that are not in the graph yet, and `oldest` is the age in seconds of the
    oldest of them. `behind` counts events that wait behind a dead letter of their run.

    ```sh
    sidecypher sync postgres status
    sidecypher sync postgres status --json
    ```
    """
    from dataclasses import asdict  # noqa: PLC0415

    url = _url()
    from sidecypher_procedures.sync.postgres.status import read_status  # noqa: PLC0415

    row = asdict(_ask(url, read_status))
    if as_json:
        show_json(row)
    else:
        columns = ("waiting", "oldest", "dead", "behind", "parked", "workers")
        show_table("", columns, [row.values()])


@app.command()
def dead(
    run: Annotated[
        str | None, typer.Option("--run", help="List dead letters of this run only.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the dead letters with their reasons.

    A dead letter is an event that cannot be written. `behind` counts the events of its run that
    wait behind it.

    ```sh
    sidecypher sync postgres dead
    sidecypher sync postgres dead --run triage-7 --json
    ```
    """
    from dataclasses import astuple  # noqa: PLC0415

    url = _url()
    from sidecypher_procedures.sync.postgres.dead_letters import list_dead  # noqa: PLC0415

    found = _ask(url, lambda conn, schema: list_dead(conn, schema, run))
    columns = ("run_id", "event_id", "code", "reason", "at", "behind")
    if as_json:
        show_json([dict(zip(columns, astuple(each), strict=True)) for each in found])
    elif not found:
        typer.echo("No dead letters.", err=True)
    else:
        show_table("", columns, map(astuple, found))


@app.command()
def requeue(run: Run, as_json: AsJson = False) -> None:
    """Write the dead letter of a run again, and what follows it.

    The worker writes them in order. Do this when the reason is gone, for example after the run was
    created.

    ```sh
    sidecypher sync postgres requeue triage-7
    ```
    """
    url = _url()
    from sidecypher_procedures.sync.postgres.dead_letters import requeue  # noqa: PLC0415

    count = _ask(url, lambda conn, schema: requeue(conn, schema, run))
    show_count(count, "requeued", as_json=as_json)


@app.command()
def drop(
    run: Run,
    event: Annotated[str | None, typer.Option("--event", help="Choose this event only.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remove events of a run that has a dead letter.

    The events are lost. With `--event`, the others of the run stay. A run without a dead letter is
    written again.

    ```sh
    sidecypher sync postgres drop triage-7 --event 019a8f0e-2c7b-7d3e-9a51-0d6b2f1c4e88
    sidecypher sync postgres drop triage-7
    ```
    """
    url = _url()
    from sidecypher_procedures.sync.postgres.dead_letters import drop  # noqa: PLC0415

    count = _ask(url, lambda conn, schema: drop(conn, schema, run, event))
    show_count(count, "dropped", as_json=as_json)


def show_count(count: int, what: str, *, as_json: bool) -> None:
    """Print how many events a command has changed."""
    if as_json:
        show_json({what: count})
    else:
        typer.echo(f"{what}: {count}")


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
