"""Make chain and schema agree with the files again, or remove all that the files created."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, LiteralString

import neo4j

from sidecypher_schema.apoc import find_apoc
from sidecypher_schema.catalog import Item, declared, existing
from sidecypher_schema.chain import drop_chain, read_chain
from sidecypher_schema.drift import schema_problems
from sidecypher_schema.graph import Graph, connect, unlimited
from sidecypher_schema.lock import held
from sidecypher_schema.runner import await_indexes, located
from sidecypher_schema.scripts import Scripts
from sidecypher_schema.states import MigrationState, migration_states
from sidecypher_schema.trigger_plan import plan_triggers

_ACCEPT: Final[LiteralString] = """
    MATCH (one:__Neo4jMigration {version: $version, migrationTarget: $target})
    SET one.checksum = $checksum, one.source = $source, one.description = $description
"""
_FORGET: Final[LiteralString] = """
    MATCH (before:__Neo4jMigration {migrationTarget: $target})-[:MIGRATED_TO]->
        (one:__Neo4jMigration {version: $version, migrationTarget: $target})
    OPTIONAL MATCH (one)-[link:MIGRATED_TO]->(next:__Neo4jMigration)
    WITH before, one, properties(link) AS kept, next
    FOREACH (_ IN CASE WHEN next IS NULL THEN [] ELSE [1] END |
        CREATE (before)-[new:MIGRATED_TO]->(next) SET new = kept)
    DETACH DELETE one
"""


@dataclass(frozen=True, slots=True)
class Repaired:
    """Result of a repair.

    Attributes:
        accepted: Scripts whose new checksum was written into the chain.
        forgotten: Scripts that have no file any more, and were removed from the chain.
        created: Constraints and indexes that were missing.
        triggers: Triggers that were installed, started or dropped.
    """

    accepted: tuple[str, ...]
    forgotten: tuple[str, ...]
    created: tuple[str, ...]
    triggers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cleaned:
    """All that a clean-up removed.

    Attributes:
        scripts: Migrations, from the chain.
        schema: Constraints and indexes.
        triggers: Names of triggers.
    """

    scripts: tuple[str, ...]
    schema: tuple[str, ...]
    triggers: tuple[str, ...]


def repair(
    driver: neo4j.Driver, scripts: Scripts, *, database: str | None = None, wait: float = 0.0
) -> Repaired:
    """Make a graph agree with the files, without running a script again.

    Args:
        driver: The server.
        scripts: The files.
        database: Name of the database; by default the user's.
        wait: Seconds to wait while another run is under way.

    Raises:
        SchemaError: Something was refused.
    """
    graph = connect(driver, database)
    with held(graph, wait=wait) as lock:
        triggers = plan_triggers(graph, scripts)
        found = migration_states(scripts.migrations, read_chain(graph.run, scripts.target))
        accepted = _accept(graph, scripts.target, found)
        forgotten = [each for each in found if each.state == "missing"]
        for each in forgotten:
            graph.run(_FORGET, {"version": each.version, "target": scripts.target})
        lock.confirm()
        created = _create_missing(graph, found)
        triggers.carry_out()
    return Repaired(
        accepted=accepted,
        forgotten=tuple(each.source for each in forgotten),
        created=tuple(created),
        triggers=triggers.names,
    )


def clean(
    driver: neo4j.Driver, scripts: Scripts, *, database: str | None = None, wait: float = 0.0
) -> Cleaned:
    """Remove chain, triggers, constraints and indexes of the files; other nodes stay.

    The constraint of the lock stays: without it, two runs that begin now could both hold it.

    Args:
        driver: The server.
        scripts: The files.
        database: Name of the database; by default the user's.
        wait: Seconds to wait while another run is under way.

    Raises:
        SchemaError: Something was refused.
    """
    graph = connect(driver, database)
    with held(graph, wait=wait) as lock:
        apoc = find_apoc(graph)
        triggers = [one.name for one in apoc.triggers().values() if one.target == scripts.target]
        apoc.drop(triggers)
        lock.confirm()
        there = [each.item for each in existing(graph)]
        ours = [
            one.item
            for one in declared(scripts.migrations, graph.database)
            if any(map(one.matches, there))
        ]
        for item in ours:
            graph.run(_drop(item))
        chain = read_chain(graph.run, scripts.target)
        drop_chain(graph.run, scripts.target)
    return Cleaned(
        scripts=tuple(one.source for one in chain),
        schema=tuple(map(str, ours)),
        triggers=tuple(triggers),
    )


def _accept(graph: Graph, target: str, found: Iterable[MigrationState]) -> tuple[str, ...]:
    # Repeatable scripts run again instead.
    changed = [each.script for each in found if each.state == "changed" and not each.repeatable]
    for script in filter(None, changed):
        graph.run(
            _ACCEPT,
            {
                "version": script.version,
                "target": target,
                "checksum": script.checksum,
                "source": script.source,
                "description": script.description,
            },
        )
    return tuple(script.source for script in changed if script)


def _create_missing(graph: Graph, found: list[MigrationState]) -> Iterable[str]:
    created = []
    for one, problem in schema_problems(graph, found):
        if problem != "missing":
            continue
        with located(one.script, one.statement), graph.session() as session:
            session.run(unlimited(one.statement.text)).consume()
        created.append(str(one.item))
    if created:
        await_indexes(graph)
    return created


def _drop(item: Item) -> str:
    """Return the statement that drops a constraint or an index; its name is from a migration."""
    return f"DROP {item.kind.upper()} `{item.name.replace('`', '``')}` IF EXISTS"
