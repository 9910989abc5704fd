"""`sidecypher.changes`: the changes that wait in the outbox, for those who poll."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import Field

from sidecypher import Context, Description, Options, Row, procedure
from sidecypher_procedures.sync.changes.store import READ

__all__ = ["changes", "drop_changes"]

_DROP: Final = """
    MATCH (c:Outbox) USING INDEX c:Outbox(seq)
    WHERE c.seq <= $upTo
    DELETE c
    RETURN count(*) AS dropped
"""


class ChangesOptions(Options):
    """Filter of the changes."""

    labels: Annotated[
        list[str] | None, Description("only those of these labels and relationship types")
    ] = None
    limit: Annotated[int, Field(ge=0, le=100_000), Description("rows at most")] = 1000


class ChangeRow(Row):
    """A change of the graph."""

    seq: Annotated[int, Description("its number, in the order of the commits")]
    kind: Annotated[str, Description("created, changed or deleted")]
    label: Annotated[str, Description("the label or relationship type")]
    id: Annotated[str, Description("of the node or relationship")]
    run_id: Annotated[str | None, Description("the run that it belongs to")]
    property: Annotated[str | None, Description("the property that has changed")]
    value: Annotated[Any, Description("its new value, as JSON has it")]
    at: Annotated[datetime, Description("when it was written")]


class Dropped(Row):
    """Changes that were removed."""

    dropped: Annotated[int, Description("how many")]


@procedure("sidecypher.changes")
def changes(
    ctx: Context, since: int, options: ChangesOptions = ChangesOptions()
) -> Iterator[ChangeRow]:
    """List the watched changes with a greater number, in the order of their commits."""
    for record in ctx.run(READ, since=since, labels=options.labels, limit=options.limit):
        value = record["value"]
        yield ChangeRow(
            seq=record["seq"],
            kind=record["kind"],
            label=record["label"],
            id=record["id"],
            run_id=record["runId"],
            property=record["property"],
            value=None if value is None else json.loads(value),
            at=record["at"],
        )


@procedure("sidecypher.dropChanges", mode="WRITE")
def drop_changes(ctx: Context, up_to: int) -> Dropped:
    """Remove the changes up to a number, when all who poll have them."""
    [record] = ctx.run(_DROP, upTo=up_to)
    return Dropped(dropped=record["dropped"])
