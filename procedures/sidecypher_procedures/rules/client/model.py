"""Settings, results, circuit breaker, judge and extractor of the memory client."""

import re
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Protocol, Self, TypedDict

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from sidecypher import SidecypherError, neo4j_environment
from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.rules.errors import ClientSettingsError, InvalidInput

PREFIX: Final = "SIDECYPHER_GRAPHRAG_"
Mode = Literal["OFF", "OPTIONAL", "REQUIRED"]
_URI: Final = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://[^\s/]+.*")
_OF_A_SERVER: Final = ("user", "password", "database")
_Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]


class ClientSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings: those of Neo4j with the names that all clients use, the others with the prefix.

    If you pass `uri`, the variables of `user`, `password` and `database` do not apply: they belong
    to another address.

    Attributes:
        mode: OFF, OPTIONAL or REQUIRED.
        uri: Address of Neo4j, from ``SIDECYPHER_NEO4J_URI`` or ``NEO4J_URI``.
        user: User at Neo4j, from ``SIDECYPHER_NEO4J_USER`` or ``NEO4J_USERNAME``.
        password: Password at Neo4j, from ``SIDECYPHER_NEO4J_PASSWORD`` or ``NEO4J_PASSWORD``; None
            for no authentication.
        database: Database, from ``SIDECYPHER_NEO4J_DATABASE`` or ``NEO4J_DATABASE``; None for the
            user's default one.
        connect_timeout: Seconds for one connection.
        timeout: Seconds for one read, including connecting and retries.
        write_timeout: Seconds for one write, including connecting and retries.
        breaker_failures: Number of failures in a row that open the circuit breaker.
        breaker_seconds: Seconds for which the circuit breaker stays open.
        search: Replacement of a web search.
        judge_url: Base address of an API like OpenAI's that judges rules, such as
            ``https://host/v1``; None to ask no model.
        judge_model: Name of its model.
        judge_key: Its key, if it needs one.
        judge_timeout: Seconds for one answer of it.

    Example:
        >>> ClientSettings(mode="OPTIONAL", password="secret").password
        SecretStr('**********')
    """

    refusal = ClientSettingsError

    mode: Mode = "OFF"
    uri: str = Field(default="bolt://127.0.0.1:7687", validation_alias="SIDECYPHER_NEO4J_URI")
    user: str = Field(default="neo4j", validation_alias="SIDECYPHER_NEO4J_USER")
    password: SecretStr | None = Field(default=None, validation_alias="SIDECYPHER_NEO4J_PASSWORD")
    database: str | None = Field(default=None, validation_alias="SIDECYPHER_NEO4J_DATABASE")
    connect_timeout: _Seconds = 1.0
    timeout: _Seconds = 2.0
    write_timeout: _Seconds = 10.0
    breaker_failures: Annotated[int, Field(ge=1, le=1_000)] = 5
    breaker_seconds: _Seconds = 30.0
    search: Literal["disabled", "local"] = "disabled"
    judge_url: Annotated[str | None, Field(pattern=r"^https?://[^\s/]+")] = None
    judge_model: str = ""
    judge_key: SecretStr | None = None
    judge_timeout: _Seconds = 60.0

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the address of Neo4j as every client does.

        Raises:
            ClientSettingsError: A variable of the address cannot be used.
        """
        _ = dotenv_settings, file_secret_settings
        if cls._variable("uri") in init_settings():
            # A password must not reach another server than its own.
            named = {name: cls.model_fields[name].default for name in _OF_A_SERVER}
        else:
            named = cls._named_server()
        return init_settings, InitSettingsSource(settings_cls, named), env_settings

    @classmethod
    def _named_server(cls) -> dict[str, Any]:
        try:
            return dict(neo4j_environment())
        except SidecypherError as error:
            raise cls.refusal(error.message, hint=error.hint) from None

    @model_validator(mode="after")
    def _names_its_judge(self) -> Self:
        if self.judge_url is not None and not self.judge_model:
            raise ValueError("a `judge_url` needs the name of its model, as `judge_model`")
        return self

    @field_validator("uri")
    @classmethod
    def _check_uri(cls, uri: str) -> str:
        if not _URI.fullmatch(uri):
            raise ValueError("give an address such as bolt://127.0.0.1:7687")
        return uri


class Entity(TypedDict):
    """A relevant concept."""

    id: str
    name: str
    score: float
    sources: dict[str, int]


# `from` is a keyword of Python.
Relation = TypedDict(
    "Relation", {"from": str, "type": str, "to": str, "factId": str, "extractionIds": list[str]}
)


class StyleRule(TypedDict):
    """An active rule."""

    id: str
    text: str
    scope: str
    temporalMarker: str
    status: str
    extractionIds: list[str]


class Citation(TypedDict):
    """The source of a rule or relation."""

    extractionId: str
    sessionId: str | None
    artifactId: str | None
    snippet: str | None
    createdAt: datetime


class GraphContext(TypedDict):
    """The context of a task."""

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
    """A finding that is not written."""

    text: str | None
    reason: str


