"""GitHub's rate limits: remaining requests, ends of limits, and retries."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Final, TypeVar

import httpx
import msgspec

from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.errors import GithubError, RateLimited
from sidecypher_procedures.github.rows import RateLimit

T = TypeVar("T")

REST: Final = "core"
GRAPHQL: Final = "graphql"
SEARCH: Final = "search"
CODE_SEARCH: Final = "code_search"
# The request for the limits themselves, which no hourly limit stops.
UNCOUNTED: Final = "rate_limit"

TRIES: Final = 3
_FIRST_PAUSE_SECONDS: Final = 0.25
# GitHub's advice for a limit without an end: wait a minute, and longer each time.
_UNSTATED: Final = timedelta(minutes=1)
# The reset may be in the past on our clock, and GitHub rounds it to seconds.
_SHORTEST: Final = timedelta(seconds=1)
# Limits reset within an hour; a much later time is a header in another unit.
_LONGEST: Final = timedelta(days=1)
_MOST_DOUBLINGS: Final = 6
_RESOURCE: Final = re.compile(r"[a-z_]{1,40}")
_LIMIT_WORDS: Final = re.compile(rb"rate limit|abuse detection", re.IGNORECASE)
_NUMBER: Final = re.compile(r"[0-9]{1,11}")
_GRAPHQL_TYPES: Final = frozenset({"RATE_LIMIT", "RATE_LIMITED"})


@dataclass(frozen=True, slots=True)
class Limit:
    """A rate limit that was reached.

    Attributes:
        resource: The limited resource, such as ``core``; ``None`` if all requests have to stop.
        until: When it ends; in one minute if GitHub does not say.
        stated: Whether GitHub said when it ends.
    """

    resource: str | None
    until: datetime
    stated: bool


def read_limit(
    resource: str, status: int, headers: httpx.Headers, content: bytes, now: datetime
) -> Limit | None:
    """Return the rate limit that an answer is, or None; of `resource` unless it names another.

    Example:
        >>> headers = httpx.Headers({"retry-after": "60"})
        >>> read_limit(REST, 429, headers, b"", datetime(2026, 1, 1, tzinfo=UTC)).until.minute
        1
    """
    if not _is_limit(resource, status, headers, content):
        return None
    moment = reset_at(headers, now)
    # Only the hourly limit is counted per resource; the others apply to the whole credential.
    hourly = headers.get("x-ratelimit-remaining") == "0" and "retry-after" not in headers
    return Limit(
        resource=_resource(headers, resource) if hourly else None,
        until=now + _UNSTATED if moment is None else moment,
        stated=moment is not None,
    )


def used_up(what: str, until: datetime, status: int | None = None) -> RateLimited:
    """Return the error of a request that a rate limit stopped.

    Example:
        >>> used_up("`o/r`", datetime(2026, 1, 1, tzinfo=UTC)).details
        {'resetAt': '2026-01-01T00:00:00+00:00'}
    """
    details: dict[str, Any] = {} if status is None else {"status": status}
    return RateLimited(
        f"GitHub's rate limit is used up until {until.isoformat()}: nothing fetched for {what}",
        hint="Try again later; a token in SIDECYPHER_GITHUB_TOKEN has a higher limit than none.",
        details={**details, "resetAt": until.isoformat()},
    )


def reset_at(headers: httpx.Headers, now: datetime) -> datetime | None:
    """Return the end of a limit: ``retry-after`` (seconds or a date), else ``x-ratelimit-reset``.

    It is a time of this machine's clock, as far ahead as it is by GitHub's, which the header
    ``date`` tells. An implausible header, such as one in milliseconds, is ignored.

    Example:
        >>> now = datetime(2026, 1, 1, tzinfo=UTC)
        >>> reset_at(httpx.Headers({"retry-after": "60"}), now) - now
        datetime.timedelta(seconds=60)
    """
    theirs = read_date(headers.get("date", "")) or now
    moment = _retry_after(headers.get("retry-after", ""), theirs)
    if moment is None and headers.get("x-ratelimit-remaining") == "0":
        seconds = _integer(headers.get("x-ratelimit-reset", ""))
        moment = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    if moment is None or moment - theirs > _LONGEST:
        return None
    return now + max(moment - theirs, timedelta())


@dataclass(frozen=True, slots=True)
class _Stop:
    until: datetime
    ends: float
    repeats: int


class Limits:
    """Current rate limits of one credential; a limit stops all requests of its resource.

    Example:
        >>> limits = Limits(Clock())
        >>> limits.check(REST, "`o/r`")
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stops: dict[str | None, _Stop] = {}

    def check(self, resource: str, what: str) -> None:
        """Check that a request of a resource is allowed; `what` describes it in the error.

        Raises:
            RateLimited: A limit of the resource or of all requests has not ended.
        """
        now = self._clock.monotonic()
        stops = [self._stops.get(each) for each in (None, resource)]
        ends = [stop.until for stop in stops if stop is not None and stop.ends > now]
        if ends:
            raise used_up(what, max(ends))

    def note(
        self, resource: str, status: int, headers: httpx.Headers, content: bytes
    ) -> datetime | None:
        """Update the limits from an answer; if it is a limit, return its end."""
        limit = read_limit(resource, status, headers, content, self._clock.now())
        if limit is not None:
            return self._stop(limit)
        self._forget(_resource(headers, resource))
        return None

    def _stop(self, limit: Limit) -> datetime:
        passed = self._clock.monotonic()
        known = self._stops.get(limit.resource)
        repeats = 0
        if known is not None:
            # Concurrent requests that hit the same limit count once.
            repeats = known.repeats + (1 if known.ends <= passed else 0)
        now = self._clock.now()
        shortest = (_SHORTEST if limit.stated else _UNSTATED) * 2 ** min(repeats, _MOST_DOUBLINGS)
        until: datetime = max(limit.until, now + shortest)
        stop = _Stop(until, passed + (until - now).total_seconds(), repeats)
        if known is not None and known.ends >= stop.ends:
            return known.until
        self._stops[limit.resource] = stop
        return until

    def _forget(self, resource: str) -> None:
        """Forget ended limits after a successful answer, which may be older than a new limit."""
        for each in (None, resource):
            stop = self._stops.get(each)
            if stop is not None and stop.ends <= self._clock.monotonic():
                del self._stops[each]


