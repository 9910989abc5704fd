"""The chain in the graph: applied scripts with time and user, in the format of neo4j-migrations.

Each version has a node, linked to the next by `MIGRATED_TO`; the first has the version `BASELINE`.
A repeatable script that ran again has a `REPEATED` loop. `migrationTarget` separates chains. The
format is that of the classes `Migrations` and `ChainBuilder` in 2026.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import neo4j

from sidecypher_schema.scripts import Script

BASELINE: Final = "BASELINE"

CONSTRAINT: Final[LiteralString] = (
    "CREATE CONSTRAINT unique_version___Neo4jMigration IF NOT EXISTS "
    "FOR (n:__Neo4jMigration) REQUIRE (n.version, n.migrationTarget) IS UNIQUE"
)
"""The constraint of neo4j-migrations, with the same name."""

Run = Callable[[LiteralString, Mapping[str, Any]], list[dict[str, Any]]]
"""Function that runs a statement with parameters and returns its rows."""

_DROP: Final[LiteralString] = (
    "MATCH (one:__Neo4jMigration {migrationTarget: $target}) DETACH DELETE one"
)
_OTHERS: Final[LiteralString] = "MATCH (one:__Neo4jMigration) RETURN count(one) AS count"
_DROP_CONSTRAINT: Final[LiteralString] = "DROP CONSTRAINT unique_version___Neo4jMigration IF EXISTS"
_READ: Final[LiteralString] = """
    MATCH (before:__Neo4jMigration {migrationTarget: $target})
        -[link:MIGRATED_TO]->(one:__Neo4jMigration {migrationTarget: $target})
    OPTIONAL MATCH (one)-[again:REPEATED]->(one)
    WITH before, link, one, again ORDER BY again.at
    WITH before, link, one, collect(again) AS repeats
    WITH before, one, coalesce(repeats[-1], link) AS last, repeats
    RETURN before.version AS after, one.version AS version, one.description AS description,
        one.source AS source, coalesce(repeats[-1].checksum, one.checksum) AS checksum,
        coalesce(one.repeatable, false) AS repeatable, last.at AS installed_at,
        last.by AS installed_by, last.in.milliseconds / 1000.0 AS seconds
"""
_APPEND: Final[LiteralString] = """
    MERGE (before:__Neo4jMigration {version: $after, migrationTarget: $target})
    CREATE (one:__Neo4jMigration)
    SET one = $properties, one.migrationTarget = $target
    CREATE (before)-[:MIGRATED_TO {
        at: datetime({timezone: 'UTC'}), in: duration({milliseconds: $milliseconds}),
        by: $by, connectedAs: $connectedAs
    }]->(one)
"""
_REPEAT: Final[LiteralString] = """
    MATCH (one:__Neo4jMigration {version: $properties.version, migrationTarget: $target})
    CREATE (one)-[:REPEATED {
        checksum: $properties.checksum,
        at: datetime({timezone: 'UTC'}), in: duration({milliseconds: $milliseconds}),
        by: $by, connectedAs: $connectedAs
    }]->(one)
"""


@dataclass(frozen=True, slots=True)
class Applied:
    """A script that was applied.

    Attributes:
        after: Version before it; `BASELINE` for the first.
        version: Its own version.
        description: Words of its name.
        source: Name of its file at that time.
        checksum: Checksum of the text that ran last.
        repeatable: Whether it runs again when it has changed.
        installed_at: When it ran last.
        installed_by: User of the machine that it ran on.
        seconds: How long it took.
    """

    after: str
    version: str
    description: str
    source: str
    checksum: str
    repeatable: bool
    installed_at: Any
    installed_by: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Author:
    """The user who applies scripts.

    Attributes:
        by: User of the machine.
        connected_as: User of Neo4j.
    """

    by: str
    connected_as: str


def read_chain(run: Run, target: str) -> list[Applied]:
    """Return the applied scripts, in the order they were applied.

    Args:
        run: Runs a statement that reads.
        target: Name of the chain.
    """
    found = {row["after"]: Applied(**row) for row in run(_READ, {"target": target})}
    chain, version = [], BASELINE
    while version in found:
        chain.append(found[version])
        version = chain[-1].version
    return chain


def drop_chain(run: Run, target: str) -> None:
    """Remove a chain, and its constraint when no other chain is left.

    Args:
        run: Runs a statement that writes.
        target: Name of the chain.
    """
    run(_DROP, {"target": target})
    if not run(_OTHERS, {})[0]["count"]:
        run(_DROP_CONSTRAINT, {})


def record(
    tx: neo4j.Transaction,
    script: Script,
    versions: Sequence[str],
    *,
    author: Author,
    target: str,
    seconds: float,
) -> None:
    """Record in a transaction that a script was applied.

    Args:
        tx: The transaction.
        script: Script that ran.
        versions: Versions that were applied before, in their order.
        author: User who ran it.
        target: Name of the chain.
        seconds: How long it took.
    """
    tx.run(
        _REPEAT if script.version in versions else _APPEND,
        after=versions[-1] if versions else BASELINE,
        target=target,
        properties={
            "version": script.version,
            "description": script.description,
            "type": "CYPHER",
            "repeatable": script.repeatable,
            "source": script.source,
            "checksum": script.checksum,
        },
        milliseconds=round(seconds * 1000),
        by=author.by,
        connectedAs=author.connected_as,
    ).consume()
