"""How many requests GitHub still answers, by its own count."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import httpx
import msgspec

from sidecypher_procedures.github.cache import Clock

RESOURCES: Final = ("core", "graphql", "search")

_FRESH_SECONDS: Final = 60.0
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


@dataclass(frozen=True, slots=True)
class Budget:
    """The requests of one resource in the running period.

    Attributes:
        resource: What they ask, one of `RESOURCES` or another of GitHub's.
        limit: How many GitHub answers in one period.
        remaining: How many it still answers.
        used: How many it has answered.
        reset_at: When the next period begins.
    """

    resource: str
    limit: int
    remaining: int
    used: int
    reset_at: datetime


def told_by(headers: httpx.Headers) -> Budget | None:
    """Read the budget that comes with an answer; GitHub Enterprise Server may tell none.

    Example:
        >>> told_by(httpx.Headers({"x-ratelimit-limit": "60"})) is None
        True
    """
    names = ("limit", "remaining", "used", "reset")
    told = {name: headers.get(f"x-ratelimit-{name}") for name in names}
    return _budget(str(headers.get("x-ratelimit-resource", "")), told)


def listed_in(answer: Mapping[str, Any]) -> list[Budget]:
    """Read the budgets of ``/rate_limit``; what cannot be one is left out.

    Example:
        >>> listed_in({"resources": {"core": {"limit": 60}}})
        []
    """
    resources = answer.get("resources")
    told = resources if isinstance(resources, dict) else {}
    budgets = [_budget(name, told.get(name)) for name in RESOURCES]
    return [budget for budget in budgets if budget is not None]


class Budgets:
    """The last that GitHub told of each resource.

    Example:
        >>> Budgets(Clock()).fresh() is None
        True
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: dict[str, tuple[Budget, float]] = {}

    def note(self, budgets: Iterable[Budget]) -> None:
        """Remember what GitHub tells now."""
        now = self._clock.monotonic()
        self._told |= {
            budget.resource: (budget, now) for budget in budgets if budget.resource in RESOURCES
        }

    def fresh(self) -> list[Budget] | None:
        """Give all of `RESOURCES`, unless one is unknown, a minute old or of a past period."""
        told = [self._told[name] for name in RESOURCES if name in self._told]
        passed, now = self._clock.monotonic(), self._clock.now()
        if len(told) < len(RESOURCES) or any(
            passed - at >= _FRESH_SECONDS or budget.reset_at <= now for budget, at in told
        ):
            return None
        return [budget for budget, _ in told]


class _Numbers(msgspec.Struct):
    limit: _Count
    remaining: _Count
    # Eleven digits, as with limits: one in milliseconds is no time.
    reset: Annotated[int, msgspec.Meta(ge=0, lt=10**11)]
    used: _Count | None = None


def _budget(resource: str, told: object) -> Budget | None:
    try:
        numbers = msgspec.convert(told, _Numbers, strict=False)
    except msgspec.ValidationError:
        return None
    used = numbers.limit - numbers.remaining if numbers.used is None else numbers.used
    reset_at = datetime.fromtimestamp(numbers.reset, UTC)
    return Budget(resource, numbers.limit, numbers.remaining, used, reset_at)
