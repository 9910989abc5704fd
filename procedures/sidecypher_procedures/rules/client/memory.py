"""The memory clients: one for asyncio, and one that runs the same calls and blocks."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import wraps
from inspect import isawaitable
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    LiteralString,
    ParamSpec,
    Self,
    TypeVar,
    cast,
)

from sidecypher import CallError
from sidecypher_procedures.rules.client.judge import ChatJudge
from sidecypher_procedures.rules.client.model import (
    Added,
    CircuitBreaker,
    ClientSettings,
    Extractor,
    Forgotten,
    GraphContext,
    Judge,
    Remembered,
    RuleStatus,
    judgements,
    texts_in,
    with_findings,
)
from sidecypher_procedures.rules.errors import MemoryUnavailable
from sidecypher_procedures.rules.options import (
    ContextInput,
    ContextOptions,
    ExtractionInput,
    ForgetInput,
    MomentOptions,
    Question,
    RememberInput,
    RuleInput,
    SearchInput,
    TextInput,
)

if TYPE_CHECKING:
    from sidecypher_procedures.rules.client.connection import Connection


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement, and what its rows must be.

    Attributes:
        text: The Cypher text.
        key: A column that is never null; an OPTIONAL procedure returns null without a sidecar.
        least: The least number of rows.
        write: Whether it writes.
    """

    text: LiteralString
    key: str | None = None
    least: int = 0
    write: bool = False


_CONTEXT: Final = _Statement(
    "CALL rules.context($input, $options) YIELD graphContext RETURN graphContext",
    key="graphContext",
    least=1,
)
_ADD: Final = _Statement(
    """
    CALL rules.add($rule, $extraction, $options)
    YIELD id, status, reason, contradicts, extractionId, created
    RETURN id, status, reason, contradicts, extractionId, created
    """,
    key="id",
    least=1,
    write=True,
)
_REMEMBER: Final = _Statement(
    """
    CALL rules.remember($input, $options)
    YIELD extractionId, concepts, facts, ended, rules, leftOut
    RETURN extractionId, concepts, facts, ended, rules, leftOut
    """,
    key="extractionId",
    least=1,
    write=True,
)
_FORGET: Final = _Statement(
    """
    CALL rules.forget($what) YIELD label, id, deleted, reason
    RETURN label, id, deleted, reason
    """,
    key="label",
    write=True,
)
_SEARCH: Final = _Statement(
    """
    CALL rules.search($user, $words, {limit: $most}) YIELD kind, id, text, score
    RETURN kind, id, text, score
    """,
    key="id",
)
_UNKNOWN: Final = _Statement(
    """
    CALL rules.unknown($ruleId, $options) YIELD otherId, text, otherText, rev
    RETURN otherId, text, otherText, rev
    """
)
_SUSPECT: Final = _Statement(
    """
    CALL rules.suspect($ruleId, $judgements, $rev) YIELD id, status, reason
    RETURN id, status, reason
    """,
    key="id",
    least=1,
    write=True,
)
_SHARE_OF_TIMEOUT: Final = 0.8
_GRACE_SECONDS: Final = 1.0
_LOG: Final = logging.getLogger("sidecypher_procedures.rules.client")
_Rows = list[dict[str, Any]]
_P = ParamSpec("_P")
_T = TypeVar("_T")


