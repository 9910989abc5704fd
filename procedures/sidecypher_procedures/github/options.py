"""The `options` MAP of every `github` procedure."""

import math
import re
from collections.abc import Collection, Mapping
from typing import Any, Final, Literal, Self, TypeVar, get_args

import msgspec

from sidecypher import Deadline
from sidecypher_procedures.github.errors import InvalidOption

OnError = Literal["fail", "null", "skip"]
Api = Literal["auto", "rest", "graphql"]

T = TypeVar("T")

_KNOWN: Final = ("maxAge", "onError", "timeout", "api")
_ON_ERROR: Final[tuple[OnError, ...]] = get_args(OnError)
_APIS: Final[tuple[Api, ...]] = get_args(Api)
# Time for the answer itself to reach the caller before the call's deadline cancels the body.
_ANSWER_SECONDS: Final = 0.25
_SHOWABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")


class FetchOptions(msgspec.Struct, frozen=True, gc=False):
    """How fresh, how long, and what becomes of an error.

    Attributes:
        max_age: Accepted age of an answer in seconds; 0 always asks GitHub.
        on_error: ``fail`` raises, ``null`` gives a row of nulls with the error, ``skip`` no row.
        timeout: Seconds to wait for GitHub, never longer than the call may take.
        api: Which of GitHub's APIs to ask; ``auto`` decides by how much there is to ask for.

    Example:
        >>> FetchOptions.parse({"maxAge": 0}).max_age
        0.0
    """

    max_age: float = 60.0
    on_error: OnError = "fail"
    timeout: float = math.inf
    api: Api = "auto"

    @classmethod
    def parse(
        cls,
        options: Mapping[str, Any],
        further: Collection[str] = (),
        *,
        without: Collection[str] = (),
    ) -> Self:
        """Check the MAP a caller gave; a null value counts as not given.

        Args:
            options: The MAP.
            further: Options of one procedure, which it reads itself.
            without: Options that mean nothing to it.

        Raises:
            InvalidOption: An option is unknown or its value cannot be used.
        """
        if not options:
            return cls()
        for name in options:
            if name in without or (name not in _KNOWN and name not in further):
                known = [each for each in (*_KNOWN, *further) if each not in without]
                raise InvalidOption(_unknown(name), hint=f"Known: {', '.join(known)}.")
        max_age = _seconds("maxAge", options, _DEFAULTS.max_age)
        timeout = _seconds("timeout", options, _DEFAULTS.timeout)
        if timeout == 0:
            raise InvalidOption("The option `timeout` must be more than 0", hint="Give seconds.")
        on_error = _choice("onError", options, _ON_ERROR, _DEFAULTS.on_error)
        api = _choice("api", options, _APIS, _DEFAULTS.api)
        return cls(max_age, on_error, timeout, api)

    def wait(self, deadline: Deadline) -> float:
        """Give the seconds to wait for GitHub in a call that has this deadline."""
        return min(self.timeout, deadline.remaining() - _ANSWER_SECONDS)


_DEFAULTS: Final = FetchOptions()


def _unknown(name: str) -> str:
    shown = f" `{name}`" if _SHOWABLE.fullmatch(name) else " of that name"
    return f"The `github` procedures have no option{shown}"


def _seconds(name: str, options: Mapping[str, Any], default: float) -> float:
    value = options.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidOption(f"The option `{name}` must be a number of seconds", hint="Such as 60.")
    return float(value)


def _choice(name: str, options: Mapping[str, Any], choices: tuple[T, ...], default: T) -> T:
    value = options.get(name)
    if value is None:
        return default
    if value in choices:
        return choices[choices.index(value)]
    told = ", ".join(f"'{choice}'" for choice in choices[:-1])
    raise InvalidOption(
        f"The option `{name}` has an unknown value", hint=f"Give {told} or '{choices[-1]}'."
    )
