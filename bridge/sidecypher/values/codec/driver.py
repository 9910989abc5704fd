"""Values of Neo4j's driver as those of sidecypher, and back.

The functions import the driver only when they write: it takes 30 MB and 0.2 s.
"""

import pkgutil
from collections.abc import Mapping
from datetime import datetime, time, timedelta, timezone
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from sidecypher.values.codec import temporal
from sidecypher.values.codec.problems import Coder
from sidecypher.values.graph import Node, Path, Relationship
from sidecypher.values.spatial import Point
from sidecypher.values.temporal import DateTime, Duration, FixedZone, Time

readers: Final[dict[str, Coder]] = {}
"""The reader of each class of the driver, such as `neo4j.time:Date`; filled by `kinds`."""

writers: Final[dict[type, Coder]] = {}
"""The writer of each class that the driver does not accept as it is; filled by `kinds`."""

_PLAIN: Final = (bool, int, float, str, bytes, type(None))
_WGS84: Final = frozenset({4326, 4979})


class UnknownDriverValueError(Exception):
    """A value of the driver has a class that sidecypher does not read."""


# Reading


def from_driver(value: Any) -> Any:
    """Return a value of the driver as one of sidecypher.

    Raises:
        UnknownDriverValueError: The table of types has no such class.
    """
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list):
        return [from_driver(each) for each in value]
    if isinstance(value, dict):
        return {name: from_driver(each) for name, each in value.items()}
    for driver_class, read in _resolved():
        if isinstance(value, driver_class):
            return read(value)
    raise UnknownDriverValueError(type(value).__name__)


@cache
def _resolved() -> list[tuple[type, Coder]]:
    return [(pkgutil.resolve_name(name), read) for name, read in readers.items()]


def read_node(value: Any) -> Node:
    """Read a NODE."""
    return Node(value.element_id, value.labels, _properties(value))


def read_relationship(value: Any) -> Relationship:
    """Read a RELATIONSHIP."""
    ends = (value.start_node, value.end_node)
    # Compared with None: a node without properties is false.
    start, end = ("" if each is None else each.element_id for each in ends)
    return Relationship(value.element_id, value.type, _properties(value), start, end)


def read_path(value: Any) -> Path:
    """Read a PATH."""
    nodes = tuple(map(read_node, value.nodes))
    return Path(nodes, tuple(map(read_relationship, value.relationships)))


def _properties(value: Any) -> dict[str, Any]:
    return {name: from_driver(each) for name, each in value.items()}


def read_point(value: Any) -> Point:
    """Read a POINT."""
    if value.srid is None:
        raise UnknownDriverValueError(type(value).__name__)
    return Point(value.srid, *value)


def read_duration(value: Any) -> Duration:
    """Read a DURATION."""
    return Duration(value.months, value.days, value.seconds, value.nanoseconds)


def read_date(value: Any) -> Any:
    """Read a DATE."""
    return value.to_native()


def read_time(value: Any) -> Any:
    """Read a ZONED TIME or LOCAL TIME."""
    text = value.iso_format()
    if value.tzinfo is None:
        return temporal.decode_local_time({"$localtime": text})
    return temporal.decode_zoned_time({"$time": text})


def read_datetime(value: Any) -> Any:
    """Read a ZONED DATETIME or LOCAL DATETIME."""
    text = value.iso_format()
    if value.tzinfo is None:
        return temporal.decode_local_datetime({"$localdatetime": text})
    zone = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
    # The driver has one class for UTC, the offset, and for the zone of that name.
    bracket = f"[{zone}]" if zone and zone != "UTC" else ""
    return temporal.decode_zoned_datetime({"$datetime": text + bracket})


# Writing


def to_driver(value: Any) -> Any:
    """Return a parameter as the driver accepts it."""
    for python_class, write in writers.items():
        if isinstance(value, python_class):
            return write(value)
    if isinstance(value, Mapping):
        return {name: to_driver(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_driver(each) for each in value]
    return value


def write_duration(value: Duration) -> Any:
    """Write a DURATION."""
    from neo4j.time import Duration as DriverDuration  # noqa: PLC0415

    return DriverDuration(
        months=value.months,
        days=value.days,
        seconds=value.seconds,
        nanoseconds=value.nanoseconds,
    )


def write_point(value: Point) -> Any:
    """Write a POINT."""
    from neo4j.spatial import CartesianPoint, WGS84Point  # noqa: PLC0415

    coordinates = (value.x, value.y) if value.z is None else (value.x, value.y, value.z)
    return (WGS84Point if value.srid in _WGS84 else CartesianPoint)(coordinates)


def write_time(value: time) -> Any:
    """Write a ZONED TIME or LOCAL TIME."""
    from neo4j.time import Time as DriverTime  # noqa: PLC0415

    offset = value.utcoffset()
    # The driver calls `utcoffset` with a time, which a `timezone` refuses.
    zone = None if offset is None else FixedZone("", offset)
    nanosecond = value.nanosecond if isinstance(value, Time) else value.microsecond * 1000
    return DriverTime(value.hour, value.minute, value.second, nanosecond, zone)


def write_datetime(value: datetime) -> Any:
    """Write a ZONED DATETIME or LOCAL DATETIME."""
    from neo4j.time import DateTime as DriverDateTime  # noqa: PLC0415

    if isinstance(value.tzinfo, ZoneInfo):
        # The driver gives a `ZoneInfo` a datetime that is not Python's. `ZoneInfo` reads its memory
        # as if it were, which may end the process.
        offset = value.utcoffset() or timedelta()
        key = value.tzinfo.key
        value = _in_zone(value, FixedZone(key, offset) if key else timezone(offset))
    if not isinstance(value, DateTime):
        return value
    plain = datetime.combine(value.date(), value.timetz()).replace(microsecond=0, fold=0)
    return DriverDateTime.from_native(plain).replace(nanosecond=value.nanosecond)


def _in_zone(value: datetime, zone: FixedZone | timezone) -> datetime:
    changed = value.replace(tzinfo=zone)
    if isinstance(value, DateTime):
        return DateTime.of(changed, value.nanosecond - value.microsecond * 1000)
    return changed
