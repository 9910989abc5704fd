"""A session as a conversation in the terminal."""

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecypher import CypherError, Neo4jUnavailable
from sidecypher_procedures.session.errors import InvalidAnswer, SessionError, UnknownSession
from sidecypher_procedures.session.people.connection import Graph
from sidecypher_procedures.session.people.terminal import json_in, say
from sidecypher_procedures.terminal import printable

RUN_SECONDS: Final = 5.0
"""How long one call of `session.run` begins new steps."""

_POLL_SECONDS: Final = 0.5
_ENDED: Final = frozenset({"completed", "error", "cancelled"})
_INTERRUPTED: Final = 130
_TIMEOUTS: Final = (
    "Neo.ClientError.Transaction.",
    "Neo.ClientError.Procedure.ProcedureTimedOut",
)


class Conversation:
    """A session, as a person at the terminal has it.

    Args:
        graph: The Neo4j that has it.
        session: Its id.
    """

    def __init__(self, graph: Graph, session: str) -> None:
        self._graph = graph
        self._session = session
        self._heard = 0

    def run(self) -> int:
        """Print replies and ask requests until the session ends.

        Returns:
            The exit code: 0 if the session was completed, 130 after Ctrl-C, else 1.

        Raises:
            UnknownSession: The session does not exist.
        """
        try:
            status = self._talk()
        except (KeyboardInterrupt, EOFError) as left:
            say("", err=True)
            command = shlex.join(["sidecypher", "session", "chat", "--session", self._session])
            say(f"The session stays as it is. To go on: {command}", err=True)
            return _INTERRUPTED if isinstance(left, KeyboardInterrupt) else 1
        say(f"The session {self._session} has ended: {status}.", err=True)
        return int(status != "completed")

    def _talk(self) -> str:
        pending: list[str] = []
        while True:
            session = self._read()
            requests = self._requests()
            self._tell(session["chat_history"], [each["statement"] for each in requests])
            status = str(session["status"])
            if status in _ENDED:
                for each in session["errors"]:
                    say(f"{each['step_id']} failed: {each['error']}", err=True)
                return status
            if requests:
                self._ask(requests[0])
                continue
            left = self._advance()
            if left and left == pending:
                # A worker or a time is what they wait for.
                time.sleep(_POLL_SECONDS)
            elif left:
                say(f"... {', '.join(left)}", err=True)
            pending = left

    def _read(self) -> dict[str, Any]:
        rows = self._graph.run("CALL session.get($id)", id=self._session)
        if not rows:
            raise UnknownSession(f"There is no session `{printable(self._session)}`")
        found: dict[str, Any] = rows[0]["session"]
        return found

    def _requests(self) -> list[dict[str, Any]]:
        return self._graph.run("CALL session.awaiting({sessionId: $id})", id=self._session)

    def _tell(self, messages: Sequence[Mapping[str, Any]], open_: Sequence[str]) -> None:
        """Print the messages that are new, but not those that ask what is asked below."""
        new = [*messages[self._heard :]]
        asked = [*open_]
        is_first = self._heard == 0
        self._heard = len(messages)
        shown = []
        for each in reversed(new):
            if each["role"] == "assistant" and each["content"] in asked:
                asked.remove(each["content"])
            # A person sees his own answers only if he comes back.
            elif each["role"] == "assistant" or is_first:
                shown.append(each)
        for each in reversed(shown):
            say(each["content"] if each["role"] == "assistant" else f"> {each['content']}")

    def _ask(self, request: Mapping[str, Any]) -> None:
        """Ask a request until an answer is accepted.

        Raises:
            EOFError: Standard input has ended.
        """
        options = request["options"] or []
        say(request["statement"])
        for number, option in enumerate(options, start=1):
            say(f"  {number}. {option}")
        while True:
            given = input("> ")
            try:
                self.answer(_chosen(given, options), request["requestId"])
            except SessionError as error:
                if error.code != InvalidAnswer.code:
                    raise
                say(error.message, err=True)
            else:
                return

    def answer(self, text: str, request: str | None) -> None:
        """Answer a request by a text, or by the JSON in it if the request does not accept text.

        Raises:
            SessionError: The answer is not accepted.
        """
        try:
            self._input(text, request)
        except SessionError as error:
            value = json_in(text)
            if value is None or error.code != InvalidAnswer.code:
                raise
            self._input(value, request)

    def _input(self, value: Any, request: str | None) -> None:
        options = {} if request is None else {"requestId": request}
        self._graph.run(
            "CALL session.input($id, $value, $options)",
            id=self._session,
            value=value,
            options=options,
        )

    def _advance(self) -> list[str]:
        """Run steps for some seconds; return the ids of those that are left."""
        try:
            [row] = self._graph.run(
                "CALL session.run($id, {seconds: $seconds})",
                id=self._session,
                seconds=RUN_SECONDS,
            )
        except CypherError as error:
            if not error.neo4j_code.startswith(_TIMEOUTS):
                raise
            return []
        except Neo4jUnavailable as error:
            if not error.retryable:
                raise
            time.sleep(_POLL_SECONDS)
            return []
        found: list[str] = row["pending"]
        return found


def _chosen(text: str, options: Sequence[str]) -> str:
    """Return the option that a text names by its number; the text itself if it names none.

    Example:
        >>> [_chosen(text, ["yes", "no"]) for text in ("no", "2", "3")]
        ['no', 'no', '3']
    """
    if text not in options and text.isdecimal() and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    return text
