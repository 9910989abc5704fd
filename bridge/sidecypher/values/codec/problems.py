"""What is wrong with a value, told without the value."""

from collections.abc import Callable
from typing import Any, Final

from sidecypher.errors import ValueTypeError
from sidecypher.values.codec._tags import looks_tagged, type_of_tag

Coder = Callable[[Any], Any]
"""Turns a value into its JSON form or back; raises `ValueTypeError` without naming the value."""

_JSON_TYPES: Final[dict[type, str]] = {
    bool: "BOOLEAN",
    int: "INTEGER",
    float: "FLOAT",
    str: "STRING",
    list: "LIST",
    dict: "MAP",
}


def not_written(value: object, wanted: object) -> ValueTypeError:
    """Return the error of a Python value that is not of type `wanted`."""
    if value is None:
        return ValueTypeError(f"is null where {wanted} is expected")
    return ValueTypeError(f"is a Python {type(value).__name__} where {wanted} is expected")


def not_read(value: object, wanted: object) -> ValueTypeError:
    """Return the error of a JSON value that is not of type `wanted`."""
    if value is None:
        return ValueTypeError(f"is null where {wanted} is expected")
    told = _JSON_TYPES.get(type(value), "value")
    if isinstance(value, dict) and looks_tagged(value):
        told = type_of_tag.get(next(iter(value)), "value")
    if told == str(wanted):
        return ValueTypeError(f"is a malformed {wanted}")
    return ValueTypeError(f"is a {told} where {wanted} is expected")
