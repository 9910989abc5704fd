"""The commands `sidecypher sync watch`, `unwatch` and `watched`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sidecypher.cli.packages import (
    AsJson,
    Config,
    Database,
    Home,
    run_cypher,
    show_json,
    show_table,
)

if TYPE_CHECKING:
    from pathlib import Path


def watch(
    node: Annotated[
        list[str] | None,
        typer.Option("--node", help="Watch a LABEL or LABEL.PROPERTY; repeatable."),
    ] = None,
    relationship: Annotated[
        list[str] | None, typer.Option("--relationship", help="Watch a TYPE; repeatable.")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Watch changes of the graph, to publish them.

    Each change is written to the outbox in its transaction. What was watched before is replaced.
    Without options, the states of runs, the statuses of plans and the contradictions of rules are
    watched. A label stands for the nodes that are created with it or deleted, `LABEL.PROPERTY` for
    the values of a property.

    ```sh
    sidecypher sync watch
    sidecypher sync watch --node Customer --node Plan.status --relationship CONTRADICTS
    ```
    """
    from sidecypher_procedures.sync.changes.watching import OutboxTrigger, Watched  # noqa: PLC0415

    chosen = Watched(tuple(node or ()), tuple(relationship or ()))
    OutboxTrigger(home, config, database).install(chosen if node or relationship else Watched())
    _show_state(home, config, database, as_json=as_json)


def unwatch(
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Stop watching changes of the graph.

    Those in the outbox stay until they are published, or removed by `sidecypher.dropChanges`.

    ```sh
    sidecypher sync unwatch
    ```
    """
    from sidecypher_procedures.sync.changes.watching import OutboxTrigger  # noqa: PLC0415

    OutboxTrigger(home, config, database).drop()
    _show_state(home, config, database, as_json=as_json)


def watched(
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Show what is watched, and how many changes wait.

    ```sh
    sidecypher sync watched
    ```
    """
    _show_state(home, config, database, as_json=as_json)


def _show_state(
    home: Path | None, config: Path | None, database: str | None, *, as_json: bool
) -> None:
    from dataclasses import asdict  # noqa: PLC0415

    from sidecypher_procedures.sync.changes.store import COUNT  # noqa: PLC0415
    from sidecypher_procedures.sync.changes.watching import OutboxTrigger, Watched  # noqa: PLC0415

    found = OutboxTrigger(home, config, database).watched() or Watched((), ())
    [row] = run_cypher(COUNT, database=database, home=home, config=config)
    state = {**asdict(found), "waiting": row["waiting"]}
    if as_json:
        show_json(state)
    else:
        nodes, relationships = ", ".join(found.nodes), ", ".join(found.relationships)
        show_table("", [*state], [[nodes, relationships, row["waiting"]]])
