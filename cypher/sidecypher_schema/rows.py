"""All migrations and triggers with their state, as rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from sidecypher_schema.chain import read_chain
from sidecypher_schema.graph import Graph
from sidecypher_schema.scripts import Scripts
from sidecypher_schema.states import MigrationState, migration_states
from sidecypher_schema.trigger_plan import read_triggers


@dataclass(frozen=True, slots=True)
class Overview:
    """A migration or a trigger.

    Attributes:
        version: Version of a migration, or name of a trigger.
        description: Words of the file's name; empty for a trigger.
        type: `versioned`, `repeatable` or `trigger`.
        state: See `MigrationState.state` and `TriggerState`.
        source: Its file.
        checksum: Checksum of the file, or empty.
        installed_at: When it ran last; None if it did not.
        installed_by: User of the machine that it ran on.
        seconds: How long it took.
    """

    version: str
    description: str
    type: Literal["versioned", "repeatable", "trigger"]
    state: str
    source: str
    checksum: str
    installed_at: Any
    installed_by: str | None
    seconds: float | None


def overview(graph: Graph, scripts: Scripts) -> list[Overview]:
    """Return all migrations, then all triggers.

    Args:
        graph: The database.
        scripts: The files.
    """
    found = migration_states(scripts.migrations, read_chain(graph.run, scripts.target))
    triggers = read_triggers(graph, scripts)
    return [
        *migration_rows(found),
        *(
            Overview(each.name, "", "trigger", each.state, each.source, "", None, None, None)
            for each in triggers
        ),
    ]


def migration_rows(found: Iterable[MigrationState]) -> list[Overview]:
    """Return migrations as rows."""
    return [
        Overview(
            version=each.version,
            description=each.description,
            type="repeatable" if each.repeatable else "versioned",
            state=each.state,
            source=each.source,
            checksum=each.script.checksum if each.script else "",
            installed_at=each.applied.installed_at if each.applied else None,
            installed_by=each.applied.installed_by if each.applied else None,
            seconds=each.applied.seconds if each.applied else None,
        )
        for each in found
    ]
