"""The OpenAPI document of the HTTP side, made from the catalogue."""

from importlib.metadata import version
from typing import Any, Final

from sidecypher.catalogue import Catalogue, FunctionEntry, ParameterEntry, ProcedureEntry
from sidecypher.transport.openapi_operator import OPERATOR_PATHS, answers

STREAM_TYPE: Final = "application/x-ndjson"
"""What a client accepts that wants rows line by line, as they come."""

Schema = dict[str, Any]


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

TYPES: Final[dict[str, Schema]] = {
    "ANY": {"description": "A value of any type."},
    "BOOLEAN": {"type": "boolean"},
    "INTEGER": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1},
    "FLOAT": {
        "oneOf": [
            {"type": "number"},
            _tagged(
                "$float", {"enum": ["NaN", "Infinity", "-Infinity"]}, "What JSON cannot write."
            ),
        ]
    },
    "STRING": {"type": "string"},
    "BYTES": _tagged("$bytes", _text("AAEC", contentEncoding="base64"), "Bytes."),
    "MAP": {
        "type": "object",
        "description": "A map with one key that begins with `$` is written as the value of `$map`.",
        "additionalProperties": {"$ref": "#/components/schemas/ANY"},
    },
    "LIST": {"type": "array", "items": {"$ref": "#/components/schemas/ANY"}},
    "DATE": _tagged("$date", _text("2024-02-29"), "A date."),
    "LOCAL_TIME": _tagged("$localtime", _text("10:11:12.123456789"), "A time without an offset."),
    "ZONED_TIME": _tagged("$time", _text("10:11:12+01:00"), "A time with an offset."),
    "LOCAL_DATETIME": _tagged(
        "$localdatetime", _text("2024-02-29T10:11:12"), "A date and time without a zone."
    ),
    "ZONED_DATETIME": _tagged(
        "$datetime",
        _text("2024-02-29T10:11:12+01:00[Europe/Berlin]"),
        "A date and time with offset, and the zone's id if it has one.",
    ),
    "DURATION": _tagged(
        "$duration",
        {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4},
        "Months, days, seconds, nanoseconds.",
    ),
    "POINT": _tagged(
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
    "NODE": _tagged("$node", _NODE, "A node."),
    "RELATIONSHIP": _tagged("$relationship", _RELATIONSHIP, "A relationship."),
    "PATH": _tagged(
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
}
"""How each Cypher type is written, by its name without blanks."""

_PROBLEM: Final[Schema] = {
    "type": "object",
    "description": "What went wrong; docs/errors.md explains each code.",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": _text("SC-204"),
        "hint": {"type": "string"},
        "retryable": {"type": "boolean"},
        "details": {"type": "object"},
    },
    "required": ["title", "status", "detail", "code", "hint", "retryable", "details"],
}


def schema_of(kind: str, *, nullable: bool) -> Schema:
    """Return how values of a Cypher type are written.

    Example:
        >>> schema_of("LIST<ANY>", nullable=False)
        {'type': 'array', 'items': {'$ref': '#/components/schemas/ANY'}}
    """
    schema: Schema
    if kind.startswith("LIST<"):
        schema = {"type": "array", "items": schema_of(kind[5:-1], nullable=True)}
    else:
        schema = {"$ref": "#/components/schemas/" + kind.replace(" ", "_")}
    return {"oneOf": [schema, {"type": "null"}]} if nullable and kind != "ANY" else schema


def openapi(catalogue: Catalogue) -> Schema:
    """Return the document: a path for each procedure and function, and those for who runs them.

    Example:
        >>> openapi(Catalogue.build([]))["openapi"]
        '3.1.0'
    """
    paths = {f"/v1/call/{each.name}": {"post": _call(each)} for each in catalogue.procedures}
    paths |= {
        f"/v1/evaluate/{each.name}": {"post": _evaluate(each)} for each in catalogue.functions
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sidecypher",
            "version": version("sidecypher"),
            "description": "Procedures over HTTP. There is no transaction: `ctx.run` fails.",
        },
        "security": [{"token": []}],
        "paths": paths | OPERATOR_PATHS,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**TYPES, "Problem": _PROBLEM},
        },
    }


def _call(entry: ProcedureEntry) -> Schema:
    row = {
        "type": "object",
        "properties": {
            column.name: schema_of(column.type, nullable=True)
            | ({"description": column.description} if column.description else {})
            for column in entry.columns
        },
        "required": [column.name for column in entry.columns],
        "additionalProperties": False,
    }
    rows = {
        "type": "object",
        "properties": {"rows": {"type": "array", "items": row}},
        "required": ["rows"],
    }
    line = {
        "description": "One object a line, the last of which has `end` or `error`.",
        "oneOf": [
            {"type": "object", "properties": {"row": row}, "required": ["row"]},
            {
                "type": "object",
                "properties": {
                    "end": {"type": "object", "properties": {"rows": {"type": "integer"}}}
                },
                "required": ["end"],
            },
            {
                "type": "object",
                "properties": {"error": {"$ref": "#/components/schemas/Problem"}},
                "required": ["error"],
            },
        ],
    }
    return _operation(
        entry, f"call {entry.name}", {"application/json": rows, STREAM_TYPE: line}, entry.mode
    )


def _evaluate(entry: FunctionEntry) -> Schema:
    value = {
        "type": "object",
        "properties": {"value": schema_of(entry.result, nullable=True)},
        "required": ["value"],
    }
    return _operation(entry, f"evaluate {entry.name}", {"application/json": value}, "function")


def _operation(
    entry: ProcedureEntry | FunctionEntry, identity: str, given: dict[str, Schema], tag: str
) -> Schema:
    return {
        "operationId": identity.replace(" ", ":"),
        "summary": entry.description,
        "tags": [tag],
        "deprecated": entry.deprecated_by is not None,
        "parameters": [
            {
                "name": "timeout",
                "in": "query",
                "description": "Seconds the call may take.",
                "schema": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "maximum": entry.timeout_ms / 1000,
                },
            }
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _arguments(entry.parameters)}},
        },
        "responses": answers("200", "What it gives.", given),
    }


def _arguments(parameters: tuple[ParameterEntry, ...]) -> Schema:
    schemas = {each.name: _parameter(each) for each in parameters}
    needed = [each.name for each in parameters if each.default is None]
    return {
        "oneOf": [
            {
                "type": "object",
                "description": "Arguments by name.",
                "properties": schemas,
                "required": needed,
                "additionalProperties": False,
            },
            {
                "type": "array",
                "description": "Arguments by position.",
                **({"prefixItems": list(schemas.values())} if schemas else {}),
                "minItems": len(needed),
                "maxItems": len(schemas),
            },
        ]
    }


def _parameter(entry: ParameterEntry) -> Schema:
    by_null = entry.default is not None and entry.default.any
    return schema_of(entry.type, nullable=entry.nullable or by_null)
