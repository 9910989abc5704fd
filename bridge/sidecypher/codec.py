"""Cypher values as JSON and back, loss-free; the one place that knows the tags.

JSON carries null, booleans, strings, lists, maps and numbers (an integer has no point, a float
always has one). The rest is a map with one key that starts with ``$``::

    {"$float": "NaN"}            NaN, Infinity, -Infinity
    {"$date": "2024-02-29"}      DATE
    {"$localdatetime": "..."}    LOCAL DATETIME, nanoseconds, as ISO 8601 writes it
    {"$datetime": "...+01:00[Europe/Berlin]"}    ZONED DATETIME with its zone id, if it has one
    {"$map": {...}}              an author's own map that has one key starting with `$`

A coder is built once per type, when a procedure is registered, and then called per value.
"""

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sidecypher.errors import ValueTypeError
from sidecypher.signature import CypherType
from sidecypher.types import INTEGER_MAX, INTEGER_MIN, DateTime

_TYPE_NAMES: Final[dict[type, str]] = {
    bool: "BOOLEAN",
    int: "INTEGER",
    float: "FLOAT",
    str: "STRING",
    list: "LIST",
    dict: "MAP",
    date: "DATE",
}

Coder = Callable[[Any], Any]
"""Turns a value into its JSON form or back; raises `ValueTypeError` without naming the value."""

