"""The options of the lists: what GitHub filters and orders by."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode

from sidecypher_procedures.github.errors import InvalidOption

Reader = Callable[[str, Any], str]

_LARGEST_PAGE: Final = 100


def query(options: Mapping[str, Any], filters: Mapping[str, Reader]) -> str:
    """Give the query of a list's first page.

    Args:
        options: The MAP a caller gave; a null value counts as not given.
        filters: The options that become part of the query, each with what reads its value.

    Raises:
        InvalidOption: A value cannot be used.

    Example:
        >>> query({"state": "all", "labels": ["a b"]}, ISSUES)
        'per_page=100&state=all&labels=a+b'
    """
    parameters = {"per_page": str(_LARGEST_PAGE)}
    for name, read in filters.items():
        value = options.get(name)
        if value is not None:
            parameters["per_page" if name == "perPage" else name] = read(name, value)
    return urlencode({name: value for name, value in parameters.items() if value})


def _one_of(*choices: str) -> Reader:
    def read(name: str, value: object) -> str:
        if isinstance(value, str) and value in choices:
            return value
        known = ", ".join(f"'{choice}'" for choice in choices)
        raise InvalidOption(f"The option `{name}` has an unknown value", hint=f"Known: {known}.")

    return read


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or not value or not _is_text(value):
        raise InvalidOption(f"The option `{name}` must be a STRING", hint="Such as 'main'.")
    return value


def _labels(name: str, value: object) -> str:
    # GitHub takes them in one parameter, parted by commas.
    if not isinstance(value, list) or not all(map(_is_label, value)):
        raise InvalidOption(
            f"The option `{name}` must be a LIST of names without commas", hint="Such as ['bug']."
        )
    return ",".join(value)


def _is_label(value: object) -> bool:
    return isinstance(value, str) and value != "" and "," not in value and _is_text(value)


def _is_text(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _moment(name: str, value: object) -> str:
    if isinstance(value, datetime) and value.tzinfo is not None:
        try:
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        except OverflowError:
            pass
    raise InvalidOption(
        f"The option `{name}` must be a ZONED DATETIME", hint="Such as datetime('2026-01-01')."
    )


def _page_size(name: str, value: object) -> str:
    # `True` is an int to Python.
    if type(value) is not int or not 1 <= value <= _LARGEST_PAGE:
        raise InvalidOption(
            f"The option `{name}` must be an INTEGER from 1 to {_LARGEST_PAGE}", hint="Such as 30."
        )
    return str(value)


_STATE: Final = _one_of("open", "closed", "all")
_DIRECTION: Final = _one_of("asc", "desc")

ISSUES: Final[Mapping[str, Reader]] = {
    "state": _STATE,
    "labels": _labels,
    "since": _moment,
    "sort": _one_of("created", "updated", "comments"),
    "direction": _DIRECTION,
    "perPage": _page_size,
}
PULL_REQUESTS: Final[Mapping[str, Reader]] = {
    "state": _STATE,
    "head": _text,
    "base": _text,
    "sort": _one_of("created", "updated", "popularity", "long-running"),
    "direction": _DIRECTION,
    "perPage": _page_size,
}
COMMENTS: Final[Mapping[str, Reader]] = {"since": _moment, "perPage": _page_size}
