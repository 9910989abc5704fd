"""What is watched: the parameters of the trigger that writes the outbox."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, LiteralString, Self

from sidecypher import CypherError
from sidecypher.cli.packages import run_cypher
from sidecypher_procedures.sync.errors import ChangesUnavailable, SyncSettingsError

NAME: Final = "outbox-writer"

NODES: Final = ("WorkflowRun.state", "Plan.status")
RELATIONSHIPS: Final = ("CONTRADICTS",)

_OWN: Final = frozenset({"Outbox", "OutboxCounter"})
_POLL_SECONDS: Final = 0.1

# APOC reads its triggers every 60 s by default.
_WAIT_SECONDS: Final = 90.0

_DATABASE: Final = "CALL db.info() YIELD name RETURN name"
_CONSTRAINTS: Final = """
    SHOW CONSTRAINTS YIELD name WHERE name IN ['outbox_seq', 'outbox_counter_id'] RETURN name
"""
_LIST: Final = """
    CALL apoc.trigger.list() YIELD name, query, params, paused
    WITH * WHERE name = $name
    RETURN query AS text, params, paused
"""
_INSTALL: Final = """
    CALL apoc.trigger.install($database, $name, $text, {phase: 'before'}, {params: $params})
"""
# For those who write to the outbox without the trigger.
_TYPES: Final = "MERGE (c:OutboxCounter {id: 'changes'}) SET c.types = $types"
_DROP: Final = "CALL apoc.trigger.drop($database, $name)"


@dataclass(frozen=True, slots=True)
class Watched:
    """Labels, properties and relationship types whose changes go to the outbox.

    Attributes:
        nodes: Labels, whose nodes are created and deleted, and properties that change, as
            ``LABEL.PROPERTY``.
        relationships: Types of relationships that are created and deleted.
    """

    nodes: tuple[str, ...] = NODES
    relationships: tuple[str, ...] = RELATIONSHIPS

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Self:
        """Return what the parameters of the trigger name."""
        properties = params["properties"]
        named = [f"{label}.{key}" for key, labels in properties.items() for label in labels]
        return cls((*sorted(params["labels"]), *sorted(named)), tuple(sorted(params["types"])))

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters of the trigger.

        Raises:
            SyncSettingsError: A name is empty, or one of the outbox itself.

        Example:
            >>> Watched(("Customer", "Plan.status"), ()).params
            {'labels': ['Customer'], 'properties': {'status': ['Plan']}, 'types': []}
        """
        labels: list[str] = []
        properties: dict[str, list[str]] = {}
        for name in self.nodes:
            label, dot, key = name.partition(".")
            if not label or bool(dot) != bool(key) or label in _OWN:
                raise SyncSettingsError(
                    f"`{name}` cannot be watched", hint="Give LABEL or LABEL.PROPERTY."
                )
            if key:
                properties.setdefault(key, []).append(label)
            else:
                labels.append(label)
        if not all(self.relationships):
            raise SyncSettingsError("A relationship type is empty", hint="Give its name.")
        return {"labels": labels, "properties": properties, "types": [*self.relationships]}


class OutboxTrigger:
    """The trigger in the database that commands use.

    Args:
        home: The value of `--home`.
        config: The value of `--config`.
        database: The value of `--database`.
    """

    def __init__(self, home: Path | None, config: Path | None, database: str | None = None) -> None:
        self._home = home
        self._config = config
        self._name = database

    def watched(self) -> Watched | None:
        """Return what is watched; None if nothing is.

        Raises:
            ChangesUnavailable: The database has no triggers, or somebody has stopped this one.
        """
        found = self._find()
        if found is None:
            return None
        if found["paused"]:
            raise ChangesUnavailable(
                f"The trigger `{NAME}` is stopped",
                hint="Start it by `apoc.trigger.start`, or run `sidecypher sync watch`.",
            )
        return Watched.of(found["params"])

    def install(self, watched: Watched) -> None:
        """Watch from now on, and nothing else; return when the trigger is in service.

        Raises:
            SyncSettingsError: Something cannot be watched.
            ChangesUnavailable: The database has no triggers, or `sidecypher migrate` has not run.
        """
        params = watched.params
        self._find()
        if len(self._run(_CONSTRAINTS)) < 2:  # noqa: PLR2004 - both of V007
            raise ChangesUnavailable(
                "The schema of the outbox is missing", hint="Run `sidecypher migrate`."
            )
        text = files(__package__).joinpath("trigger.cypher").read_text(encoding="utf-8")
        self._order(_INSTALL, text=text, params=params)
        expected = {"text": text, "params": params, "paused": False}
        self._await(lambda: self._find() == expected)
        self._run(_TYPES, types=params["types"])

    def drop(self) -> None:
        """Watch nothing any more; return when the trigger is out of service.

        Raises:
            ChangesUnavailable: The database has no triggers.
        """
        if self._find() is not None:
            self._order(_DROP)
            self._await(lambda: self._find() is None)
            self._run(_TYPES, types=[])

    def _find(self) -> dict[str, Any] | None:
        """Return text, parameters and state of the trigger; None if it is not installed."""
        try:
            rows = self._run(_LIST, name=NAME)
        except CypherError as error:
            if error.neo4j_code.endswith(".ProcedureNotFound"):
                raise ChangesUnavailable(
                    "Neo4j has no APOC", hint="Install APOC, which the trigger needs."
                ) from None
            if "apoc.trigger.enabled" in error.message:
                raise ChangesUnavailable(
                    "APOC has its triggers switched off", hint="Set `apoc.trigger.enabled=true`."
                ) from None
            raise
        return rows[0] if rows else None

    def _run(self, statement: LiteralString, **parameters: Any) -> list[dict[str, Any]]:
        return run_cypher(
            statement,
            parameters,
            database=self._name,
            home=self._home,
            config=self._config,
        )

    def _order(self, statement: LiteralString, **parameters: Any) -> None:
        [row] = self._run(_DATABASE)
        run_cypher(
            statement,
            {"database": row["name"], "name": NAME, **parameters},
            home=self._home,
            config=self._config,
            database="system",
        )

    def _await(self, is_done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _WAIT_SECONDS
        while not is_done():
            if time.monotonic() > deadline:
                raise ChangesUnavailable(
                    f"Neo4j does not show within {_WAIT_SECONDS:g} s what was done to `{NAME}`",
                    hint="Look at `apoc.trigger.list()`, then run the command again.",
                )
            time.sleep(_POLL_SECONDS)