async def retrying(
    work: Callable[[], Awaitable[T]], *, wait: float, clock: Clock, tries: int = TRIES
) -> T:
    """Run the work, and retry it after transient errors, up to `tries` runs in all.

    There is no retry if its pause would end after `wait` seconds from the start.

    Raises:
        GithubError: The error of the last try.
    """
    ends = clock.monotonic() + wait
    for attempt in range(tries - 1):
        try:
            return await work()
        except GithubError as error:
            pause = _pause(error, attempt, clock.now())
            if not error.transient or clock.monotonic() + pause >= ends:
                raise
        await clock.sleep(pause)
    return await work()


def _pause(error: GithubError, attempt: int, now: datetime) -> float:
    pause: float = _FIRST_PAUSE_SECONDS * 2**attempt
    if isinstance(error, RateLimited):
        return max(pause, (error.reset_at - now).total_seconds())
    return pause


def _is_limit(resource: str, status: int, headers: httpx.Headers, content: bytes) -> bool:
    if status == httpx.codes.OK:
        return resource == GRAPHQL and _is_graphql_limit(content)
    if status == httpx.codes.FORBIDDEN:
        return (
            "retry-after" in headers
            or headers.get("x-ratelimit-remaining") == "0"
            or bool(_LIMIT_WORDS.search(content))
        )
    return status == httpx.codes.TOO_MANY_REQUESTS


def _is_graphql_limit(content: bytes) -> bool:
    if b"RATE_LIMIT" not in content and not _LIMIT_WORDS.search(content):
        return False
    try:
        answer = _read_answer(content)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return any(
        error.type in _GRAPHQL_TYPES or "secondary rate limit" in error.message.lower()
        for error in answer.errors or []
    )


