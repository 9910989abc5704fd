"""The command `sidecypher sync`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sidecypher.cli.packages import AsJson, Config, Database, Home, Service, show_json, show_table
from sidecypher_procedures.sync.changes.commands import unwatch, watch, watched
from sidecypher_procedures.sync.postgres import commands as postgres

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sidecypher_procedures.sync.settings import SyncSettings
    from sidecypher_procedures.sync.status import PartitionStatus

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")
for each in (watch, unwatch, watched):
    app.command()(each)
app.add_typer(postgres.app, name="postgres")

SERVICE = Service("sync", command=("sync", "run"), variable="SIDECYPHER_REDIS_URL")

_Answer = TypeVar("_Answer")


@app.callback()
def _sync() -> None:
    """Write events from Redis or PostgreSQL to the graph."""


@app.command()
def run(home: Home = None, config: Config = None, database: Database = None) -> None:
    """Write events from Redis to the graph until it is stopped.

    Stays in the foreground and logs what happens as JSON. Several of these processes share the
    partitions; if one ends, the others take over its partitions. Uses the Redis that
    `SIDECYPHER_REDIS_URL` names, and the embedded Neo4j or the one that `SIDECYPHER_NEO4J_URI` or
    `NEO4J_URI` names. `sidecypher up` starts one of them if `SIDECYPHER_REDIS_URL` is set.

    ```sh
    sidecypher sync run
    ```
    """
    from sidecypher_procedures.sync.settings import redis_url  # noqa: PLC0415

    url = redis_url()
    from sidecypher_procedures.sync.service import serve  # noqa: PLC0415

    serve(url, home=home, config=config, database=database)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show lag, consumer and dead letters of each partition.

    `lag` counts events that no consumer has read, `pending` those that were read and are not in the
    graph yet, and `oldest` is the age in seconds of the oldest of both.

    ```sh
    sidecypher sync status
    sidecypher sync status --json
    ```
    """
    from dataclasses import asdict  # noqa: PLC0415

    def read(redis: Any, settings: SyncSettings) -> Awaitable[list[PartitionStatus]]:
        from sidecypher_procedures.sync.status import read_status  # noqa: PLC0415 - it needs redis

        return read_status(redis, settings.partitions)

    found = _in_redis(read)
    rows = [asdict(each) for each in found]
    if as_json:
        show_json(rows)
        return
    columns = ("partition", "consumer", "lag", "pending", "oldest", "dead", "parked")
    show_table("", columns, ([_cell(value) for value in row.values()] for row in rows))


@app.command()
def dead(
    run: Annotated[
        str | None, typer.Option("--run", help="List dead letters of this run only.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the dead letters with their reasons.

    A dead letter is an event that cannot be written, or one that came after it in its run. An entry
    without a run was not written by a publisher.

    ```sh
    sidecypher sync dead
    sidecypher sync dead --run triage-7 --json
    ```
    """
    from dataclasses import asdict  # noqa: PLC0415

    from sidecypher_procedures.sync.dead_letters import list_dead  # noqa: PLC0415

    found = _in_redis(lambda redis, settings: list_dead(redis, settings.partitions, run))
    if as_json:
        show_json([asdict(each) for each in found])
    elif not found:
        typer.echo("No dead letters.", err=True)
    else:
        columns = ("run", "event", "at", "code", "reason")
        cells = (
            [_cell(each.run_id), _cell(each.event_id), each.at, each.code, each.reason]
            for each in found
        )
        show_table("", columns, cells)


@app.command()
def requeue(run: postgres.Run, as_json: AsJson = False) -> None:
    """Write the dead letters of a run again.

    The consumer writes them in order, before newer events of the run. Do this when the reason is
    gone, for example after the run was created.

    ```sh
    sidecypher sync requeue triage-7
    ```
    """
    from sidecypher_procedures.sync.dead_letters import requeue  # noqa: PLC0415

    count = _in_redis(lambda redis, settings: requeue(redis, settings.partitions, run))
    postgres.show_count(count, "requeued", as_json=as_json)


@app.command()
def drop(
    run: Annotated[str | None, typer.Argument(help="Use the run with this id.")] = None,
    event: Annotated[str | None, typer.Option("--event", help="Choose this event only.")] = None,
    foreign: Annotated[
        bool, typer.Option("--foreign", help="Choose entries that are not of a publisher.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove dead letters.

    The events are lost. With `--event`, the others of the run stay; write them by
    `sidecypher sync requeue`. A run without dead letters takes events again.

    ```sh
    sidecypher sync drop triage-7 --event 019a8f0e-2c7b-7d3e-9a51-0d6b2f1c4e88
    sidecypher sync drop triage-7
    sidecypher sync drop --foreign
    ```
    """
    from sidecypher_procedures.sync.dead_letters import drop, drop_foreign  # noqa: PLC0415

    if foreign == (run is not None) or (foreign and event is not None):
        raise typer.BadParameter("Give a run, or `--foreign` alone")
    if run is None:
        count = _in_redis(lambda redis, settings: drop_foreign(redis, settings.partitions))
    else:
        count = _in_redis(lambda redis, settings: drop(redis, settings.partitions, run, event))
    postgres.show_count(count, "dropped", as_json=as_json)


def _in_redis(work: Callable[[Any, SyncSettings], Awaitable[_Answer]]) -> _Answer:
    """Run a function with a client of Redis and the settings."""
    from sidecypher_procedures.sync.settings import SyncSettings, redis_url  # noqa: PLC0415

    # Before the import that needs the library, since its error says what to install.
    url = redis_url()
    from sidecypher_procedures.sync.connection import ask_redis  # noqa: PLC0415

    settings = SyncSettings.load()
    return ask_redis(url, lambda redis: work(redis, settings))


def _cell(value: object) -> object:
    return "" if value is None else value