class AsyncMemoryClient:
    """Client of a memory of users' rules and concepts, for agents that run on asyncio.

    Has the calls of `MemoryClient`, as coroutines. Several tasks, threads and event loops may share
    a client. If a call is cancelled, its transaction ends.

    Args:
        settings: The settings; those of the environment by default.
        breaker: The circuit breaker; one with the values of the settings by default.

    Raises:
        ClientSettingsError: A variable of the environment cannot be used.

    Example:
        >>> async def agent():
        ...     async with AsyncMemoryClient(ClientSettings(mode="OFF")) as memory:
        ...         return await memory.context({"userId": "ann", "prompt": "Shorten the plan."})
        >>> asyncio.run(agent())
    """

    def __init__(
        self, settings: ClientSettings | None = None, *, breaker: CircuitBreaker | None = None
    ) -> None:
        self.settings = settings if settings is not None else ClientSettings.load()
        self._breaker = breaker or CircuitBreaker(
            self.settings.breaker_failures, self.settings.breaker_seconds
        )
        self._judge = _chat_judge(self.settings)
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        if self.is_off and "mode" not in self.settings.model_fields_set:
            _LOG.warning(
                "memory is off: nothing is read or remembered; set SIDECYPHER_GRAPHRAG_MODE to "
                "REQUIRED or OPTIONAL, or to OFF to confirm this"
            )

    @property
    def is_off(self) -> bool:
        """Whether the mode is OFF, so that calls only check their arguments and return None."""
        return self.settings.mode == "OFF"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def context(
        self, values: Mapping[str, Any], options: Mapping[str, Any] | None = None
    ) -> GraphContext | None:
        """Return the context of a task, or None without a memory.

        Args:
            values: The `input` of `rules.context`.
            options: Its options; `deadlineMs` is 80 % of the setting `timeout` by default.

        Raises:
            CallError: The input or an option cannot be used (SC-204).
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        ContextInput.from_map(values, "input")
        ContextOptions.from_map(options or {})
        chosen = dict(options or {})
        milliseconds = int(self.settings.timeout * 1000 * _SHARE_OF_TIMEOUT)
        chosen.setdefault("deadlineMs", max(1, milliseconds))
        row = await self._row(_CONTEXT, input=dict(values), options=chosen)
        return None if row is None else cast("GraphContext", row["graphContext"])

    async def add(
        self,
        rule: Mapping[str, Any],
        extraction: Mapping[str, Any],
        options: Mapping[str, Any] | None = None,
    ) -> Added | None:
        """State a rule of a user; return its status, or None without a memory.

        Args:
            rule: The rule, as `rules.add` accepts it.
            extraction: The source of the rule.
            options: `now` and `strategy`.

        Raises:
            CallError: The rule, the extraction or an option cannot be used (SC-204).
            RuleTaken: The rule exists with another id.
            MemoryUnavailable: There is no answer, and the mode is REQUIRED. The rule may have been
                written; stating it again is harmless.
        """
        RuleInput.from_map(rule, "rule")
        ExtractionInput.from_map(extraction, "extraction")
        MomentOptions.from_map(options or {})
        chosen = dict(options or {})
        given = {"rule": dict(rule), "extraction": dict(extraction), "options": chosen}
        return cast("Added | None", await self._row(_ADD, **given))

    async def remember(
        self,
        values: Mapping[str, Any],
        options: Mapping[str, Any] | None = None,
        *,
        extractor: Extractor | None = None,
    ) -> Remembered | None:
        """Write the findings of a text; return None without a memory.

        Args:
            values: The `input` of `rules.remember`.
            options: `now` and `strategy`.
            extractor: Extractor of entities, relations and rules, instead of the deterministic
                one of the procedure. It runs before anything is written, and not at all without
                a memory.

        Raises:
            CallError: The input or an option cannot be used (SC-204).
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
            Exception: Any error of the extractor, if the mode is REQUIRED.
        """
        MomentOptions.from_map(options or {})
        (RememberInput if extractor is None else TextInput).from_map(values, "input")
        chosen, given = dict(options or {}), dict(values)
        if extractor is not None:
            found = await self._extracted(given, extractor)
            if found is None:
                return None
            given = found
        row = await self._row(_REMEMBER, input=given, options=chosen)
        return cast("Remembered | None", row)

    async def forget(self, what: Mapping[str, Any]) -> list[Forgotten] | None:
        """Delete a rule, an extraction, or all of a session or a user; None without a memory.

        Args:
            what: The argument of `rules.forget`.

        Returns:
            What was deleted, and what stays and has lost something.

        Raises:
            CallError: The argument cannot be used (SC-204).
            UnknownRule: No rule has this id.
            UnknownExtraction: No extraction has this id.
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        ForgetInput.from_map(what, "what")
        found = await self._rows(_FORGET, what=dict(what))
        return cast("list[Forgotten] | None", found)

    async def search(self, user_id: str, query: str, *, most: int = 10) -> _Rows | None:
        """Return the rows of `rules.search`, or None without a memory.

        Raises:
            CallError: An argument cannot be used (SC-204).
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        SearchInput.from_map({"userId": user_id, "query": query, "most": most}, "search")
        return await self._rows(_SEARCH, user=user_id, words=query, most=most)

    async def judge(
        self, rule_id: str, judge: Judge | None = None, *, limit: int = 100
    ) -> RuleStatus | None:
        """Ask a model about the rules that the detector cannot compare; record its suspicions.

        Args:
            rule_id: The rule.
            judge: The model; it is called between two transactions, never within one. By default
                that of the settings; without one, no model is asked.
            limit: Most other rules to judge.

        Returns:
            The new status of the rule; None without a memory or a suspicion.

        Raises:
            ScopeChanged: The scope was written while the model was running.
            CallError: The id is not a text, or the limit is out of range (SC-204).
            InvalidInput: The judge returned something that is not a judgement.
            JudgeUnavailable: The judge of the settings does not answer.
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
            Exception: Any error of the judge.
        """
        Question.from_map({"ruleId": rule_id, "limit": limit}, "question")
        judge = judge or self._judge
        if judge is None:
            return None
        rows = await self._rows(_UNKNOWN, ruleId=rule_id, options={"limit": limit})
        if not rows:
            return None
        pairs = [(row["text"], row["otherText"]) for row in rows]
        suspected = judgements(rows, await self._call(judge, pairs))
        if not suspected:
            return None
        given = {"ruleId": rule_id, "judgements": suspected, "rev": rows[0]["rev"]}
        return cast("RuleStatus | None", await self._row(_SUSPECT, **given))

    async def read(self, /, statement: LiteralString, **parameters: Any) -> _Rows | None:
        """Run your own statement that reads; return its records, or None without a memory.

        Raises:
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        return await self._rows(_Statement(statement), **parameters)

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            await self._call(connection.close)

    async def _row(self, statement: _Statement, **parameters: Any) -> dict[str, Any] | None:
        """Return the only row of a procedure."""
        rows = await self._rows(statement, **parameters)
        return None if rows is None else rows[0]

    async def _rows(self, statement: _Statement, **parameters: Any) -> _Rows | None:
        """Return the rows of a statement; without an answer act as the mode says."""
        if self.is_off:
            return None
        try:
            return await self._guarded(statement, parameters)
        except MemoryUnavailable as error:
            if self.settings.mode == "REQUIRED":
                raise
            _LOG.warning("memory is not available: %s", error.message, extra={"code": error.code})
            return None

    async def _guarded(self, statement: _Statement, parameters: dict[str, Any]) -> _Rows:
        if not self._breaker.admits():
            raise _breaker_open()
        try:
            rows = await self._run(statement, parameters)
        except MemoryUnavailable:
            self._breaker.failed()
            raise
        except CallError:
            # The memory is available and has rejected the arguments.
            self._breaker.succeeded()
            raise
        self._breaker.succeeded()
        return rows

    async def _run(self, statement: _Statement, parameters: dict[str, Any]) -> _Rows:
        write, key = statement.write, statement.key
        seconds = self.settings.write_timeout if write else self.settings.timeout
        if self._connection is None:
            # It takes 0.2 s, in which an agent's event loop would stand still.
            await self._call(_import_driver)
        running = self._connected().submit(statement.text, parameters, seconds, write=write)
        try:
            # The connection has its own timeout, but its thread does not exist after a fork.
            rows = await self._result(running, seconds + _GRACE_SECONDS)
        except TimeoutError:
            raise MemoryUnavailable("The memory gave no answer in time", retryable=True) from None
        if len(rows) < statement.least or (key and any(row[key] is None for row in rows)):
            raise MemoryUnavailable("The memory gave nothing: no sidecar answers")
        return rows

    def _connected(self) -> "Connection":
        # OFF must not import the driver.
        from sidecypher_procedures.rules.client.connection import Connection  # noqa: PLC0415

        with self._lock:
            if self._connection is None:
                self._connection = Connection(self.settings)
            return self._connection

    async def _extracted(
        self, given: dict[str, Any], extractor: Extractor
    ) -> dict[str, Any] | None:
        """Return the input with the findings of the extractor; None without a memory."""
        if self.is_off:
            return None
        try:
            self._check_breaker()
            found = with_findings(given, await self._call(extractor, texts_in(given)))
            RememberInput.from_map(found, "input")
        except Exception as error:
            if self.settings.mode == "REQUIRED":
                raise
            # Only the type: the error text may quote a user.
            _LOG.warning("nothing is remembered: %s", type(error).__name__)
            return None
        return found

    def _check_breaker(self) -> None:
        if self._breaker.is_open:
            raise _breaker_open()

    async def _result(self, running: Future[_Rows], seconds: float) -> _Rows:
        """Wait for an answer; a cancelled task cancels its statement."""
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(running)

    async def _call(self, function: Callable[..., _T | Awaitable[_T]], *arguments: Any) -> _T:
        """Call a function that may block, or a coroutine function."""
        found = await asyncio.to_thread(function, *arguments)
        return await found if isawaitable(found) else found


