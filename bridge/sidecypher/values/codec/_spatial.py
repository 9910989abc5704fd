"""POINT."""

import math
from typing import Any, Final

from sidecypher.errors import ValueTypeError
from sidecypher.values.codec.problems import not_read, not_written
from sidecypher.values.spatial import Point

_COORDINATES: Final = {7203: 2, 9157: 3, 4326: 2, 4979: 3}
"""How many coordinates a point has, by its coordinate system."""

_GEOGRAPHIC: Final = frozenset({4326, 4979})
_POLE: Final = 90.0
"""Latitude, in degrees, beyond which Neo4j has no point."""


def encode_point(value: Any) -> Any:
    """Write a POINT."""
    if not isinstance(value, Point):
        raise not_written(value, "POINT")
    coordinates = [value.x, value.y] if value.z is None else [value.x, value.y, value.z]
    return {"$point": [value.srid, *_checked(value.srid, coordinates)]}


def decode_point(value: Any) -> Any:
    """Read a POINT."""
    parts = value.get("$point") if isinstance(value, dict) and len(value) == 1 else None
    if not isinstance(parts, list) or not parts:
        raise not_read(value, "POINT")
    srid, *coordinates = parts
    return Point(srid, *_checked(srid, coordinates))


def _checked(srid: Any, coordinates: list[Any]) -> list[float]:
    wanted = _COORDINATES.get(srid) if type(srid) is int else None
    if wanted is None:
        raise ValueTypeError("is a POINT whose srid is not 7203, 9157, 4326 or 4979")
    if len(coordinates) != wanted:
        raise ValueTypeError(
            f"is a POINT with {len(coordinates)} coordinates where its srid {srid} has {wanted}"
        )
    numbers = [_coordinate(each) for each in coordinates]
    if srid in _GEOGRAPHIC and abs(numbers[1]) > _POLE:
        raise ValueTypeError("is a POINT whose latitude is not between -90 and 90")
    return numbers


def _coordinate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueTypeError("is a POINT with a coordinate that is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueTypeError("is a POINT with a coordinate that is not finite")
    return number