class _GraphqlError(msgspec.Struct):
    type: str = ""
    message: str = ""


class _GraphqlAnswer(msgspec.Struct):
    errors: list[_GraphqlError] | None = None


_read_answer: Final = msgspec.json.Decoder(_GraphqlAnswer).decode


def _resource(headers: httpx.Headers, asked: str) -> str:
    named = str(headers.get("x-ratelimit-resource", ""))
    return named if _RESOURCE.fullmatch(named) else asked


def _retry_after(text: str, now: datetime) -> datetime | None:
    seconds = _integer(text)
    return read_date(text) if seconds is None else now + timedelta(seconds=seconds)


def read_date(text: str) -> datetime | None:
    """Return the date in a header, None if it is not a date."""
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _integer(text: str) -> int | None:
    # Eleven digits: seconds since 1970 up to the year 5138, which a datetime can hold.
    return int(text) if _NUMBER.fullmatch(text) else None


RESOURCES: Final = ("core", "graphql", "search")

_FRESH_SECONDS: Final = 60.0
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


def budget_in(headers: httpx.Headers) -> RateLimit | None:
    """Return the rate limit in the headers of an answer; GitHub Enterprise Server may have none.

    Example:
        >>> budget_in(httpx.Headers({"x-ratelimit-limit": "60"})) is None
        True
    """
    names = ("limit", "remaining", "used", "reset")
    told = {name: headers.get(f"x-ratelimit-{name}") for name in names}
    return _budget(str(headers.get("x-ratelimit-resource", "")), told)


def budgets_in(answer: Mapping[str, Any]) -> list[RateLimit]:
    """Return the rate limits in an answer of ``/rate_limit``; invalid ones are left out.

    Example:
        >>> budgets_in({"resources": {"core": {"limit": 60}}})
        []
    """
    resources = answer.get("resources")
    told = resources if isinstance(resources, dict) else {}
    budgets = [_budget(name, told.get(name)) for name in RESOURCES]
    return [budget for budget in budgets if budget is not None]


class Budgets:
    """The latest known rate limit of each resource.

    Example:
        >>> Budgets(Clock()).fresh() is None
        True
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latest: dict[str, tuple[RateLimit, float]] = {}

    def note(self, budgets: Iterable[RateLimit]) -> None:
        """Store rate limits with the current time."""
        now = self._clock.monotonic()
        self._latest |= {
            budget.resource: (budget, now) for budget in budgets if budget.resource in RESOURCES
        }

    def known(self) -> list[RateLimit]:
        """Return the rate limits of the current period that answers had, in whatever order."""
        now = self._clock.now()
        return [budget for budget, _ in self._latest.values() if budget.reset_at > now]

    def fresh(self) -> list[RateLimit] | None:
        """Return all of `RESOURCES`; None if one is unknown, a minute old or of a past period."""
        told = [self._latest[name] for name in RESOURCES if name in self._latest]
        passed, now = self._clock.monotonic(), self._clock.now()
        if len(told) < len(RESOURCES) or any(
            passed - at >= _FRESH_SECONDS or budget.reset_at <= now for budget, at in told
        ):
            return None
        return [budget for budget, _ in told]


class _Numbers(msgspec.Struct):
    limit: _Count
    remaining: _Count
    # Eleven digits, as above: a time in milliseconds is not valid.
    reset: Annotated[int, msgspec.Meta(ge=0, lt=10**11)]
    used: _Count | None = None


# Unprepared, it would end the process if two threads converted to it at the same time.
msgspec.json.Decoder(_Numbers)


def _budget(resource: str, told: object) -> RateLimit | None:
    try:
        numbers = msgspec.convert(told, _Numbers, strict=False)
    except msgspec.ValidationError:
        return None
    used = numbers.limit - numbers.remaining if numbers.used is None else numbers.used
    reset_at = datetime.fromtimestamp(numbers.reset, UTC)
    return RateLimit(
        resource=resource,
        limit=numbers.limit,
        remaining=numbers.remaining,
        used=used,
        reset_at=reset_at,
    )
