"""Values that cross the bridge, and the small value objects that bound a call.

Cypher types map to Python's own types wherever Python has one. The others live here.
"""

from sidecypher.types.annotations import (
    INTEGER_MAX,
    INTEGER_MIN,
    CypherTypeName,
    Description,
    LocalDateTime,
    LocalTime,
)
from sidecypher.types.bounds import Deadline, Limits
from sidecypher.types.cypher import CypherType
from sidecypher.types.graph import Node, Path, Relationship
from sidecypher.types.spatial import Point
from sidecypher.types.temporal import DateTime, Duration, OpaqueTemporal, Time

__all__ = [
    "INTEGER_MAX",
    "INTEGER_MIN",
    "CypherType",
    "CypherTypeName",
    "DateTime",
    "Deadline",
    "Description",
    "Duration",
    "Limits",
    "LocalDateTime",
    "LocalTime",
    "Node",
    "OpaqueTemporal",
    "Path",
    "Point",
    "Relationship",
    "Time",
]
