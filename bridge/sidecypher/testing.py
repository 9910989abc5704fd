"""Test procedures with no server.

Example:
    >>> from sidecypher import Row, procedure
    >>> class Twice(Row):
    ...     value: int
    >>> @procedure("demo.twice")
    ... def twice(value: int) -> Twice:
    ...     return Twice(value=2 * value)
    >>> with ProcedureEnvironment(twice) as environment:
    ...     environment.call("demo.twice", 21)
    [{'value': 42}]
"""

import types
from collections.abc import Callable, Mapping
from typing import Any, Self

import structlog

from sidecypher import envelope
from sidecypher.batch import with_twins
from sidecypher.codec import decoder, encoder
from sidecypher.dispatch import Dispatcher
from sidecypher.envelope import RunReply, RunRequest
from sidecypher.executors import EventLoop
from sidecypher.registry import Registry, procedures_in
from sidecypher.resources import Resources
from sidecypher.results import Record
from sidecypher.signature import CypherType
from sidecypher.state import CallBack, no_transaction
from sidecypher.telemetry import Telemetry, configure_logging
from sidecypher.transport.memory import Client, memory
from sidecypher.types import Limits

Run = Callable[[str, Mapping[str, Any]], list[Record]]
"""Stands in for the caller's transaction: takes a statement and parameters, gives records."""


class ProcedureEnvironment:
    """Runs procedures as the sidecar does, types and errors included, without Neo4j.

    Args:
        bodies: Functions decorated with `@procedure`.
        run: Answers `ctx.run`; without it `ctx.run` raises `NoTransaction`.
        timeout: Seconds each call may take.
    """

    def __init__(
        self, *bodies: Callable[..., Any], run: Run | None = None, timeout: float = 30.0
    ) -> None:
        if not structlog.is_configured():
            configure_logging("WARNING", "console")
        holder = types.ModuleType("bodies")
        vars(holder).update({f"body_{index}": body for index, body in enumerate(bodies)})
        self._registry = Registry(with_twins(procedures_in([holder])))
        self._loop = EventLoop()
        self._resources = Resources()
        dispatcher = Dispatcher(self._registry, self._loop, self._resources, Telemetry(), Limits())
        send = memory(dispatcher, no_transaction if run is None else _answer_with(run))
        signatures = {found.name: found.entry.signature for found in self._registry}
        self._client = Client(send, signatures, timeout)

    def call(self, name: str, *arguments: Any) -> list[Record]:
        """Call a procedure and return its rows, each a dict by column name.

        Raises:
            CallError: What Cypher would see, with its code.
        """
        columns = [column.name for column in self._registry.get(name).signature.columns]
        return [dict(zip(columns, row, strict=True)) for row in self._client.rows(name, *arguments)]

    def close(self) -> None:
        """Stop the event loop and the shared resources."""
        self._loop.stop([self._resources.stop])

    def __enter__(self) -> Self:
        """Return the environment."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the environment."""
        self.close()


def _answer_with(run: Run) -> CallBack:
    encode = encoder(CypherType("ANY", nullable=True))
    decode = decoder(CypherType("MAP"))

    def answer(_method: str, request: bytes) -> bytes:
        asked = envelope.read(request, RunRequest)
        records = run(asked.cypher, decode(asked.params))
        columns = list(records[0]) if records else []
        rows = [[encode(record[column]) for column in columns] for record in records]
        return envelope.write(RunReply(columns, rows))

    return answer
