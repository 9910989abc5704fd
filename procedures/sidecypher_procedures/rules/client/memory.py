"""The client itself: three calls, three modes, one error; and a search in what is known."""

import logging
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, LiteralString, Protocol, Self, cast

from sidecypher import CallError
from sidecypher_procedures.rules.client.model import (
    Added,
    CircuitBreaker,
    ClientSettings,
    Extractor,
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
    CALL rules.remember($input, $options) YIELD extractionId, concepts, facts, rules, leftOut
    RETURN extractionId, concepts, facts, rules, leftOut
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
    """A memory of what users want and talk about, for an agent that runs outside of Neo4j.

    OFF checks its arguments and gives None. OPTIONAL gives None, and writes a line to the log, when
    there is no answer. REQUIRED raises `MemoryUnavailable` then. Arguments that cannot be used
    raise in every mode. Safe for several threads.

    Args:
        settings: The settings; those of the environment if left out.
        breaker: What keeps from asking a memory that fails; one of the settings if left out.

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
        """Return what to know before writing, or None without a memory.

        Args:
            values: The `input` of `rules.context`.
            options: Its options; `deadlineMs` is some of the setting `timeout` if left out.

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
        """State a rule of a user; return what became of it, or None without a memory.

        Args:
            rule: The rule, as `rules.add` takes it.
            extraction: Where it comes from.
            options: `now` and `strategy`.

        Raises:
            CallError: The rule, the extraction or an option cannot be used (SC-204).
            RuleTaken: The rule is there under another id.
            MemoryUnavailable: There is no answer, and the mode is REQUIRED; whether the rule was
                written is not known then, and to state it again is harmless.
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
        """Write what is in a text, or what was found in it; None without a memory.

        Args:
            values: The `input` of `rules.remember`.
            options: `now` and `strategy`.
            extractor: What finds entities, relations and rules in the texts, instead of the
                deterministic extractor of the procedure. It runs before anything is written, and
                not at all when there is no memory to write to.

        Raises:
            CallError: The input or an option cannot be used (SC-204).
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
            Exception: Whatever the extractor raises, if the mode is REQUIRED.
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

    def judge(self, rule_id: str, judge: Judge, *, limit: int = 100) -> RuleStatus | None:
        """Ask a model about the rules that the detector cannot compare with one; record it.

        Args:
            rule_id: The rule.
            judge: The model; it is asked between two transactions, never within one.
            limit: Other rules at most.

        Returns:
            How the rule stands then; None without a memory, or when nothing is suspected.

        Raises:
            ScopeChanged: The scope was written while the model was asked.
            CallError: The id is not a text, or the limit is out of range (SC-204).
            InvalidInput: The judge gives what is not a judgement.
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
            Exception: Whatever the judge raises.
        """
        Question.from_map({"ruleId": rule_id, "limit": limit}, "question")
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
        """End the connections; a later call makes new ones."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _row(
        self, statement: LiteralString, key: str, *, write: bool, **parameters: Any
    ) -> dict[str, Any] | None:
        """Return the only row of a procedure."""

        def ask(connection: "Connection") -> _Rows:
            run = connection.write if write else connection.read
            rows = run(statement, **parameters)
            if len(rows) != 1 or rows[0][key] is None:
                # This is what an OPTIONAL procedure gives when no sidecar is there.
                raise MemoryUnavailable("The memory gave nothing: no sidecar answers")
            return rows

        rows = self._ask(ask)
        return None if rows is None else rows[0]

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
            raise _gave_up()
        try:
            rows = ask(self._connected())
        except MemoryUnavailable:
            self._breaker.failed()
            raise
        except CallError:
            # It is there, and refuses.
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
        """Return the input with what the extractor finds; None if there is no memory for it."""
        if self.settings.mode == "OFF":
            return None
        try:
            self._check_breaker()
            found = extracted(given, extractor)
            RememberInput.from_map(found, "input")
        except Exception as error:
            if self.settings.mode == "REQUIRED":
                raise
            # Its text may be what a user said.
            _LOG.warning("nothing is remembered: %s", type(error).__name__)
            return None
        return found

    def _check_breaker(self) -> None:
        if self._breaker.is_open:
            raise _gave_up()


def _gave_up() -> MemoryUnavailable:
    return MemoryUnavailable("The memory failed again and again, and is left alone for a while")


_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 32
# Words in quotes are not syntax of the index. Whose an extraction is, what it says tells.
_SEARCH: Final = """
    CALL () {
        CALL db.index.fulltext.queryNodes('concept_text', $words) YIELD node, score
        WHERE node.user = $user
        RETURN 'concept' AS kind, node.key AS id, node.name AS text, score
        ORDER BY score DESC, id LIMIT $most
        UNION ALL
        CALL db.index.fulltext.queryNodes('extraction_text', $words) YIELD node, score
        WHERE EXISTS {
            MATCH (node)-[:ASSERTED|CONFIRMED|RETRACTED]->(x) WHERE x.user = $user
        }
        RETURN 'extraction' AS kind, node.extractionId AS id, node.rawSnippet AS text, score
        ORDER BY score DESC, id LIMIT $most
    }
    RETURN kind, id, text, score
    ORDER BY score DESC, kind, id LIMIT $most
"""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that was found.

    Attributes:
        kind: ``concept`` or ``extraction``.
        id: Its id.
        text: Its name or snippet.
        score: How well it fits; only good for comparing.
    """

    kind: Literal["concept", "extraction"]
    id: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search gave.

    Attributes:
        provider: Who searched.
        found: The best first.
        reason: Why nothing could be found, or None.
    """

    provider: str
    found: tuple[Found, ...] = ()
    reason: str | None = None


class SearchProvider(Protocol):
    """What answers where an agent would ask the web."""

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return what fits a query.

        Args:
            user_id: Whose memory may be searched.
            query: Plain words.
            most: Things to find at most.
        """


class DisabledSearch:
    """Finds nothing, and says so, always in the same words.

    Example:
        >>> DisabledSearch().search("ann", "weather").reason
        'search is disabled'
    """

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return that search is disabled."""
        _check(user_id, query, most)
        return SearchResult("disabled", reason="search is disabled")


class LocalSearch:
    """Searches names of concepts and snippets of extractions of the user, by full text.

    Args:
        memory: The memory to search; its mode says what happens without one.
    """

    def __init__(self, memory: MemoryClient) -> None:
        self._memory = memory

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return the concepts and extractions of the user that have words of the query.

        Raises:
            CallError: There is no user, or `most` is out of range (SC-204).
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        _check(user_id, query, most)
        words = dict.fromkeys(_WORD.findall(query.casefold()))
        if not words:
            return SearchResult("local", reason="the query has no words")
        quoted = " ".join(f'"{word}"' for word in list(words)[:_MOST_WORDS])
        rows = self._memory.read(_SEARCH, words=quoted, user=user_id, most=most)
        if rows is None:
            return SearchResult("local", reason="the memory is not available")
        found = (Found(row["kind"], row["id"], row["text"], row["score"]) for row in rows)
        return SearchResult("local", tuple(found))


def search_provider(memory: MemoryClient) -> SearchProvider:
    """Return the provider that the memory's setting `search` names."""
    return LocalSearch(memory) if memory.settings.search == "local" else DisabledSearch()


def _check(user_id: str, query: str, most: int) -> None:
    SearchInput.from_map({"userId": user_id, "query": query, "most": most}, "search")
