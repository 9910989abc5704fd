"""BOOLEAN, INTEGER, FLOAT, STRING and BYTES."""

import binascii
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from sidecypher.errors import ValueTypeError
from sidecypher.values.annotations import INTEGER_MAX, INTEGER_MIN
from sidecypher.values.codec.problems import not_read, not_written

_MANY: Final = 8

_NON_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode_boolean(value: Any) -> Any:
    """Write a BOOLEAN."""
    if value is True or value is False:
        return value
    raise not_written(value, "BOOLEAN")


def encode_integer(value: Any) -> Any:
    """Write an INTEGER."""
    if type(value) is int and INTEGER_MIN <= value <= INTEGER_MAX:
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise not_written(value, "INTEGER")
    return int(in_64_bits(value))


def encode_float(value: Any) -> Any:
    """Write a FLOAT, also from an `int`."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise not_written(value, "FLOAT")
    number = _as_float(value)
    if math.isfinite(number):
        return number
    return {"$float": "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"}


def encode_string(value: Any) -> Any:
    """Write a STRING."""
    if type(value) is str and value.isascii():
        return value
    if not isinstance(value, str):
        raise not_written(value, "STRING")
    try:
        str.encode(value)
    except UnicodeEncodeError:
        raise ValueTypeError("is a string with half of a surrogate pair") from None
    # Not `str(value)`, which returns the name of an enumeration's member.
    return str.__str__(value)


def encode_nullable_boolean(value: Any) -> Any:
    """Write a BOOLEAN or null."""
    if value is None or value is True or value is False:
        return value
    raise not_written(value, "BOOLEAN")


def encode_nullable_integer(value: Any) -> Any:
    """Write an INTEGER or null."""
    if value is None or (type(value) is int and INTEGER_MIN <= value <= INTEGER_MAX):
        return value
    return encode_integer(value)


def encode_nullable_string(value: Any) -> Any:
    """Write a STRING or null."""
    if value is None or (type(value) is str and value.isascii()):
        return value
    return encode_string(value)


def encode_bytes(value: Any) -> Any:
    """Write BYTES."""
    if isinstance(value, bytes | bytearray):
        return {"$bytes": binascii.b2a_base64(value, newline=False).decode()}
    raise not_written(value, "BYTES")


def are_plain(values: Sequence[Any]) -> bool:
    """Return whether many values of any types are of one common type, and are their own JSON.

    For few values it is False: to look at each is faster then.

    Example:
        >>> are_plain([0.5] * 8), are_plain([0.5] * 8 + [1]), are_plain([float("nan")] * 8)
        (True, False, False)
    """
    if len(values) < _MANY:
        return False
    classes = set(map(type, values))
    if len(classes) != 1:
        return False
    check = _PLAIN.get(classes.pop())
    return check is not None and check(values)


def are_all_plain(_values: Sequence[Any]) -> bool:
    """Return True; only writing them tells whether a string has half of a surrogate pair."""
    return True


def are_all_in_64_bits(values: Sequence[int]) -> bool:
    """Return whether Cypher has all these INTEGERs."""
    return min(values) >= INTEGER_MIN and max(values) <= INTEGER_MAX


def are_all_finite(values: Sequence[float]) -> bool:
    """Return whether JSON can write all these FLOATs."""
    return all(map(math.isfinite, values))


_PLAIN: Final[dict[type, Callable[[Sequence[Any]], bool]]] = {
    bool: are_all_plain,
    int: are_all_in_64_bits,
    float: are_all_finite,
    str: lambda values: all(map(str.isascii, values)),
}


def decode_boolean(value: Any) -> Any:
    """Read a BOOLEAN."""
    if value is True or value is False:
        return value
    raise not_read(value, "BOOLEAN")


def decode_integer(value: Any) -> Any:
    """Read an INTEGER."""
    if type(value) is int:
        return in_64_bits(value)
    raise not_read(value, "INTEGER")


def decode_float(value: Any) -> Any:
    """Read a FLOAT, also from a JSON number without a point."""
    if type(value) is float:
        return value
    if type(value) is int:
        return _as_float(value)
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("$float"), str):
        number = _NON_FINITE.get(value["$float"])
        if number is not None:
            return number
    raise not_read(value, "FLOAT")


def decode_string(value: Any) -> Any:
    """Read a STRING."""
    if type(value) is str:
        return value
    raise not_read(value, "STRING")


def decode_bytes(value: Any) -> Any:
    """Read BYTES."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("$bytes"), str):
        try:
            return binascii.a2b_base64(value["$bytes"], strict_mode=True)
        except ValueError:  # `binascii.Error`, and a text that is not ASCII
            pass
    raise not_read(value, "BYTES")


def in_64_bits(value: int) -> int:
    """Return an integer that Cypher can hold.

    Raises:
        ValueTypeError: It cannot.
    """
    if INTEGER_MIN <= value <= INTEGER_MAX:
        return value
    raise ValueTypeError("is an integer outside 64 bits")


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ValueTypeError("is an integer too large for a FLOAT") from None
