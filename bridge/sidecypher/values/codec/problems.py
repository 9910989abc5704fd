"""Errors of values, whose texts never contain the value."""

import builtins
from collections.abc import Callable, Iterable
from typing import Any, Final, Self

from sidecypher.errors import ValueTypeError
from sidecypher.values.codec._tags import looks_tagged, type_of_tag

Coder = Callable[[Any], Any]
"""Converter of a value to its JSON form or back; raises `ValueTypeError` without the value."""

_JSON_TYPES: Final[dict[type, str]] = {
    bool: "BOOLEAN",
    int: "INTEGER",
    float: "FLOAT",
    str: "STRING",
    list: "LIST",
    dict: "MAP",
}


class PartError(ValueTypeError):
    """A part of a value does not fit.

    Attributes:
        path: Its place inside the value, such as `.maxAge` or `[3].type`.
    """

    def __init__(self, message: str, *, path: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.path = path

    @classmethod
    def within(cls, path: str, error: ValueTypeError, hint: str = "") -> Self:
        """Return the error of a value from that of a part of it."""
        inner = error.path if isinstance(error, PartError) else ""
        return cls(error.message, path=path + inner, hint=hint or error.hint)


def not_written(value: object, wanted: object) -> ValueTypeError:
    """Return the error of a Python value that is not of type `wanted`."""
    if value is None:
        return ValueTypeError(f"is null where {wanted} is expected")
    kind = type(value)
    name = kind.__name__
    if kind.__module__ != "builtins" and hasattr(builtins, name):
        # Such as `numpy.bool`.
        name = f"{kind.__module__}.{name}"
    return ValueTypeError(f"is a Python {name} where {wanted} is expected")


def not_read(value: object, wanted: object) -> ValueTypeError:
    """Return the error of a JSON value that is not of type `wanted`."""
    if value is None:
        return ValueTypeError(f"is null where {wanted} is expected")
    found = _JSON_TYPES.get(type(value), "value")
    if isinstance(value, dict) and looks_tagged(value):
        found = type_of_tag.get(next(iter(value)), "value")
    if found == str(wanted):
        return ValueTypeError(f"is a malformed {wanted}")
    article = "an" if found == "INTEGER" else "a"
    return ValueTypeError(f"is {article} {found} where {wanted} is expected")


def guess(given: str, known: Iterable[str]) -> str:
    """Return a question that suggests the nearest known word, or `""` if none is near.

    Example:
        >>> guess("max_ages", ["maxAge", "api"])
        'Did you mean `maxAge`?'
    """
    import difflib  # noqa: PLC0415 - only errors need it

    lowered = {word.lower(): word for word in known}
    near = difflib.get_close_matches(given.lower().replace("_", ""), lowered, n=1)
    return f"Did you mean `{lowered[near[0]]}`?" if near else ""
