"""The one table of Cypher types.

Signatures, codec, OpenAPI, sample statements and the plugin's generator read it. A new type is one
entry here and one in `Kind.java` of the plugin.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Final

from sidecypher.values.annotations import INTEGER_MAX, INTEGER_MIN
from sidecypher.values.codec import _graph as graph
from sidecypher.values.codec import _scalars as scalars
from sidecypher.values.codec import _spatial as spatial
from sidecypher.values.codec import _tags as tags
from sidecypher.values.codec import containers, driver, temporal
from sidecypher.values.codec.problems import Coder
from sidecypher.values.graph import Node, Path, Relationship
from sidecypher.values.spatial import Point
from sidecypher.values.temporal import DateTime, Duration, OpaqueTemporal, Time

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A Cypher type, with everything that the bridge knows about it.

    Attributes:
        name: Its name in Cypher.
        annotations: Its classes in Python signatures; values of these classes have this type where
            any type is allowed.
        written: The name of its annotation in hints, if not that of the first class.
        java: The class in generated stubs, with its package.
        tag: The only key of the JSON object that represents a value, if there is such an object.
        sample: An expression for sample statements, with `<name>` for the parameter's name.
        pattern: The pattern in sample statements for a type that has no expression.
        has_literals: Whether Neo4j reads defaults of this type.
        encode_nullable: Writes a value or null, for types so common that a second step counts.
        is_plain: Tells of values of the first class whether all are their own JSON; only for types
            so common that values are checked together.
        encode_any: Writes a value of one of the classes where any type is allowed, if not `encode`.
        driver_class: The class of Neo4j's driver, as `module:name`; `BoltClient` reads no other.
        from_driver: Reads a value of that class.
        to_driver: Writes a value of one of the classes as that class, if the driver needs it.
    """

    name: str
    encode: Coder
    decode: Coder
    java: str
    schema: Schema
    annotations: tuple[Any, ...] = ()
    written: str = ""
    tag: str = ""
    sample: str = "'<name>'"
    pattern: str = ""
    has_literals: bool = False
    encode_nullable: Coder | None = None
    is_plain: Callable[[Sequence[Any]], bool] | None = None
    encode_any: Coder | None = None
    driver_class: str = ""
    from_driver: Coder | None = None
    to_driver: Coder | None = None


def _tagged(tag: str, value: Schema, text: str) -> Schema:
    return {
        "type": "object",
        "description": text,
        "properties": {tag: value},
        "required": [tag],
        "additionalProperties": False,
    }


def _text(example: str, **more: Any) -> Schema:
    return {"type": "string", "examples": [example], **more}


_PROPERTIES: Final[Schema] = {"$ref": "#/components/schemas/MAP"}
_NODE: Final[Schema] = {
    "type": "array",
    "description": "element id, labels, properties",
    "prefixItems": [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}},
        _PROPERTIES,
    ],
    "minItems": 3,
    "maxItems": 3,
}
_RELATIONSHIP: Final[Schema] = {
    "type": "array",
    "description": "element id, type, element ids of start and end, properties",
    "prefixItems": [*({"type": "string"} for _ in range(4)), _PROPERTIES],
    "minItems": 5,
    "maxItems": 5,
}

