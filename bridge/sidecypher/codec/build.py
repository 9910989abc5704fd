"""The coder of each Cypher type."""

from datetime import date, datetime, time
from typing import Any, Final

from sidecypher.codec import containers, graph, scalars, spatial, temporal
from sidecypher.codec.containers import decode_any, decode_map, encode_any, encode_map
from sidecypher.codec.problems import Coder
from sidecypher.codec.tags import TAGS
from sidecypher.errors import ValueTypeError
from sidecypher.types import (
    CypherType,
    DateTime,
    Duration,
    Node,
    OpaqueTemporal,
    Path,
    Point,
    Relationship,
    Time,
)

_ENCODERS: Final[dict[str, Coder]] = {
    "ANY": encode_any,
    "BOOLEAN": scalars.encode_boolean,
    "BYTES": scalars.encode_bytes,
    "DATE": temporal.encode_date,
    "DURATION": temporal.encode_duration,
    "FLOAT": scalars.encode_float,
    "INTEGER": scalars.encode_integer,
    "LOCAL DATETIME": temporal.encode_local_datetime,
    "LOCAL TIME": temporal.encode_local_time,
    "MAP": encode_map,
    "NODE": graph.encode_node,
    "PATH": graph.encode_path,
    "POINT": spatial.encode_point,
    "RELATIONSHIP": graph.encode_relationship,
    "STRING": scalars.encode_string,
    "ZONED DATETIME": temporal.encode_zoned_datetime,
    "ZONED TIME": temporal.encode_zoned_time,
}
# The types of most columns: a coder around theirs would take as long as they do.
_NULLABLE_ENCODERS: Final[dict[str, Coder]] = {
    "BOOLEAN": scalars.encode_nullable_boolean,
    "INTEGER": scalars.encode_nullable_integer,
    "STRING": scalars.encode_nullable_string,
}
_DECODERS: Final[dict[str, Coder]] = {
    "ANY": decode_any,
    "BOOLEAN": scalars.decode_boolean,
    "BYTES": scalars.decode_bytes,
    "DATE": temporal.decode_date,
    "DURATION": temporal.decode_duration,
    "FLOAT": scalars.decode_float,
    "INTEGER": scalars.decode_integer,
    "LOCAL DATETIME": temporal.decode_local_datetime,
    "LOCAL TIME": temporal.decode_local_time,
    "MAP": decode_map,
    "NODE": graph.decode_node,
    "PATH": graph.decode_path,
    "POINT": spatial.decode_point,
    "RELATIONSHIP": graph.decode_relationship,
    "STRING": scalars.decode_string,
    "ZONED DATETIME": temporal.decode_zoned_datetime,
    "ZONED TIME": temporal.decode_zoned_time,
}
_ANY: Final = CypherType("ANY", nullable=True)


def encoder(kind: CypherType) -> Coder:
    """Return the function that writes values of type `kind`.

    Example:
        >>> encoder(CypherType("DATE"))(date(2024, 2, 29))
        {'$date': '2024-02-29'}
    """
    if kind.name == "LIST":
        coder = containers.list_encoder(encoder(kind.item or _ANY), str(kind))
    elif kind.name == "MAP" and kind.item not in {None, _ANY}:
        coder = containers.map_encoder(encoder(kind.item or _ANY))
    elif kind.nullable and not kind.allowed and kind.name in _NULLABLE_ENCODERS:
        return _NULLABLE_ENCODERS[kind.name]
    else:
        coder = _ENCODERS[kind.name]
    return _nullable(kind, _restricted(kind, coder))


def decoder(kind: CypherType) -> Coder:
    """Return the function that reads values of type `kind`.

    Example:
        >>> decoder(CypherType("LIST", CypherType("INTEGER")))([1, 2])
        [1, 2]
    """
    if kind.name == "LIST":
        coder = containers.list_decoder(decoder(kind.item or _ANY), str(kind))
    elif kind.name == "MAP" and kind.item not in {None, _ANY}:
        coder = containers.map_decoder(decoder(kind.item or _ANY))
    else:
        coder = _DECODERS[kind.name]
    return _nullable(kind, _restricted(kind, coder))


def _nullable(kind: CypherType, coder: Coder) -> Coder:
    # No coder but that of ANY takes None, so only a nullable type needs a step before it.
    if kind.name == "ANY" or not kind.nullable:
        return coder
    return lambda value: None if value is None else coder(value)


def _restricted(kind: CypherType, coder: Coder) -> Coder:
    if not kind.allowed:
        return coder
    allowed = frozenset(kind.allowed)
    told = ", ".join(f"`{value}`" for value in kind.allowed)

    def code(value: Any) -> Any:
        coded = coder(value)
        if coded not in allowed:
            raise ValueTypeError(f"is none of {told}")
        return coded

    return code


# Filled here: a NODE has properties of any type, and a value of any type may be a NODE.
_OWN: Final[tuple[tuple[type, Coder], ...]] = (
    (str, scalars.encode_string),
    (int, scalars.encode_integer),
    (float, scalars.encode_float),
    (datetime, temporal.encode_any_datetime),
    (date, temporal.encode_date),
    (time, temporal.encode_any_time),
    (bytes, scalars.encode_bytes),
    (bytearray, scalars.encode_bytes),
    (Duration, temporal.encode_duration),
    (Point, spatial.encode_point),
    (Node, graph.encode_node),
    (Relationship, graph.encode_relationship),
    (Path, graph.encode_path),
    (OpaqueTemporal, temporal.encode_opaque),
)
containers.any_encoders.update(_OWN)
containers.any_encoders.update(
    {
        DateTime: temporal.encode_any_datetime,
        Time: temporal.encode_any_time,
    }
)
containers.any_encoders_of_subclasses.extend(_OWN)
containers.tag_decoders.update(
    {tag: _DECODERS[name] for tag, name in TAGS.items() if tag != "$map"}
)
