"""`Point`: a place in one of the four coordinate systems of Neo4j."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    """A POINT.

    Attributes:
        srid: 7203 (Cartesian), 9157 (Cartesian, 3D), 4326 (WGS 84: longitude, latitude) or 4979
            (WGS 84, 3D).
        x: First coordinate; the longitude in degrees for 4326 and 4979.
        y: Second coordinate; the latitude in degrees for 4326 and 4979.
        z: Third coordinate, of 9157 and 4979 only; the height in metres for 4979.

    Example:
        >>> Point(4326, 13.4, 52.5)
        Point(srid=4326, x=13.4, y=52.5, z=None)
    """

    srid: int
    x: float
    y: float
    z: float | None = None
