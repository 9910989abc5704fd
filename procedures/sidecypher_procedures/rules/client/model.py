"""What the client of the memory is made of: settings, results, breaker, judge and extractor."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Protocol, TypedDict

from pydantic import Field, SecretStr, field_validator

from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.rules.errors import ClientSettingsError, InvalidInput

PREFIX: Final = "SIDECYPHER_GRAPHRAG_"
Mode = Literal["OFF", "OPTIONAL", "REQUIRED"]
_URI: Final = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://[^\s/]+.*")
_Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]


class ClientSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings: three by the names that Neo4j's users know, the others after a prefix.

    Attributes:
        mode: Whether there is a memory, and whether the agent can do without it.
        uri: Where Neo4j is, from ``NEO4J_URI``.
        user: User at Neo4j, from ``NEO4J_USER``.
        password: Password at Neo4j, from ``NEO4J_PASSWORD``; None is not authentication.
        connect_timeout: Seconds for one connection.
        timeout: Seconds for one read, connecting and trying again included.
        write_timeout: Seconds for one write, the same included.
        breaker_failures: After so many failures in a row nothing is asked any more for a while.
        breaker_seconds: That while, in seconds.
        search: What stands in for a search of the web.

    Example:
        >>> ClientSettings(mode="OPTIONAL", password="secret").password
        SecretStr('**********')
    """

    refusal = ClientSettingsError

    mode: Mode = "OFF"
    uri: str = Field(default="bolt://127.0.0.1:7687", validation_alias="NEO4J_URI")
    user: str = Field(default="neo4j", validation_alias="NEO4J_USER")
    password: SecretStr | None = Field(default=None, validation_alias="NEO4J_PASSWORD")
    connect_timeout: _Seconds = 1.0
    timeout: _Seconds = 2.0
    write_timeout: _Seconds = 10.0
    breaker_failures: Annotated[int, Field(ge=1, le=1_000)] = 5
    breaker_seconds: _Seconds = 30.0
    search: Literal["disabled", "local"] = "disabled"

    @field_validator("uri")
    @classmethod
    def _check_uri(cls, uri: str) -> str:
        if not _URI.fullmatch(uri):
            raise ValueError("give an address such as bolt://127.0.0.1:7687")
        return uri


class Entity(TypedDict):
    """A concept that matters."""

    id: str
    name: str
    score: float
    sources: dict[str, int]


# `from` is a word of Python's own.
Relation = TypedDict(
    "Relation", {"from": str, "type": str, "to": str, "factId": str, "extractionIds": list[str]}
)


class StyleRule(TypedDict):
    """A rule that holds."""

    id: str
    text: str
    scope: str
    temporalMarker: str
    status: str
    extractionIds: list[str]


class Citation(TypedDict):
    """Where a rule or relation comes from."""

    extractionId: str
    sessionId: str | None
    artifactId: str | None
    snippet: str | None
    createdAt: datetime


class GraphContext(TypedDict):
    """What to know before writing."""

    entities: list[Entity]
    relations: list[Relation]
    styleRules: list[StyleRule]
    citations: list[Citation]
    truncated: bool
    timedOut: bool


class Added(TypedDict):
    """A rule that was stated."""

    id: str
    status: str
    reason: str
    contradicts: list[str]
    extractionId: str
    created: bool


class LeftOut(TypedDict):
    """What a text says and is not written."""

    text: str | None
    reason: str


class Remembered(TypedDict):
    """What was written."""

    extractionId: str
    concepts: list[str]
    facts: list[str]
    rules: list[Added]
    leftOut: list[LeftOut]


class RuleStatus(TypedDict):
    """A rule as it stands after a write."""

    id: str
    status: str
    reason: str


