"""The memory client with its three modes, and a search in the memory."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, LiteralString, Protocol, Self, cast

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
    extracted,
    judgements,
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


_CONTEXT: Final = "CALL rules.context($input, $options) YIELD graphContext RETURN graphContext"
_ADD: Final = """
    CALL rules.add($rule, $extraction, $options)
    YIELD id, status, reason, contradicts, extractionId, created
    RETURN id, status, reason, contradicts, extractionId, created
"""
_REMEMBER: Final = """
    CALL rules.remember($input, $options)
    YIELD extractionId, concepts, facts, ended, rules, leftOut
    RETURN extractionId, concepts, facts, ended, rules, leftOut
"""
_FORGET: Final = """
    CALL rules.forget($what) YIELD label, id, deleted, reason
    RETURN label, id, deleted, reason
"""
_UNKNOWN: Final = """
    CALL rules.unknown($ruleId, $options) YIELD otherId, text, otherText, rev
    RETURN otherId, text, otherText, rev
"""
_SUSPECT: Final = """
    CALL rules.suspect($ruleId, $judgements, $rev) YIELD id, status, reason
    RETURN id, status, reason
"""
_SHARE_OF_TIMEOUT: Final = 0.8
_LOG: Final = logging.getLogger("sidecypher_procedures.rules.client")
_Rows = list[dict[str, Any]]


class MemoryClient:
    """Client of a memory of users' rules and concepts, for agents that run outside of Neo4j.

    In the mode OFF calls check their arguments and return None. Without an answer OPTIONAL returns
    None and writes a line to the log, and REQUIRED raises `MemoryUnavailable`. Invalid arguments
    raise in every mode. Thread-safe.

    Args:
        settings: The settings; those of the environment by default.
        breaker: The circuit breaker; one with the values of the settings by default.

    Raises:
        ClientSettingsError: A variable of the environment cannot be used.

    Example:
        >>> with MemoryClient(ClientSettings(mode="OFF")) as memory:
        ...     memory.add({"userId": "ann", "text": "formal tone"}, {"method": "rule"})
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def context(
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
        chosen = dict(options or {})
        ContextInput.from_map(values, "input")
        ContextOptions.from_map(chosen)
        milliseconds = int(self.settings.timeout * 1000 * _SHARE_OF_TIMEOUT)
        chosen.setdefault("deadlineMs", max(1, milliseconds))
        row = self._row(_CONTEXT, "graphContext", write=False, input=dict(values), options=chosen)
        return None if row is None else cast("GraphContext", row["graphContext"])

    def add(
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
        chosen = dict(options or {})
        RuleInput.from_map(rule, "rule")
        ExtractionInput.from_map(extraction, "extraction")
        MomentOptions.from_map(chosen)
        given = {"rule": dict(rule), "extraction": dict(extraction), "options": chosen}
        return cast("Added | None", self._row(_ADD, "id", write=True, **given))

    def remember(
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
        chosen, given = dict(options or {}), dict(values)
        MomentOptions.from_map(chosen)
        (RememberInput if extractor is None else TextInput).from_map(given, "input")
        if extractor is not None:
            found = self._extracted(given, extractor)
            if found is None:
                return None
            given = found
        row = self._row(_REMEMBER, "extractionId", write=True, input=given, options=chosen)
        return cast("Remembered | None", row)

    def forget(self, what: Mapping[str, Any]) -> list[Forgotten] | None:
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
        found = self._rows(_FORGET, "label", write=True, what=dict(what))
        return cast("list[Forgotten] | None", found)

    def search(self, user_id: str, query: str, *, most: int = 10) -> _Rows | None:
        """Return the rows of `rules.search`, or None without a memory.

        Raises:
            CallError: An argument cannot be used (SC-204).
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        _check(user_id, query, most)
        return self._rows(_SEARCH, "id", write=False, user=user_id, words=query, most=most)

    def judge(
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
        rows = self.read(_UNKNOWN, ruleId=rule_id, options={"limit": limit})
        suspected = judgements(rows or [], judge)
        if not rows or not suspected:
            return None
        given = {"ruleId": rule_id, "judgements": suspected, "rev": rows[0]["rev"]}
        return cast("RuleStatus | None", self._row(_SUSPECT, "id", write=True, **given))

    def read(self, statement: LiteralString, **parameters: Any) -> _Rows | None:
        """Run your own statement that reads; return its records, or None without a memory.

        Raises:
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        return self._ask(lambda connection: connection.read(statement, **parameters))

    def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _row(
        self, statement: LiteralString, key: str, *, write: bool, **parameters: Any
    ) -> dict[str, Any] | None:
        """Return the only row of a procedure."""
        rows = self._rows(statement, key, write=write, least=1, **parameters)
        return None if rows is None else rows[0]

    def _rows(
        self, statement: LiteralString, key: str, *, write: bool, least: int = 0, **parameters: Any
    ) -> _Rows | None:
        """Return the rows of a procedure, `least` or more; its column `key` is never null."""

        def ask(connection: "Connection") -> _Rows:
            run = connection.write if write else connection.read
            rows = run(statement, **parameters)
            if len(rows) < least or any(row[key] is None for row in rows):
                # An OPTIONAL procedure returns this without a sidecar.
                raise MemoryUnavailable("The memory gave nothing: no sidecar answers")
            return rows

        return self._ask(ask)

    def _ask(self, ask: "Callable[[Connection], _Rows]") -> _Rows | None:
        if self.settings.mode == "OFF":
            return None
        try:
            return self._guarded(ask)
        except MemoryUnavailable as error:
            if self.settings.mode == "REQUIRED":
                raise
            _LOG.warning("memory is not available: %s", error.message, extra={"code": error.code})
            return None

    def _guarded(self, ask: "Callable[[Connection], _Rows]") -> _Rows:
        if not self._breaker.admits():
            raise _breaker_open()
        try:
            rows = ask(self._connected())
        except MemoryUnavailable:
            self._breaker.failed()
            raise
        except CallError:
            # The memory is available and has rejected the arguments.
            self._breaker.succeeded()
            raise
        self._breaker.succeeded()
        return rows

    def _connected(self) -> "Connection":
        # OFF must not import the driver.
        from sidecypher_procedures.rules.client.connection import Connection  # noqa: PLC0415

        with self._lock:
            if self._connection is None:
                self._connection = Connection(self.settings)
            return self._connection

    def _extracted(self, given: dict[str, Any], extractor: Extractor) -> dict[str, Any] | None:
        """Return the input with the findings of the extractor; None without a memory."""
        if self.settings.mode == "OFF":
            return None
        try:
            self._check_breaker()
            found = extracted(given, extractor)
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


def _breaker_open() -> MemoryUnavailable:
    return MemoryUnavailable("The memory failed again and again, and is left alone for a while")


_SEARCH: Final = """
    CALL rules.search($user, $words, {limit: $most}) YIELD kind, id, text, score
    RETURN kind, id, text, score
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A search hit.

    Attributes:
        kind: ``rule``, ``concept`` or ``extraction``.
        id: Its id.
        text: Its text, name or snippet.
        score: Relative relevance.
    """

    kind: Literal["rule", "concept", "extraction"]
    id: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        provider: The name of the provider.
        found: The hits, the best first.
        reason: Why there was no search, or None.
    """

    provider: str
    found: tuple[Found, ...] = ()
    reason: str | None = None


class SearchProvider(Protocol):
    """Provider of search results in place of a web search."""

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return the results of a query.

        Args:
            user_id: The user whose memory is searched.
            query: Plain words.
            most: The most results.
        """


class DisabledSearch:
    """Provider that always reports that search is disabled.

    Example:
        >>> DisabledSearch().search("ann", "weather").reason
        'search is disabled'
    """

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return that search is disabled."""
        _check(user_id, query, most)
        return SearchResult("disabled", reason="search is disabled")


class LocalSearch:
    """Provider that searches the memory by `rules.search`.

    Args:
        memory: The memory to search. Its mode decides what happens without an answer.
    """

    def __init__(self, memory: MemoryClient) -> None:
        self._memory = memory

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return the user's rules, concepts and extractions with words of the query.

        Raises:
            CallError: There is no user, or `most` is out of range (SC-204).
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        rows = self._memory.search(user_id, query, most=most)
        if not any(map(str.isalnum, query)):
            return SearchResult("local", reason="the query has no words")
        if rows is None:
            return SearchResult("local", reason="the memory is not available")
        found = (Found(row["kind"], row["id"], row["text"], row["score"]) for row in rows)
        return SearchResult("local", tuple(found))


def _chat_judge(settings: ClientSettings) -> ChatJudge | None:
    if settings.judge_url is None:
        return None
    return ChatJudge(
        settings.judge_url,
        settings.judge_model,
        key=settings.judge_key,
        timeout=settings.judge_timeout,
    )


def search_provider(memory: MemoryClient) -> SearchProvider:
    """Return the provider from the memory's setting `search`."""
    return LocalSearch(memory) if memory.settings.search == "local" else DisabledSearch()


def _check(user_id: str, query: str, most: int) -> None:
    SearchInput.from_map({"userId": user_id, "query": query, "most": most}, "search")
