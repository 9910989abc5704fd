"""Install, stop, start and drop triggers with APOC, and wait until Neo4j has done it.

APOC keeps triggers in the database `system`. The database they work in reads them again every
`apoc.trigger.refresh` ms, so a change is complete only when `apoc.trigger.list()` shows it there.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, LiteralString

from neo4j.exceptions import Neo4jError

from sidecypher_schema.errors import TriggerNotSeen, TriggerRefused
from sidecypher_schema.graph import SYSTEM, Graph, afterwards, message_of, reported, unlimited
from sidecypher_schema.lexer import tokens
from sidecypher_schema.trigger_files import Trigger

MARK: Final = "sidecypherTarget"
"""Parameter of every trigger that sidecypher installs; triggers of others do not have it."""

WAIT_SECONDS: Final = 90.0
"""Longest wait for a change; APOC reads triggers every 60 s by default."""

_POLL_SECONDS: Final = 0.05

GIVEN: Final[dict[str, Any]] = {
    "transactionId": 0,
    "commitTime": 0,
    "createdNodes": [],
    "createdRelationships": [],
    "deletedNodes": [],
    "deletedRelationships": [],
    "removedLabels": {},
    "removedNodeProperties": {},
    "removedRelationshipProperties": {},
    "assignedLabels": {},
    "assignedNodeProperties": {},
    "assignedRelationshipProperties": {},
    "metaData": {},
}
"""Parameters that APOC passes to every trigger, with empty values."""

_LIST: Final[LiteralString] = (
    "CALL apoc.trigger.list() YIELD name, query, selector, params, installed, paused "
    "RETURN name, query AS text, selector.phase AS phase, params, installed, paused"
)
_INSTALL: Final[LiteralString] = (
    "CALL apoc.trigger.install($database, $name, $text, {phase: $phase}, {params: $params})"
)
_STOP: Final[LiteralString] = "CALL apoc.trigger.stop($database, $name)"
_START: Final[LiteralString] = "CALL apoc.trigger.start($database, $name)"
_DROP: Final[LiteralString] = "CALL apoc.trigger.drop($database, $name)"

# Triggers that a run has stopped. If that run is killed, the next one of any folder starts them.
_NOTE: Final[LiteralString] = (
    "UNWIND $names AS name MERGE (:__SidecypherStoppedTrigger {name: name})"
)
_NOTED: Final[LiteralString] = "MATCH (t:__SidecypherStoppedTrigger) RETURN t.name AS name"
_FORGET: Final[LiteralString] = (
    "MATCH (t:__SidecypherStoppedTrigger) WHERE t.name IN $names DELETE t"
)


@dataclass(frozen=True, slots=True)
class Installed:
    """A trigger in Neo4j.

    Attributes:
        name: Its name.
        text: Its statement.
        phase: When it runs.
        params: Its own parameters.
        installed: Whether it is in service.
        paused: Whether it was stopped.
    """

    name: str
    text: str
    phase: str
    params: dict[str, Any]
    installed: bool
    paused: bool

    @property
    def target(self) -> str | None:
        """Chain of the scripts it came with; None if sidecypher did not install it."""
        found = (self.params or {}).get(MARK)
        return found if isinstance(found, str) else None

    def is_from(self, trigger: Trigger, target: str) -> bool:
        """Return whether it is the same as the trigger of a file."""
        return (self.text, self.phase, self.params) == (
            trigger.text,
            trigger.phase,
            {**trigger.params, MARK: target},
        )


@dataclass(frozen=True, slots=True)
class Apoc:
    """The triggers of a database.

    Attributes:
        graph: The database.
        problem: Why there are no triggers, or empty.
    """

    graph: Graph
    problem: str = ""

    def triggers(self) -> dict[str, Installed]:
        """Return the triggers that the database has read, by name."""
        if self.problem:
            return {}
        return {row["name"]: Installed(**row) for row in self.graph.run(_LIST)}

    def install(self, triggers: Iterable[Trigger], target: str) -> None:
        """Install triggers and wait until they are in service.

        Raises:
            TriggerNotSeen: Neo4j does not show one of them in time.
        """
        waiting = list(triggers)
        for trigger in waiting:
            self._order(
                _INSTALL,
                trigger.name,
                text=trigger.text,
                phase=trigger.phase,
                params={**trigger.params, MARK: target},
            )
        names = [trigger.name for trigger in waiting]
        self._await(
            names,
            lambda found: {
                trigger.name
                for trigger in waiting
                if (one := found.get(trigger.name)) is not None
                and one.is_from(trigger, target)
                and one.installed
                and not one.paused
            },
        )
        self._forget(names)

    def drop(self, names: Iterable[str]) -> None:
        """Drop triggers and wait until they are out of service."""
        waiting = list(names)
        for name in waiting:
            self._order(_DROP, name)
        self._await(waiting, lambda found: {name for name in waiting if name not in found})
        self._forget(waiting)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop all triggers of sidecypher while the block runs; start them even if it fails."""
        found = self.triggers()
        working = [one.name for one in found.values() if one.target is not None and not one.paused]
        left = [one.name for one in self.left_stopped(found)]
        if working:
            self.graph.run(_NOTE, {"names": working})
        # Also when only some of them could be stopped.
        with afterwards(lambda: self.start([*working, *left])):
            self._pause(_STOP, working, paused=True)
            yield

    def left_stopped(self, found: Mapping[str, Installed]) -> list[Installed]:
        """Return the triggers that a run has stopped and not started again yet.

        Triggers that somebody else has stopped are not included.
        """
        noted = {row["name"] for row in self.graph.run(_NOTED)}
        return [one for one in found.values() if one.paused and one.name in noted]

    def start(self, names: Iterable[str]) -> None:
        """Start triggers and wait until they are in service.

        Raises:
            TriggerNotSeen: Neo4j does not show one of them in time.
        """
        waiting = list(names)
        self._pause(_START, waiting, paused=False)
        self._forget(waiting)

    def _pause(self, order: LiteralString, names: list[str], *, paused: bool) -> None:
        with ExitStack() as orders:
            # Every order is sent, even if another one fails.
            for name in names:
                orders.callback(self._order, order, name)
        self._await(
            names,
            lambda found: {
                name for name in names if name not in found or found[name].paused == paused
            },
        )

    def _forget(self, names: list[str]) -> None:
        if names:
            self.graph.run(_FORGET, {"names": names})

    def _order(self, order: LiteralString, name: str, **parameters: Any) -> None:
        self.graph.run(
            order, {"database": self.graph.database, "name": name, **parameters}, database=SYSTEM
        )

    def _await(self, names: list[str], done: Callable[[dict[str, Installed]], set[str]]) -> None:
        if not names:
            return
        deadline = time.monotonic() + WAIT_SECONDS
        while missing := set(names) - done(self.triggers()):
            if time.monotonic() > deadline:
                raise TriggerNotSeen(
                    f"Neo4j does not show within {WAIT_SECONDS:g} s what was done to the trigger "
                    f"`{min(missing)}`"
                )
            time.sleep(_POLL_SECONDS)


