"""DATE, the times with and without zone, and DURATION."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sidecypher.errors import ValueTypeError
from sidecypher.values.annotations import INTEGER_MAX, INTEGER_MIN
from sidecypher.values.codec._scalars import in_64_bits
from sidecypher.values.codec.problems import Coder, not_read, not_written
from sidecypher.values.temporal import DateTime, Duration, FixedZone, OpaqueTemporal, Time

_EXACT: Final = (DateTime, Time)
_LARGEST_OFFSET: Final = timedelta(hours=18)
"""The largest offset of Java's `ZoneOffset`."""

_UTC_LENGTH: Final = len("+00:00")
_SECONDS_OF_DAY: Final = 86_400
_SECONDS_OF_MONTH: Final = 2_629_746
"""A twelfth of 365.2425 days, which Neo4j uses to check the length of a duration."""

_CLOCK: Final = r"\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?"
_OFFSET: Final = r"(?:Z|[+-]\d\d:\d\d(?::\d\d)?)"
_ZONE: Final = r"(?:\[[^\]]+\])"
_STRANGE_DATE: Final = r"(?:0000|-\d{4,9}|\+\d{5,9})-\d\d-\d\d"
# Text up to the microsecond, which Python's own classes read; further digits; offset; zone.
_TIME: Final = re.compile(
    r"(\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)((?<=\.\d{6})\d{1,3})?" + f"({_OFFSET})?", re.ASCII
)
_DATETIME: Final = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)((?<=\.\d{6})\d{1,3})?"
    f"(?:({_OFFSET})({_ZONE}?))?",
    re.ASCII,
)
_OPAQUE: Final = {
    "DATE": re.compile(_STRANGE_DATE, re.ASCII),
    "LOCAL DATETIME": re.compile(f"{_STRANGE_DATE}T{_CLOCK}", re.ASCII),
    "ZONED DATETIME": re.compile(f"{_STRANGE_DATE}T{_CLOCK}{_OFFSET}{_ZONE}?", re.ASCII),
}


# Writing


