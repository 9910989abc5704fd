"""Calls with Cypher in a real graph, with the values and errors that a test in memory sees."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import neo4j
from neo4j.exceptions import Neo4jError

from sidecypher.errors import CallError, CypherError, split_code
from sidecypher.sdk.driver_records import record_of
from sidecypher.sdk.results import Record
from sidecypher.values.coders import to_driver


class RealGraph:
    """What the fixture `sidecypher_call` is with `--sidecypher-on neo4j`."""

    def __init__(self, session: neo4j.Session) -> None:
        self._session = session

    def __call__(self, name: str, *arguments: Any) -> list[Record]:
        """Call a procedure and return its rows, each a dict by column name.

        Raises:
            CallError: With the code of the procedure's error. Its text ends with the hint.
        """
        parameters = {f"p{index}": value for index, value in enumerate(arguments)}
        listed = ", ".join(f"${parameter}" for parameter in parameters)
        with _as_call_errors():
            # A procedure's name cannot be a parameter; Neo4j itself refuses what is not a name.
            found = self._session.run(f"CALL {name}({listed})", to_driver(parameters))
            return [record_of(record) for record in found]

    def given(self, cypher: str, **params: Any) -> None:
        """Run a statement that prepares the graph."""
        self._session.run(cypher, to_driver(params)).consume()

    def expect(
        self,
        cypher: str,
        *,
        params: Mapping[str, Any] | None = None,
        records: Iterable[Record] = (),
    ) -> None:
        """Do nothing: the graph answers."""


@contextmanager
def _as_call_errors() -> Iterator[None]:
    """Raise errors of Neo4j's driver as those of a call."""
    try:
        yield
    except Neo4jError as error:
        code, text = split_code(error.message or "")
        if code:
            raise CallError(text, code=code) from error
        raise CypherError(text, neo4j_code=error.code or "") from error