class CircuitBreaker:
    """Counts failures in a row; after too many of them it is open, and lets one try at a time.

    Safe for several threads.

    Args:
        failures: How many failures in a row open it.
        seconds: How long it stays open before somebody may try again, and between two tries.
        clock: Gives seconds; it only ever goes forward.

    Example:
        >>> breaker = CircuitBreaker(1, 30.0, clock=lambda: 0.0)
        >>> breaker.failed()
        >>> breaker.admits()
        False
    """

    def __init__(
        self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until: float | None = None

    @property
    def is_open(self) -> bool:
        """Whether no call may try now."""
        with self._lock:
            return self._refuses()

    def admits(self) -> bool:
        """Tell whether to try; who is admitted tells afterwards how it went.

        Of those who ask while it is open one is admitted each time that the seconds have passed:
        if that one never tells, the next one is admitted as long after it.
        """
        with self._lock:
            if self._refuses():
                return False
            if self._open_until is not None:
                self._open_until = self._clock() + self._seconds
            return True

    def succeeded(self) -> None:
        """Tell that it went well."""
        with self._lock:
            self._failures, self._open_until = 0, None

    def failed(self) -> None:
        """Tell that it did not."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._open_until = self._clock() + self._seconds

    def _refuses(self) -> bool:
        return self._open_until is not None and self._clock() < self._open_until


class Judge(Protocol):
    """What says whether two rules contradict each other: an NLI model, or a language model.

    It is called outside of any transaction, so it may take its time. What it suspects is recorded
    with its score, and makes a rule `contested (suspected)` at most.

    Example:
        >>> def judge(text, other_text):
        ...     return {"score": 0.9, "model": "some-model", "reason": "opposite wishes"}
    """

    def __call__(self, text: str, other_text: str, /) -> dict[str, Any] | None:
        """Compare two rules.

        Args:
            text: One rule, in its author's words.
            other_text: The other one.

        Returns:
            `score` from 0 to 1, `model` and `reason`; None when it suspects nothing.
        """


def judgements(rows: list[dict[str, Any]], judge: Judge) -> list[dict[str, Any]]:
    """Return what a judge suspects, as `rules.suspect` takes it.

    Args:
        rows: The rows of `rules.unknown`.
        judge: Whom to ask about each of them.

    Raises:
        Exception: Whatever the judge raises.
    """
    asked = [(row, judge(row["text"], row["otherText"])) for row in rows]
    return [{"otherId": row["otherId"], **found} for row, found in asked if found is not None]


TEXTS: Final = ("text", "userMessage", "assistantMessage", "artifactDelta")
_FOUND: Final = ("entities", "relations", "rules", "extraction")


class Extractor(Protocol):
    """What finds things in texts, usually by asking a language model.

    It is called outside of any transaction, so it may take its time.

    Example:
        >>> def find(texts):
        ...     return {"entities": [{"name": "Apollo"}], "extraction": {"model": "some-model"}}
    """

    def __call__(self, texts: Mapping[str, str], /) -> Mapping[str, Any]:
        """Return what is in some texts.

        Args:
            texts: The texts of the input by their keys, such as ``userMessage``.

        Returns:
            `entities`, `relations` and `rules` as in the input of `rules.remember`, and
            `extraction`, whose method is ``llm`` unless it says ``hybrid``.
        """


def extracted(values: Mapping[str, Any], extractor: Extractor) -> dict[str, Any]:
    """Return an input of `rules.remember` with what an extractor finds in its texts.

    Raises:
        InvalidInput: The extractor gives what is not a finding.
        Exception: Whatever the extractor raises.
    """
    found = dict(extractor({name: values[name] for name in TEXTS if values.get(name)}))
    if set(found) - set(_FOUND):
        raise InvalidInput(
            "The extractor gave what is not an entity, relation or rule",
            hint=f"Return {', '.join(_FOUND)}.",
        )
    told = {**(values.get("extraction") or {}), **found.get("extraction", {})}
    if told.setdefault("method", "llm") == "rule":
        raise InvalidInput(
            "An extractor of the agent has the method `rule`", hint="Give `llm` or `hybrid`."
        )
    # With a list, even an empty one, nothing else is looked for.
    return {**values, "entities": [], **found, "extraction": told}
