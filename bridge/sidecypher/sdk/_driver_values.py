"""Values of Neo4j's driver as those of sidecypher, and back.

The classes of both sides name the same Cypher types. Only these pass where rows and `ctx.run` take
values, so a record of the driver must not reach an author's function as it is.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, time, timedelta, timezone
from typing import Any, Final
from zoneinfo import ZoneInfo

import neo4j
from neo4j.graph import Node as DriverNode
from neo4j.graph import Path as DriverPath
from neo4j.graph import Relationship as DriverRelationship
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.spatial import Point as DriverPoint
from neo4j.time import Date as DriverDate
from neo4j.time import DateTime as DriverDateTime
from neo4j.time import Duration as DriverDuration
from neo4j.time import Time as DriverTime

from sidecypher.errors import ValueTypeError
from sidecypher.values.codec import temporal
from sidecypher.values.graph import Node, Path, Relationship
from sidecypher.values.spatial import Point
from sidecypher.values.temporal import DateTime, Duration, FixedZone, Time

_PLAIN: Final = (bool, int, float, str, bytes, type(None))
_WGS84: Final = frozenset({4326, 4979})


def record_of(record: neo4j.Record) -> dict[str, Any]:
    """Return a record of the driver as a dict by column name.

    Raises:
        ValueTypeError: A column holds a value that sidecypher has no class for.
    """
    return {column: _column(record, column) for column in record.keys()}  # noqa: SIM118


def _column(record: neo4j.Record, column: str) -> Any:
    try:
        return _from_driver(record[column])
    except neo4j.exceptions.BrokenRecordError:
        kind = "a value that Neo4j's driver cannot read, such as a date outside the years 1 to 9999"
    except _UnknownValueError as error:
        kind = f"a value of the driver's type {error}"
    raise ValueTypeError(
        f"The column `{column}` has {kind}",
        hint="Convert it in the statement, with `toString` or `toFloatList`.",
    )


class _UnknownValueError(Exception):
    """A value has a class that is not known here."""


def _from_driver(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list):
        return [_from_driver(each) for each in value]
    if isinstance(value, dict):
        return {name: _from_driver(each) for name, each in value.items()}
    for kind, convert in _READERS:
        if isinstance(value, kind):
            return convert(value)
    raise _UnknownValueError(type(value).__name__)


def _node(value: DriverNode) -> Node:
    return Node(value.element_id, value.labels, _properties(value))


def _relationship(value: DriverRelationship) -> Relationship:
    ends = (value.start_node, value.end_node)
    # Compared with None: a node without properties is false.
    start, end = ("" if each is None else each.element_id for each in ends)
    return Relationship(value.element_id, value.type, _properties(value), start, end)


def _path(value: DriverPath) -> Path:
    return Path(tuple(map(_node, value.nodes)), tuple(map(_relationship, value.relationships)))


def _properties(value: DriverNode | DriverRelationship) -> dict[str, Any]:
    return {name: _from_driver(each) for name, each in value.items()}


def _point(value: DriverPoint) -> Point:
    srid = value.srid
    if srid is None:
        raise _UnknownValueError(type(value).__name__)
    return Point(srid, *value)


def _duration(value: DriverDuration) -> Duration:
    return Duration(value.months, value.days, value.seconds, value.nanoseconds)


def _time(value: DriverTime) -> Any:
    text = value.iso_format()
    if value.tzinfo is None:
        return temporal.decode_local_time({"$localtime": text})
    return temporal.decode_zoned_time({"$time": text})


def _datetime(value: DriverDateTime) -> Any:
    text = value.iso_format()
    if value.tzinfo is None:
        return temporal.decode_local_datetime({"$localdatetime": text})
    zone = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
    # The driver has one class for UTC, the offset, and for the zone of that name.
    bracket = f"[{zone}]" if zone and zone != "UTC" else ""
    return temporal.decode_zoned_datetime({"$datetime": text + bracket})


_READERS: Final[tuple[tuple[type, Callable[[Any], Any]], ...]] = (
    (DriverNode, _node),
    (DriverRelationship, _relationship),
    (DriverPath, _path),
    (DriverPoint, _point),
    (DriverDateTime, _datetime),
    (DriverDate, DriverDate.to_native),
    (DriverTime, _time),
    (DriverDuration, _duration),
)


def parameter_of(value: Any) -> Any:
    """Return a parameter as the driver takes it."""
    match value:
        case datetime():
            return _driver_datetime(value)
        case time():
            return _driver_time(value)
        case Duration():
            return DriverDuration(
                months=value.months,
                days=value.days,
                seconds=value.seconds,
                nanoseconds=value.nanoseconds,
            )
        case Point():
            coordinates = (value.x, value.y) if value.z is None else (value.x, value.y, value.z)
            kind = WGS84Point if value.srid in _WGS84 else CartesianPoint
            return kind(coordinates)
        case Mapping():
            return {name: parameter_of(each) for name, each in value.items()}
        case list() | tuple():
            return [parameter_of(each) for each in value]
        case _:
            return value


def _driver_time(value: time) -> DriverTime:
    offset = value.utcoffset()
    # The driver calls `utcoffset` with a time, which a `timezone` refuses.
    zone = None if offset is None else FixedZone("", offset)
    nanosecond = value.nanosecond if isinstance(value, Time) else value.microsecond * 1000
    return DriverTime(value.hour, value.minute, value.second, nanosecond, zone)


def _driver_datetime(value: datetime) -> Any:
    if isinstance(value.tzinfo, ZoneInfo):
        # The driver gives a `ZoneInfo` a datetime that is not Python's. `ZoneInfo` reads its memory
        # as if it were, which may end the process.
        offset = value.utcoffset() or timedelta()
        key = value.tzinfo.key
        zone = FixedZone(key, offset) if key else timezone(offset)
        value = _in_zone(value, zone)
    if not isinstance(value, DateTime):
        return value
    plain = datetime(
        value.year, value.month, value.day, value.hour, value.minute, value.second,
        tzinfo=value.tzinfo,
    )  # fmt: skip
    return DriverDateTime.from_native(plain).replace(nanosecond=value.nanosecond)


def _in_zone(value: datetime, zone: FixedZone | timezone) -> datetime:
    changed = value.replace(tzinfo=zone)
    if isinstance(value, DateTime):
        return DateTime.of(changed, value.nanosecond - value.microsecond * 1000)
    return changed