def find_apoc(graph: Graph) -> Apoc:
    """Return the triggers of a database, or the reason why it cannot have any."""
    with reported(), graph.session() as session:
        try:
            session.run(unlimited(_LIST)).consume()
        except Neo4jError as error:
            if error.code == "Neo.ClientError.Procedure.ProcedureNotFound":
                return Apoc(graph, "Neo4j has no APOC")
            if error.code == "Neo.ClientError.Procedure.ProcedureRegistrationFailed":
                return Apoc(graph, "APOC is not in `dbms.security.procedures.unrestricted`")
            if "apoc.trigger.enabled" in message_of(error):
                return Apoc(graph, "APOC has its triggers switched off (`apoc.trigger.enabled`)")
            raise
    return Apoc(graph)


def check(graph: Graph, trigger: Trigger) -> None:
    """Refuse a trigger that Neo4j cannot plan: with it installed, every write would fail.

    Raises:
        TriggerRefused: One of its parameters is not set, or Neo4j cannot plan it.
    """
    where = f"The trigger `{trigger.name}` in `{trigger.source}`, line {trigger.line},"
    given = {**GIVEN, **trigger.params, MARK: ""}
    found = [token for token in tokens(trigger.text) if token.kind not in {"space", "comment"}]
    for before, token in pairwise(found):
        if before.text == "$" and token.text.strip("`") not in given:
            raise TriggerRefused(
                f"{where} uses `${token.text}`, which neither APOC nor its header sets"
            )
    with reported(), graph.session() as session:
        try:
            session.run(unlimited(f"EXPLAIN {trigger.text}"), given).consume()
        except Neo4jError as error:
            raise TriggerRefused(
                f"{where} cannot be planned: {message_of(error)}",
                details={"code": error.code, "file": trigger.source, "line": trigger.line},
            ) from None
