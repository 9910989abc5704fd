"""`replay`: run a recorded call again, without Neo4j."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sidecypher.errors import CypherError
from sidecypher.operations.recording import Exchange, Recording
from sidecypher.protocol.envelope import CursorRequest, RunError, RunReply, RunRequest, read
from sidecypher.sdk.results import Record
from sidecypher.testing.environment import ProcedureEnvironment
from sidecypher.testing.statements import UnexpectedStatement
from sidecypher.values.coders import decode_any


def replay(
    recording: Path, *functions: Callable[..., Any], folders: Iterable[Path | str] = ()
) -> Any:
    """Run a recorded call with the current code; its statements return the recorded records.

    A sidecar with the setting `record_dir` writes one file for each call that fails.

    Args:
        recording: The file.
        functions: Functions decorated with `@procedure`, among them the recorded one.
        folders: Folders of procedures, as for `ProcedureEnvironment`.

    Returns:
        If the call succeeds now: the rows of a procedure, each a dict by column name, or the value
        of a function.

    Raises:
        CallError: The call fails, with the recorded error or another one.
        RecordingError: The file is not a recording.
        UnexpectedStatement: The function now runs other statements than were recorded.

    Example:
        ```python
        def test_the_call_of_last_night():
            assert replay(Path("call-17.json"), similar) == []
        ```
    """
    recorded = Recording.read(recording)
    answers = _Answers(_statements(recorded.exchanges))
    with ProcedureEnvironment(*functions, folders=folders, run=answers) as environment:
        try:
            call = environment.value if recorded.kind == "function" else environment.call
            return call(recorded.name, *map(decode_any, recorded.args))
        finally:
            answers.verify()


@dataclass(slots=True)
class _Statement:
    """A recorded statement with its records or its failure."""

    cypher: str
    params: dict[str, Any]
    records: list[Record] = field(default_factory=list)
    failure: RunError | None = None

    def add(self, reply: RunReply) -> None:
        """Add a page."""
        self.failure = self.failure or reply.error
        self.records += [
            dict(zip(reply.columns, map(decode_any, row), strict=True)) for row in reply.rows
        ]


def _statements(exchanges: Iterable[Exchange]) -> Iterator[_Statement]:
    """Join the pages of each statement."""
    found: dict[int, _Statement] = {}
    for exchange in exchanges:
        if exchange.method == "run":
            request = read(bytes(exchange.request), RunRequest)
            params = {name: decode_any(value) for name, value in request.params.items()}
            found[request.cursor] = _Statement(request.cypher, params)
        cursor = read(bytes(exchange.request), CursorRequest).cursor
        found[cursor].add(read(bytes(exchange.reply), RunReply))
    return iter(found.values())


class _Answers:
    """Recorded answers of `ctx.run`, in their order."""

    def __init__(self, statements: Iterator[_Statement]) -> None:
        self._statements = statements
        self._unexpected: UnexpectedStatement | None = None

    def __call__(self, cypher: str, params: Mapping[str, Any]) -> list[Record]:
        recorded = next(self._statements, None)
        if recorded is None or (recorded.cypher, recorded.params) != (cypher, params):
            self._unexpected = UnexpectedStatement(
                "The function runs a statement that was not recorded at this point",
                hint="Record the call again with the current code.",
            )
            raise self._unexpected
        if recorded.failure is not None:
            raise CypherError(recorded.failure.message, neo4j_code=recorded.failure.code)
        return recorded.records

    def verify(self) -> None:
        """Raise the `UnexpectedStatement` that became a `CallError` or that the function caught."""
        if self._unexpected is not None:
            raise self._unexpected from None