def encode_date(value: Any) -> Any:
    """Write a DATE."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return {"$date": value.isoformat()}
    return {"$date": _opaque_text(value, "DATE")}


def encode_local_time(value: Any) -> Any:
    """Write a LOCAL TIME."""
    if not isinstance(value, time):
        raise not_written(value, "LOCAL TIME")
    if value.tzinfo is not None:
        raise ValueTypeError("is a time with a time zone where LOCAL TIME is expected")
    return {"$localtime": _iso_local(value)}


def encode_zoned_time(value: Any) -> Any:
    """Write a ZONED TIME."""
    if not isinstance(value, time):
        raise not_written(value, "ZONED TIME")
    if value.tzinfo is None:
        raise ValueTypeError("is a time without a time zone where ZONED TIME is expected")
    offset = value.utcoffset()
    if offset is None:
        raise ValueTypeError("is a time in a zone whose offset depends on the day")
    return {"$time": _iso_local(value) + _iso_offset(offset)}


def encode_local_datetime(value: Any) -> Any:
    """Write a LOCAL DATETIME."""
    if not isinstance(value, datetime):
        return {"$localdatetime": _opaque_text(value, "LOCAL DATETIME")}
    if value.tzinfo is not None:
        raise ValueTypeError("is a datetime with a time zone where LOCAL DATETIME is expected")
    return {"$localdatetime": _iso_local(value)}


def encode_zoned_datetime(value: Any) -> Any:
    """Write a ZONED DATETIME."""
    if not isinstance(value, datetime):
        return {"$datetime": _opaque_text(value, "ZONED DATETIME")}
    if type(value) is datetime and value.tzinfo is UTC:
        # Fast path for UTC, six times as fast.
        text = value.isoformat()[:-_UTC_LENGTH]
        return {"$datetime": f"{text.rstrip('0') if value.microsecond else text}Z"}
    offset = value.utcoffset()
    if offset is None:
        raise ValueTypeError("is a datetime without a time zone where ZONED DATETIME is expected")
    return {"$datetime": _iso_local(value) + _iso_offset(offset) + _bracket(value.tzinfo)}


def encode_duration(value: Any) -> Any:
    """Write a DURATION."""
    if not isinstance(value, Duration):
        raise not_written(value, "DURATION")
    return {
        "$duration": _duration_parts([value.months, value.days, value.seconds, value.nanoseconds])
    }


def encode_any_time(value: time) -> Any:
    """Write a `time` as ZONED TIME if it has a zone, else as LOCAL TIME."""
    return encode_local_time(value) if value.tzinfo is None else encode_zoned_time(value)


def encode_any_datetime(value: datetime) -> Any:
    """Write a `datetime` as ZONED DATETIME if it has a zone, else as LOCAL DATETIME."""
    return encode_local_datetime(value) if value.tzinfo is None else encode_zoned_datetime(value)


def encode_opaque(value: OpaqueTemporal) -> Any:
    """Write an `OpaqueTemporal` as the type it names."""
    return _OPAQUE_ENCODERS.get(value.type, encode_date)(value)


def _opaque_text(value: object, wanted: str) -> str:
    if not isinstance(value, OpaqueTemporal):
        raise not_written(value, wanted)
    if value.type != wanted:
        raise ValueTypeError(f"is an OpaqueTemporal of another type where {wanted} is expected")
    if not isinstance(value.text, str) or not _OPAQUE[wanted].fullmatch(value.text):
        raise ValueTypeError(
            f"is an OpaqueTemporal that is not a {wanted} outside the years 1 to 9999"
        )
    return value.text


def _iso_local(value: datetime | time) -> str:
    text = value.replace(tzinfo=None).isoformat(timespec="seconds")
    nanosecond = value.nanosecond if isinstance(value, _EXACT) else value.microsecond * 1000
    return text + (f".{nanosecond:09d}".rstrip("0") if nanosecond else "")


def _iso_offset(offset: timedelta) -> str:
    if not offset:
        return "Z"
    if offset.microseconds:
        raise ValueTypeError("has a time zone whose offset has fractions of a second")
    if abs(offset) > _LARGEST_OFFSET:
        raise ValueTypeError("has a time zone whose offset is more than 18 hours")
    sign = "-" if offset < timedelta(0) else "+"
    minutes, seconds = divmod(abs(offset) // timedelta(seconds=1), 60)
    text = f"{sign}{minutes // 60:02d}:{minutes % 60:02d}"
    return f"{text}:{seconds:02d}" if seconds else text


def _bracket(zone: tzinfo | None) -> str:
    # A `ZoneInfo` read from a file has no key.
    key = zone.key if isinstance(zone, ZoneInfo | FixedZone) else None
    return f"[{key}]" if key else ""


def _duration_parts(parts: list[Any]) -> list[int]:
    if any(type(part) is not int for part in parts):
        raise ValueTypeError("is a DURATION of parts that are not integers")
    months, days, seconds, _ = map(in_64_bits, parts)
    if (
        not INTEGER_MIN
        <= months * _SECONDS_OF_MONTH + days * _SECONDS_OF_DAY + seconds
        <= INTEGER_MAX
    ):
        raise ValueTypeError("is a DURATION of more seconds than 64 bits hold")
    return parts


_OPAQUE_ENCODERS: Final[dict[str, Coder]] = {
    "DATE": encode_date,
    "LOCAL DATETIME": encode_local_datetime,
    "ZONED DATETIME": encode_zoned_datetime,
}


# Reading


def _decoder(tag: str, wanted: str, read: Callable[[str], Any]) -> Coder:
    def decode(value: Any) -> Any:
        if isinstance(value, dict) and len(value) == 1 and isinstance(value.get(tag), str):
            try:
                return read(value[tag])
            except ValueError:
                if wanted in _OPAQUE and _OPAQUE[wanted].fullmatch(value[tag]):
                    return OpaqueTemporal(wanted, value[tag])  # type: ignore[arg-type]
        raise not_read(value, wanted)

    return decode


def decode_duration(value: Any) -> Any:
    """Read a DURATION."""
    parts = value.get("$duration") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(parts, list) or len(parts) != 4:  # noqa: PLR2004 - months to nanoseconds
        raise not_read(value, "DURATION")
    return Duration(*_duration_parts(parts))


def _read_date(text: str) -> date:
    # Python also reads other forms of ISO 8601, such as weeks.
    if text[4:8:3] != "--":
        raise ValueError(text)
    return date.fromisoformat(text)


def _read_local_time(text: str) -> time:
    value, extra, offset = _read_time(text)
    if offset:
        raise ValueError(text)
    return Time.of(value, extra) if extra else value


def _read_zoned_time(text: str) -> time:
    value, extra, offset = _read_time(text)
    value = value.replace(tzinfo=_fixed(_read_offset(offset)))
    return Time.of(value, extra) if extra else value


def _read_time(text: str) -> tuple[time, int, str]:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    clock, below, offset = found.groups("")
    return time.fromisoformat(clock), _extra(below), offset


def _read_local_datetime(text: str) -> datetime:
    value, extra, offset, _ = _read_datetime(text)
    if offset:
        raise ValueError(text)
    return DateTime.of(value, extra) if extra else value


def _read_zoned_datetime(text: str) -> datetime:
    value, extra, offset_text, zone = _read_datetime(text)
    offset = _read_offset(offset_text)
    value = _in_zone(value, offset, zone[1:-1]) if zone else value.replace(tzinfo=_fixed(offset))
    return DateTime.of(value, extra) if extra else value


def _read_datetime(text: str) -> tuple[datetime, int, str, str]:
    found = _DATETIME.fullmatch(text)
    if found is None:
        raise ValueError(text)
    local, below, offset, zone = found.groups("")
    return datetime.fromisoformat(local), _extra(below), offset, zone


def _extra(digits: str) -> int:
    """Return the nanoseconds below the microsecond; Java leaves no zeros out of nine digits."""
    return int(digits.ljust(3, "0")) if digits else 0


def _read_offset(text: str) -> timedelta:
    if not text:
        raise ValueError(text)
    if text == "Z":
        return timedelta(0)
    hours, minutes, seconds = [*text[1:].split(":"), "0"][:3]
    offset = timedelta(hours=int(hours), minutes=int(minutes), seconds=int(seconds))
    if offset > _LARGEST_OFFSET:
        raise ValueError(text)
    return -offset if text[0] == "-" else offset


def _fixed(offset: timedelta) -> timezone:
    return timezone(offset) if offset else UTC


def _in_zone(local: datetime, offset: timedelta, key: str) -> datetime:
    try:
        value = local.replace(tzinfo=ZoneInfo(key))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return local.replace(tzinfo=FixedZone(key, offset))
    # The offset distinguishes the two passes of an hour that a clock change repeats.
    for candidate in (value, value.replace(fold=1)):
        if candidate.utcoffset() == offset:
            return candidate
    # The JVM has other rules for this zone than Python.
    return local.replace(tzinfo=FixedZone(key, offset))


decode_date: Final = _decoder("$date", "DATE", _read_date)
decode_local_time: Final = _decoder("$localtime", "LOCAL TIME", _read_local_time)
decode_zoned_time: Final = _decoder("$time", "ZONED TIME", _read_zoned_time)
decode_local_datetime: Final = _decoder("$localdatetime", "LOCAL DATETIME", _read_local_datetime)
decode_zoned_datetime: Final = _decoder("$datetime", "ZONED DATETIME", _read_zoned_datetime)