class Remembered(TypedDict):
    """The nodes written for one extraction."""

    extractionId: str
    concepts: list[str]
    facts: list[str]
    ended: list[str]
    rules: list[Added]
    leftOut: list[LeftOut]


class Forgotten(TypedDict):
    """A node that was deleted, or that stays and has lost something."""

    label: str
    id: str
    deleted: bool
    reason: str | None


class RuleStatus(TypedDict):
    """A rule as it stands after a write."""

    id: str
    status: str
    reason: str


class CircuitBreaker:
    """Circuit breaker that opens after some failures in a row and then admits one call at a time.

    Thread-safe.

    Args:
        failures: Number of failures in a row that open it.
        seconds: Seconds until an open breaker admits a call, and between two such calls.
        clock: Function that returns monotonic seconds.

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
        """Whether calls are rejected now."""
        with self._lock:
            return self._refuses()

    def admits(self) -> bool:
        """Return whether a call is admitted; its outcome must be reported afterwards.

        An open breaker admits one call each time that `seconds` have passed, even if the last one
        never reported its outcome.
        """
        with self._lock:
            if self._refuses():
                return False
            if self._open_until is not None:
                self._open_until = self._clock() + self._seconds
            return True

    def succeeded(self) -> None:
        """Report a success."""
        with self._lock:
            self._failures, self._open_until = 0, None

    def failed(self) -> None:
        """Report a failure."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._open_until = self._clock() + self._seconds

    def _refuses(self) -> bool:
        return self._open_until is not None and self._clock() < self._open_until


class Judge(Protocol):
    """Judge of whether two rules contradict each other: an NLI model, or a language model.

    It is called outside of any transaction, so it may be slow. Suspicions are recorded with their
    score, and make a rule `contested (suspected)` at most. `ChatJudge` asks a language model.

    Example:
        >>> def judge(pairs):
        ...     return [{"score": 0.9, "model": "some-model", "reason": "opposite"} for _ in pairs]
    """

    def __call__(
        self, pairs: Sequence[tuple[str, str]], /
    ) -> Sequence[dict[str, Any] | None] | Awaitable[Sequence[dict[str, Any] | None]]:
        """Compare pairs of rules; may be a coroutine function.

        Args:
            pairs: The texts of two rules each, as their authors wrote them.

        Returns:
            For each pair `score` from 0 to 1, `model` and `reason`; None without a suspicion.
        """


def judgements(
    rows: list[dict[str, Any]], found: Sequence[dict[str, Any] | None]
) -> list[dict[str, Any]]:
    """Return the judgements of a judge, as `rules.suspect` accepts them.

    Args:
        rows: The rows of `rules.unknown`.
        found: The answers of the judge about their pairs.

    Raises:
        InvalidInput: The judge gave more or fewer answers than it was asked for.
    """
    if len(found) != len(rows):
        raise InvalidInput(
            f"The judge gave {len(found)} answers about {len(rows)} pairs",
            hint="Let it give one for each, or None.",
        )
    answers = zip(rows, found, strict=True)
    return [{"otherId": row["otherId"], **each} for row, each in answers if each is not None]


TEXTS: Final = ("text", "userMessage", "assistantMessage", "artifactDelta")
_FOUND: Final = ("entities", "relations", "rules", "extraction")


class Extractor(Protocol):
    """Extractor of findings from texts, usually with a language model.

    It is called outside of any transaction, so it may be slow.

    Example:
        >>> def find(texts):
        ...     return {"entities": [{"name": "Apollo"}], "extraction": {"model": "some-model"}}
    """

    def __call__(
        self, texts: Mapping[str, str], /
    ) -> Mapping[str, Any] | Awaitable[Mapping[str, Any]]:
        """Return the findings in some texts; may be a coroutine function.

        Args:
            texts: The texts of the input by their keys, such as ``userMessage``.

        Returns:
            `entities`, `relations` and `rules` as in the input of `rules.remember`, and
            `extraction`, whose method is ``llm`` by default and may be ``hybrid``.
        """


def texts_in(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of an input of `rules.remember` by their keys."""
    return {name: values[name] for name in TEXTS if values.get(name)}


def with_findings(values: Mapping[str, Any], findings: Mapping[str, Any]) -> dict[str, Any]:
    """Return an input of `rules.remember` with the findings of an extractor.

    Raises:
        InvalidInput: The extractor returned something that is not a finding.
    """
    found = dict(findings)
    if set(found) - set(_FOUND):
        raise InvalidInput(
            "The extractor gave what is not an entity, relation or rule",
            hint=f"Return {', '.join(_FOUND)}.",
        )
    extraction = {**(values.get("extraction") or {}), **found.get("extraction", {})}
    if extraction.setdefault("method", "llm") == "rule":
        raise InvalidInput(
            "An extractor of the agent has the method `rule`", hint="Give `llm` or `hybrid`."
        )
    # With a list, even an empty one, the procedure's own extractor does not run.
    return {**values, "entities": [], **found, "extraction": extraction}
