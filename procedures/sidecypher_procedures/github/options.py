"""The `options` MAP of every `github` procedure."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self, cast, get_args

from sidecypher_procedures.github.errors import InvalidOption

OnError = Literal["fail", "null", "skip"]

_KNOWN: Final = ("maxAge", "onError", "timeout")
_SHOWABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")


@dataclass(frozen=True, slots=True)
class FetchOptions:
    """How fresh, how long, and what becomes of an error.

    Attributes:
        max_age: Accepted age of an answer in seconds; 0 always asks GitHub.
        on_error: ``fail`` raises, ``null`` gives a row of nulls with the error, ``skip`` no row.
        timeout: Seconds to wait for GitHub, never longer than the call may take.

    Example:
        >>> FetchOptions.parse({"maxAge": 0}).max_age
        0.0
    """

    max_age: float = 60.0
    on_error: OnError = "fail"
    timeout: float = math.inf

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> Self:
        """Check the MAP a caller gave; a null value counts as not given.

        Raises:
            InvalidOption: An option is unknown or its value cannot be used.
        """
        given = {name: value for name, value in options.items() if value is not None}
        for name in options:
            if name not in _KNOWN:
                raise InvalidOption(_unknown(name), hint=f"Known: {', '.join(_KNOWN)}.")
        defaults = cls()
        max_age = _seconds("maxAge", given.get("maxAge", defaults.max_age))
        timeout = _seconds("timeout", given.get("timeout", defaults.timeout))
        if timeout == 0:
            raise InvalidOption("The option `timeout` must be more than 0", hint="Give seconds.")
        return cls(max_age, _on_error(given.get("onError", defaults.on_error)), timeout)


def _unknown(name: str) -> str:
    shown = f" `{name}`" if _SHOWABLE.fullmatch(name) else " of that name"
    return f"The `github` procedures have no option{shown}"


def _seconds(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidOption(f"The option `{name}` must be a number of seconds", hint="Such as 60.")
    return float(value)


def _on_error(value: object) -> OnError:
    for choice in get_args(OnError):
        if value == choice:
            return cast("OnError", choice)
    raise InvalidOption(
        "The option `onError` has an unknown value", hint="Give 'fail', 'null' or 'skip'."
    )