# A `datetime` is a `date` as well, so ZONED DATETIME is before DATE.
_TABLE: Final = (
    Kind(
        name="BOOLEAN",
        annotations=(bool,),
        encode=scalars.encode_boolean,
        encode_nullable=scalars.encode_nullable_boolean,
        is_plain=scalars.are_all_plain,
        decode=scalars.decode_boolean,
        java="Boolean",
        schema={"type": "boolean"},
        sample="true",
        has_literals=True,
    ),
    Kind(
        name="INTEGER",
        annotations=(int,),
        encode=scalars.encode_integer,
        encode_nullable=scalars.encode_nullable_integer,
        is_plain=scalars.are_all_in_64_bits,
        decode=scalars.decode_integer,
        java="Long",
        schema={"type": "integer", "minimum": INTEGER_MIN, "maximum": INTEGER_MAX},
        sample="1",
        has_literals=True,
    ),
    Kind(
        name="FLOAT",
        annotations=(float,),
        tag="$float",
        encode=scalars.encode_float,
        is_plain=scalars.are_all_finite,
        decode=scalars.decode_float,
        java="Double",
        schema={
            "oneOf": [
                {"type": "number"},
                _tagged(
                    "$float",
                    {"enum": ["NaN", "Infinity", "-Infinity"]},
                    "What JSON cannot write.",
                ),
            ]
        },
        sample="1.0",
        has_literals=True,
    ),
    Kind(
        name="STRING",
        annotations=(str,),
        encode=scalars.encode_string,
        encode_nullable=scalars.encode_nullable_string,
        is_plain=scalars.are_all_plain,
        decode=scalars.decode_string,
        java="String",
        schema={"type": "string"},
        has_literals=True,
    ),
    Kind(
        name="BYTES",
        annotations=(bytes,),
        tag="$bytes",
        encode=scalars.encode_bytes,
        decode=scalars.decode_bytes,
        java="byte[]",
        schema=_tagged("$bytes", _text("AAEC", contentEncoding="base64"), "Bytes."),
        sample="$<name>",  # Cypher cannot write them: drivers send them.
    ),
    Kind(
        name="MAP",
        tag="$map",
        encode=containers.encode_map,
        decode=containers.decode_map,
        java="java.util.Map<String, Object>",
        schema={
            "type": "object",
            "description": "A map with one key that begins with `$` is written as the value of "
            "`$map`.",
            "additionalProperties": {"$ref": "#/components/schemas/ANY"},
        },
        sample="{}",
        has_literals=True,
    ),
    Kind(
        name="ZONED DATETIME",
        annotations=(datetime, DateTime),
        tag="$datetime",
        encode=temporal.encode_zoned_datetime,
        encode_any=temporal.encode_any_datetime,
        decode=temporal.decode_zoned_datetime,
        driver_class="neo4j.time:DateTime",
        from_driver=driver.read_datetime,
        to_driver=driver.write_datetime,
        java="java.time.ZonedDateTime",
        schema=_tagged(
            "$datetime",
            _text("2024-02-29T10:11:12+01:00[Europe/Berlin]"),
            "A date and time with offset, and the zone's id if it has one.",
        ),
        sample="datetime()",
    ),
    Kind(
        name="LOCAL DATETIME",
        written="LocalDateTime",
        tag="$localdatetime",
        encode=temporal.encode_local_datetime,
        decode=temporal.decode_local_datetime,
        java="java.time.LocalDateTime",
        schema=_tagged(
            "$localdatetime", _text("2024-02-29T10:11:12"), "A date and time without a zone."
        ),
        sample="localdatetime()",
    ),
    Kind(
        name="DATE",
        annotations=(date,),
        tag="$date",
        encode=temporal.encode_date,
        decode=temporal.decode_date,
        driver_class="neo4j.time:Date",
        from_driver=driver.read_date,
        java="java.time.LocalDate",
        schema=_tagged("$date", _text("2024-02-29"), "A date."),
        sample="date()",
    ),
    Kind(
        name="ZONED TIME",
        annotations=(time, Time),
        tag="$time",
        encode=temporal.encode_zoned_time,
        encode_any=temporal.encode_any_time,
        decode=temporal.decode_zoned_time,
        driver_class="neo4j.time:Time",
        from_driver=driver.read_time,
        to_driver=driver.write_time,
        java="java.time.OffsetTime",
        schema=_tagged("$time", _text("10:11:12+01:00"), "A time with an offset."),
        sample="time()",
    ),
    Kind(
        name="LOCAL TIME",
        written="LocalTime",
        tag="$localtime",
        encode=temporal.encode_local_time,
        decode=temporal.decode_local_time,
        java="java.time.LocalTime",
        schema=_tagged("$localtime", _text("10:11:12.123456789"), "A time without an offset."),
        sample="localtime()",
    ),
    Kind(
        name="DURATION",
        annotations=(Duration,),
        tag="$duration",
        encode=temporal.encode_duration,
        decode=temporal.decode_duration,
        driver_class="neo4j.time:Duration",
        from_driver=driver.read_duration,
        to_driver=driver.write_duration,
        java="java.time.temporal.TemporalAmount",
        schema=_tagged(
            "$duration",
            {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4},
            "Months, days, seconds, nanoseconds.",
        ),
        sample="duration('PT1H')",
    ),
    Kind(
        name="POINT",
        annotations=(Point,),
        tag="$point",
        encode=spatial.encode_point,
        decode=spatial.decode_point,
        driver_class="neo4j.spatial:Point",
        from_driver=driver.read_point,
        to_driver=driver.write_point,
        java="org.neo4j.graphdb.spatial.Point",
        schema=_tagged(
            "$point",
            {
                "type": "array",
                "prefixItems": [{"enum": [7203, 9157, 4326, 4979]}],
                "items": {"$ref": "#/components/schemas/FLOAT"},
                "minItems": 3,
                "maxItems": 4,
            },
            "SRID, x, y, and z where the SRID has three dimensions.",
        ),
        sample="point({x: 0, y: 0})",
    ),
    Kind(
        name="NODE",
        annotations=(Node,),
        tag="$node",
        encode=graph.encode_node,
        decode=graph.decode_node,
        driver_class="neo4j.graph:Node",
        from_driver=driver.read_node,
        java="org.neo4j.graphdb.Node",
        schema=_tagged("$node", _NODE, "A node."),
        pattern="(<name>)",
    ),
    Kind(
        name="RELATIONSHIP",
        annotations=(Relationship,),
        tag="$relationship",
        encode=graph.encode_relationship,
        decode=graph.decode_relationship,
        driver_class="neo4j.graph:Relationship",
        from_driver=driver.read_relationship,
        java="org.neo4j.graphdb.Relationship",
        schema=_tagged("$relationship", _RELATIONSHIP, "A relationship."),
        pattern="()-[<name>]->()",
    ),
    Kind(
        name="PATH",
        annotations=(Path,),
        tag="$path",
        encode=graph.encode_path,
        decode=graph.decode_path,
        driver_class="neo4j.graph:Path",
        from_driver=driver.read_path,
        java="org.neo4j.graphdb.Path",
        schema=_tagged(
            "$path",
            {
                "type": "array",
                "description": "Nodes, and the relationships between them.",
                "prefixItems": [
                    {"type": "array", "items": _NODE, "minItems": 1},
                    {"type": "array", "items": _RELATIONSHIP},
                ],
                "minItems": 2,
                "maxItems": 2,
            },
            "A path.",
        ),
        pattern="<name> = ()-->()",
    ),
    Kind(
        name="ANY",
        annotations=(Any, object),
        encode=containers.encode_any,
        decode=containers.decode_any,
        java="Object",
        schema={"description": "A value of any type."},
    ),
)

KINDS: Final = {kind.name: kind for kind in _TABLE}
"""Every type by its Cypher name, except LIST, since each type has its own LIST."""

TAGS: Final = {kind.tag: kind.name for kind in _TABLE if kind.tag}
"""The type of each tag."""

# The codec cannot import the table: a NODE has properties of any type, and ANY may be a NODE.
tags.type_of_tag.update(TAGS)
containers.tag_decoders.update({kind.tag: kind.decode for kind in _TABLE if kind.tag})
driver.readers.update({kind.driver_class: kind.from_driver for kind in _TABLE if kind.from_driver})
driver.writers.update(
    {each: kind.to_driver for kind in _TABLE if kind.to_driver for each in kind.annotations}
)

_CLASSES: Final[dict[type, Coder]] = {
    python_class: kind.encode_any or kind.encode
    for kind in _TABLE
    if kind.name not in {"ANY", "BOOLEAN"}
    for python_class in kind.annotations
} | {bytearray: scalars.encode_bytes, OpaqueTemporal: temporal.encode_opaque}
containers.any_encoders.update(_CLASSES)
containers.any_encoders_of_subclasses.extend(_CLASSES.items())
