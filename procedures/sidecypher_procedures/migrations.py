"""`sidecypher.migrations`: the state of the schema migrations that these procedures rely on."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, LiteralString

from sidecypher import Context, Description, Row, procedure

__all__ = ["migrations"]


class Migration(Row):
    """A migration script of the schema."""

    version: Annotated[str, Description("such as 001, or R__name")]
    description: str
    type: Annotated[str, Description("versioned or repeatable")]
    state: Annotated[str, Description("applied, pending, changed or missing")]
    source: Annotated[str, Description("name of its file")]
    checksum: Annotated[str, Description("of the file, or empty")]
    installed_at: Annotated[datetime | None, Description("when it ran last")]
    installed_by: Annotated[str | None, Description("user of the machine it ran on")]
    seconds: float | None


@procedure("sidecypher.migrations")
def migrations(ctx: Context) -> list[Migration]:
    """List the migrations that ship with sidecypher and their state in the graph."""
    # It imports Neo4j's driver: 30 MB, and a fifth of the time that a sidecar needs to start.
    from sidecypher_schema import (  # noqa: PLC0415
        migration_rows,
        migration_states,
        read_chain,
        shipped_scripts,
    )

    def run(query: LiteralString, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [dict(record) for record in ctx.run(query, **parameters)]

    scripts = shipped_scripts()
    found = migration_states(scripts.migrations, read_chain(run, scripts.target))
    return [Migration(**asdict(each)) for each in migration_rows(found)]
