"""`ExpectedStatements`, a mock of the graph: expected statements and their records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sidecypher.errors import CypherError, SidecypherError
from sidecypher.sdk.results import Record


class UnexpectedStatement(SidecypherError, AssertionError):
    """A function ran a statement that its test does not expect, or did not run an expected one."""

    code = "SC-621"


@dataclass(frozen=True, slots=True)
class _Expected:
    statement: str
    params: Mapping[str, Any] | None
    records: list[Record]
    failure: CypherError | None


class ExpectedStatements:
    """Mock of `ctx.run`: returns the records of each expected statement once, in any order.

    Statements are compared word by word, so line breaks and indentation do not matter. Pass it to
    `ProcedureEnvironment(run=...)`.

    Example:
        >>> graph = ExpectedStatements()
        >>> graph.expect("MATCH (n) RETURN n.name AS name", records=[{"name": "Ann"}])
        >>> graph("MATCH (n)  RETURN n.name AS name", {})
        [{'name': 'Ann'}]
        >>> graph.verify()
    """

    def __init__(self) -> None:
        self._waiting: list[_Expected] = []
        self._unexpected: list[str] = []

    def expect(
        self,
        cypher: str,
        *,
        params: Mapping[str, Any] | None = None,
        records: Iterable[Record] = (),
        fails_with: str | None = None,
    ) -> None:
        """Expect a statement once more.

        Args:
            cypher: The statement.
            params: Its parameters; None allows any.
            records: Its records.
            fails_with: Neo4j's status if the statement fails, such as
                `Neo.ClientError.Schema.ConstraintValidationFailed`.
        """
        failure = (
            None
            if fails_with is None
            else CypherError("The test lets this statement fail", neo4j_code=fails_with)
        )
        self._waiting.append(_Expected(_words(cypher), params, list(records), failure))

    def __call__(self, cypher: str, params: Mapping[str, Any]) -> list[Record]:
        """Return the records of a statement.

        Raises:
            CypherError: The test set a failure for it.
            UnexpectedStatement: No remaining expectation matches it.
        """
        for expected in self._waiting:
            if expected.statement == _words(cypher) and expected.params in (None, params):
                self._waiting.remove(expected)
                if expected.failure is not None:
                    raise expected.failure
                return expected.records
        self._unexpected.append(_words(cypher))
        raise _unexpected(cypher)

    def verify(self) -> None:
        """Check that all expected statements were run, and no others.

        Raises:
            UnexpectedStatement: A statement is missing or unexpected; the text names it.
        """
        if self._unexpected:
            raise _unexpected(self._unexpected[0])
        if self._waiting:
            raise UnexpectedStatement(
                f"The statement `{self._waiting[0].statement}` was expected and did not come",
                hint="Correct the function, or do not expect it.",
            )


def _unexpected(cypher: str) -> UnexpectedStatement:
    return UnexpectedStatement(
        f"The statement `{_words(cypher)}` came with parameters that no `expect` allows, "
        "or too often, or unexpectedly",
        hint="Add the statement with `expect(...)`.",
    )


def _words(cypher: str) -> str:
    return " ".join(cypher.split())