class _BlockingCalls(AsyncMemoryClient):
    """The calls with steps that block, so that their coroutines end without an event loop."""

    async def _result(self, running: Future[_Rows], seconds: float) -> _Rows:
        return running.result(seconds)

    async def _call(self, function: Callable[..., _T | Awaitable[_T]], *arguments: Any) -> _T:
        found = function(*arguments)
        return asyncio.run(_awaited(found)) if isawaitable(found) else found


async def _awaited(found: Awaitable[_T]) -> _T:
    return await found


def _blocking(
    call: Callable[Concatenate[AsyncMemoryClient, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate["MemoryClient", _P], _T]:
    """Return a call of the asynchronous client as a method of the one that blocks."""

    @wraps(call)
    def run(self: "MemoryClient", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        steps = call(self._calls, *args, **kwargs)
        try:
            while True:
                steps.send(None)
        except StopIteration as end:
            return cast("_T", end.value)

    run.__qualname__ = f"MemoryClient.{call.__name__}"
    return run


class MemoryClient:
    """Client of a memory of users' rules and concepts, for agents that run outside of Neo4j.

    In the mode OFF calls check their arguments and return None. Without an answer OPTIONAL returns
    None and writes a line to the log, and REQUIRED raises `MemoryUnavailable`. Invalid arguments
    raise in every mode. If no mode was chosen, it is OFF, and a line in the log says so.
    Thread-safe.

    Args:
        settings: The settings; those of the environment by default.
        breaker: The circuit breaker; one with the values of the settings by default.

    Raises:
        ClientSettingsError: A variable of the environment cannot be used.

    Example:
        >>> with MemoryClient(ClientSettings(mode="OFF")) as memory:
        ...     memory.add({"userId": "ann", "text": "formal tone"}, {"method": "rule"})
        ...     memory.is_off
        True
    """

    def __init__(
        self, settings: ClientSettings | None = None, *, breaker: CircuitBreaker | None = None
    ) -> None:
        self._calls = _BlockingCalls(settings, breaker=breaker)

    @property
    def settings(self) -> ClientSettings:
        """The settings."""
        return self._calls.settings

    @property
    def is_off(self) -> bool:
        """Whether the mode is OFF, so that calls only check their arguments and return None."""
        return self._calls.is_off

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    context = _blocking(AsyncMemoryClient.context)
    add = _blocking(AsyncMemoryClient.add)
    remember = _blocking(AsyncMemoryClient.remember)
    forget = _blocking(AsyncMemoryClient.forget)
    search = _blocking(AsyncMemoryClient.search)
    judge = _blocking(AsyncMemoryClient.judge)
    read = _blocking(AsyncMemoryClient.read)
    close = _blocking(AsyncMemoryClient.close)


def _import_driver() -> None:
    from sidecypher_procedures.rules.client import connection  # noqa: F401, PLC0415


def _breaker_open() -> MemoryUnavailable:
    return MemoryUnavailable("The memory failed again and again, and is left alone for a while")


def _chat_judge(settings: ClientSettings) -> Judge | None:
    if settings.judge_url is None:
        return None
    judge = ChatJudge(
        settings.judge_url,
        settings.judge_model,
        key=settings.judge_key,
        timeout=settings.judge_timeout,
    )
    return judge.compare
