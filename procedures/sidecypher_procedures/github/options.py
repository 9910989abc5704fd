"""The `options` MAP of every `github` procedure."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, cast, get_args

from sidecypher import Deadline
from sidecypher_procedures.github.errors import InvalidOption

OnError = Literal["fail", "null", "skip"]
Api = Literal["auto", "rest", "graphql"]

_KNOWN: Final = ("maxAge", "onError", "timeout", "api")
# Time for the answer itself to reach the caller before the call's deadline cancels the body.
_ANSWER_SECONDS: Final = 0.25
_SHOWABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class FetchOptions:
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
    def parse(cls, options: Mapping[str, Any], further: Iterable[str] = ()) -> Self:
        """Check the MAP a caller gave; a null value counts as not given.

        Args:
            options: The MAP.
            further: Options of one procedure, which it reads itself.

        Raises:
            InvalidOption: An option is unknown or its value cannot be used.
        """
        if not options:
            return cls()
        given = {name: value for name, value in options.items() if value is not None}
        known = (*_KNOWN, *further)
        for name in options:
            if name not in known:
                raise InvalidOption(_unknown(name), hint=f"Known: {', '.join(known)}.")
        defaults = cls()
        max_age = _seconds("maxAge", given.get("maxAge", defaults.max_age))
        timeout = _seconds("timeout", given.get("timeout", defaults.timeout))
        if timeout == 0:
            raise InvalidOption("The option `timeout` must be more than 0", hint="Give seconds.")
        on_error = _choice("onError", given.get("onError", defaults.on_error), OnError)
        api = _choice("api", given.get("api", defaults.api), Api)
        return cls(max_age, cast("OnError", on_error), timeout, cast("Api", api))

    def wait(self, deadline: Deadline) -> float:
        """Give the seconds to wait for GitHub in a call that has this deadline."""
        return min(self.timeout, deadline.remaining() - _ANSWER_SECONDS)


def _unknown(name: str) -> str:
    shown = f" `{name}`" if _SHOWABLE.fullmatch(name) else " of that name"
    return f"The `github` procedures have no option{shown}"


def _seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidOption(f"The option `{name}` must be a number of seconds", hint="Such as 60.")
    return float(value)


def _choice(name: str, value: object, kind: Any) -> str:
    choices: tuple[str, ...] = get_args(kind)
    for choice in choices:
        if value == choice:
            return choice
    told = ", ".join(f"'{choice}'" for choice in choices[:-1])
    raise InvalidOption(
        f"The option `{name}` has an unknown value", hint=f"Give {told} or '{choices[-1]}'."
    )