_NON_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_ZONED: Final = re.compile(
    r"(?P<local>[^Z+\[]+?)(?P<offset>Z|[+-]\d\d:\d\d(?::\d\d)?)(?:\[(?P<zone>[^\]]+)\])?\Z"
)
_LOCAL: Final = re.compile(
    r"(?P<minute>\d{4}-\d\d-\d\dT\d\d:\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?)?\Z"
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def encoder(kind: CypherType) -> Coder:
    """Return the function that writes values of type `kind`.

    Example:
        >>> encoder(CypherType("DATE"))(date(2024, 2, 29))
        {'$date': '2024-02-29'}
    """
    return _nullable(kind, _ENCODERS[kind.name](kind))


def decoder(kind: CypherType) -> Coder:
    """Return the function that reads values of type `kind`.

    Example:
        >>> decoder(CypherType("LIST", CypherType("INTEGER")))([1, 2])
        [1, 2]
    """
    return _nullable(kind, _DECODERS[kind.name](kind))


def _nullable(kind: CypherType, coder: Coder) -> Coder:
    # No coder but that of ANY takes None, so only a nullable type needs a step before it.
    if kind.name == "ANY" or not kind.nullable:
        return coder
    return lambda value: None if value is None else coder(value)


def _unexpected(value: object, kind: CypherType) -> ValueTypeError:
    if value is None:
        return ValueTypeError(f"is null where {kind} is expected")
    return ValueTypeError(f"is a Python {type(value).__name__} where {kind} is expected")


# Writing


def _encode_boolean(kind: CypherType) -> Coder:
    def encode(value: Any) -> Any:
        if value is True or value is False:
            return value
        raise _unexpected(value, kind)

    return encode


def _encode_integer(kind: CypherType) -> Coder:
    def encode(value: Any) -> Any:
        if type(value) is int and INTEGER_MIN <= value <= INTEGER_MAX:
            return value
        if not isinstance(value, int) or isinstance(value, bool):
            raise _unexpected(value, kind)
        return int(_in_64_bits(value))

    return encode


def _encode_float(kind: CypherType) -> Coder:
    def encode(value: Any) -> Any:
        if type(value) is float and math.isfinite(value):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _unexpected(value, kind)
        try:
            number = float(value)
        except OverflowError:
            raise ValueTypeError("is an integer too large for a FLOAT") from None
        if math.isfinite(number):
            return number
        return {
            "$float": "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
        }

    return encode


def _encode_string(kind: CypherType) -> Coder:
    def encode(value: Any) -> Any:
        if type(value) is str and value.isascii():
            return value
        if not isinstance(value, str):
            raise _unexpected(value, kind)
        if not value.isascii() and _SURROGATE.search(value):
            raise ValueTypeError("is a string with half of a surrogate pair")
        # Not `str(value)`: a member of an enumeration would give its name.
        return str.__str__(value)

    return encode


def _encode_date(kind: CypherType) -> Coder:
    def encode(value: Any) -> Any:
        if not isinstance(value, date) or isinstance(value, datetime):
            raise _unexpected(value, kind)
        return {"$date": value.isoformat()}

    return encode


def _encode_local(kind: CypherType) -> Coder:
    def encode(value: Any) -> Any:
        if not isinstance(value, datetime):
            raise _unexpected(value, kind)
        if value.tzinfo is not None:
            raise ValueTypeError(f"is a datetime with a time zone where {kind} is expected")
        return {"$localdatetime": _iso_local(value)}

    return encode


def _encode_zoned(kind: CypherType) -> Coder:
    def encode(value: Any) -> Any:
        if not isinstance(value, datetime):
            raise _unexpected(value, kind)
        offset = value.utcoffset()
        if offset is None:
            raise ValueTypeError(f"is a datetime without a time zone where {kind} is expected")
        if offset.microseconds:
            raise ValueTypeError("is a datetime whose offset has fractions of a second")
        zone = f"[{value.tzinfo.key}]" if isinstance(value.tzinfo, ZoneInfo) else ""
        return {"$datetime": _iso_local(value) + _iso_offset(offset) + zone}

    return encode


def _encode_list(kind: CypherType) -> Coder:
    encode_item = encoder(kind.item or CypherType("ANY", nullable=True))

    def encode(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise _unexpected(value, kind)
        return [encode_item(item) for item in value]

    return encode


def _encode_map(kind: CypherType) -> Coder:
    encode_item = encoder(kind.item or CypherType("ANY", nullable=True))
    encode_key = _encode_string(CypherType("STRING"))

    def encode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _unexpected(value, kind)
        encoded = {encode_key(key): encode_item(item) for key, item in value.items()}
        return {"$map": encoded} if _looks_tagged(encoded) else encoded

    return encode


def _encode_any(_kind: CypherType) -> Coder:
    def encode(value: Any) -> Any:
        if value is None:
            return None
        for python_type, name in _ANY_TYPES:
            if isinstance(value, python_type):
                local = name == "ZONED DATETIME" and value.tzinfo is None
                return _any_encoders["LOCAL DATETIME" if local else name](value)
        raise ValueTypeError(f"is a Python {type(value).__name__}, which has no Cypher type")

    return encode


def _in_64_bits(value: int) -> int:
    if INTEGER_MIN <= value <= INTEGER_MAX:
        return value
    raise ValueTypeError("is an integer outside 64 bits")


def _looks_tagged(value: dict[str, Any]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith("$")


def _iso_local(value: datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(timespec="seconds")
    nanosecond = value.nanosecond if isinstance(value, DateTime) else value.microsecond * 1000
    return f"{text}.{nanosecond:09d}" if nanosecond else text


def _iso_offset(offset: timedelta) -> str:
    if not offset:
        return "Z"
    sign = "-" if offset < timedelta(0) else "+"
    minutes, seconds = divmod(abs(offset) // timedelta(seconds=1), 60)
    text = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{seconds:02d}" if seconds else text


# Reading


def _decode_boolean(kind: CypherType) -> Coder:
    def decode(value: Any) -> Any:
        if value is True or value is False:
            return value
        raise _not_read(value, kind)

    return decode


def _decode_integer(kind: CypherType) -> Coder:
    def decode(value: Any) -> Any:
        if not isinstance(value, int) or value is True or value is False:
            raise _not_read(value, kind)
        return _in_64_bits(value)

    return decode


def _decode_float(kind: CypherType) -> Coder:
    def decode(value: Any) -> Any:
        if isinstance(value, float):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                raise ValueTypeError("is an integer too large for a FLOAT") from None
        if isinstance(value, dict) and len(value) == 1 and isinstance(value.get("$float"), str):
            return _read_float(value["$float"])
        raise _not_read(value, kind)

    return decode


def _decode_string(kind: CypherType) -> Coder:
    def decode(value: Any) -> Any:
        if isinstance(value, str):
            return value
        raise _not_read(value, kind)

    return decode


def _decode_tagged(tag: str, read: Callable[[str], Any]) -> Callable[[CypherType], Coder]:
    def build(kind: CypherType) -> Coder:
        def decode(value: Any) -> Any:
            if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(tag), str):
                return read(value[tag])
            raise _not_read(value, kind)

        return decode

    return build


def _decode_list(kind: CypherType) -> Coder:
    decode_item = decoder(kind.item or CypherType("ANY", nullable=True))

    def decode(value: Any) -> Any:
        if isinstance(value, list):
            return [decode_item(item) for item in value]
        raise _not_read(value, kind)

    return decode


def _decode_map(kind: CypherType) -> Coder:
    decode_item = decoder(kind.item or CypherType("ANY", nullable=True))

    def decode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _not_read(value, kind)
        if _looks_tagged(value):
            value = value.get("$map")
            if not isinstance(value, dict):
                raise ValueTypeError(f"is no {kind}")
        return {key: decode_item(item) for key, item in value.items()}

    return decode


def _decode_any(_kind: CypherType) -> Coder:
    def decode(value: Any) -> Any:
        if isinstance(value, list):
            return [decode(item) for item in value]
        if isinstance(value, int):
            return _in_64_bits(value)
        if not isinstance(value, dict):
            return value
        if not _looks_tagged(value):
            return {key: decode(item) for key, item in value.items()}
        tag = next(iter(value))
        if tag not in _TAGS:
            raise ValueTypeError(f"has the tag `{tag}`, which this version does not know")
        return _tagged_decoders[tag](value)

    return decode


def _not_read(value: object, kind: CypherType) -> ValueTypeError:
    if value is None:
        return ValueTypeError(f"is null where {kind} is expected")
    told = _TYPE_NAMES.get(type(value), "value")
    if isinstance(value, dict) and _looks_tagged(value):
        told = _TAGS.get(next(iter(value)), "value")
    return ValueTypeError(f"is a {told} where {kind} is expected")


def _read_float(text: str) -> float:
    try:
        return _NON_FINITE[text]
    except KeyError:
        raise ValueTypeError("is no FLOAT") from None


def _read_date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueTypeError("is a DATE outside the years 1 to 9999") from None


def _read_local(text: str) -> datetime:
    found = _LOCAL.match(text)
    if found is None:
        raise ValueTypeError("is a date and time outside the years 1 to 9999")
    fraction = int((found["fraction"] or "").ljust(9, "0"))
    try:
        value = datetime.fromisoformat(f"{found['minute']}:{found['second'] or '00'}")
    except ValueError:
        raise ValueTypeError("is no date and time") from None
    value = value.replace(microsecond=fraction // 1000)
    return DateTime.of(value, fraction % 1000) if fraction % 1000 else value


def _read_zoned(text: str) -> datetime:
    found = _ZONED.match(text)
    if found is None:
        raise ValueTypeError("is a date and time outside the years 1 to 9999")
    local, offset = _read_local(found["local"]), _read_offset(found["offset"])
    extra = local.nanosecond % 1000 if isinstance(local, DateTime) else 0
    if found["zone"] is None:
        value = local.replace(tzinfo=UTC if not offset else timezone(offset))
    else:
        value = _in_zone(local, offset, found["zone"])
    return DateTime.of(value, extra) if extra else value


def _read_offset(text: str) -> timedelta:
    if text == "Z":
        return timedelta(0)
    hours, minutes, seconds = [*text[1:].split(":"), "0"][:3]
    offset = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    if offset >= timedelta(days=1):
        raise ValueTypeError("has an offset of a day or more")
    return -offset if text[0] == "-" else offset


def _in_zone(local: datetime, offset: timedelta, key: str) -> datetime:
    try:
        zone = ZoneInfo(key)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueTypeError("has a time zone that this Python does not know") from None
    value = local.replace(tzinfo=zone)
    # An hour that a clock change repeats is told apart by its offset.
    for candidate in (value, value.replace(fold=1)):
        if candidate.utcoffset() == offset:
            return candidate
    # The JVM knows other rules for this zone than Python does: the instant matters more.
    return local.replace(tzinfo=timezone(offset))


_ENCODERS: Final[dict[str, Callable[[CypherType], Coder]]] = {
    "ANY": _encode_any,
    "BOOLEAN": _encode_boolean,
    "DATE": _encode_date,
    "FLOAT": _encode_float,
    "INTEGER": _encode_integer,
    "LIST": _encode_list,
    "LOCAL DATETIME": _encode_local,
    "MAP": _encode_map,
    "STRING": _encode_string,
    "ZONED DATETIME": _encode_zoned,
}
_DECODERS: Final[dict[str, Callable[[CypherType], Coder]]] = {
    "ANY": _decode_any,
    "BOOLEAN": _decode_boolean,
    "DATE": _decode_tagged("$date", _read_date),
    "FLOAT": _decode_float,
    "INTEGER": _decode_integer,
    "LIST": _decode_list,
    "LOCAL DATETIME": _decode_tagged("$localdatetime", _read_local),
    "MAP": _decode_map,
    "STRING": _decode_string,
    "ZONED DATETIME": _decode_tagged("$datetime", _read_zoned),
}
_TAGS: Final = {
    "$date": "DATE",
    "$datetime": "ZONED DATETIME",
    "$float": "FLOAT",
    "$localdatetime": "LOCAL DATETIME",
    "$map": "MAP",
}
_ANY_TYPES: Final[tuple[tuple[Any, str], ...]] = (
    (str, "STRING"),
    (bool, "BOOLEAN"),
    (int, "INTEGER"),
    (float, "FLOAT"),
    (dict, "MAP"),
    ((list, tuple), "LIST"),
    (datetime, "ZONED DATETIME"),
    (date, "DATE"),
)
_any_encoders: Final[dict[str, Coder]] = {}
_tagged_decoders: Final[dict[str, Coder]] = {}
# Filled last: MAP and LIST of ANY are made of the coder for ANY itself.
_any_encoders.update({name: build(CypherType(name)) for name, build in _ENCODERS.items()})
_tagged_decoders.update({tag: _DECODERS[name](CypherType(name)) for tag, name in _TAGS.items()})
