"""The OpenAPI document of the HTTP side, made from the catalogue."""

from collections.abc import Iterable
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from sidecypher.protocol.catalogue import FunctionEntry, ProcedureEntry
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.signature.model import Parameter
from sidecypher.transport.http._openapi_operator import OPERATOR_PATHS, answers
from sidecypher.values.cypher import CypherType
from sidecypher.values.kinds import KINDS, Schema

if TYPE_CHECKING:
    # It imports pydantic, which few procedures need.
    from sidecypher.sdk.signature.fields import Field, Shape

STREAM_TYPE: Final = "application/x-ndjson"
"""Media type of an answer that streams rows line by line."""


TYPES: Final[dict[str, Schema]] = {
    kind.name.replace(" ", "_"): kind.schema for kind in KINDS.values()
} | {"LIST": {"type": "array", "items": {"$ref": "#/components/schemas/ANY"}}}
"""JSON schema of each Cypher type, by its name without blanks."""

_LIMITS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
"""Limits of a field, by their names in JSON Schema; `_LENGTHS` has those of lengths."""

_LENGTHS: Final = {"STRING": "Length", "LIST": "Items", "MAP": "Properties"}

_PROBLEM: Final[Schema] = {
    "type": "object",
    "description": "What went wrong; docs/errors.md explains each code.",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "examples": ["SC-204"]},
        "hint": {"type": "string"},
        "retryable": {"type": "boolean"},
        "details": {"type": "object"},
    },
    "required": ["title", "status", "detail", "code", "hint", "retryable", "details"],
}


def schema_of(kind: str, *, nullable: bool) -> Schema:
    """Return the JSON schema of values of a Cypher type.

    Example:
        >>> schema_of("LIST<ANY>", nullable=False)
        {'type': 'array', 'items': {'$ref': '#/components/schemas/ANY'}}
    """
    schema: Schema
    if kind.startswith("LIST<"):
        schema = {"type": "array", "items": schema_of(kind[5:-1], nullable=True)}
    else:
        schema = {"$ref": "#/components/schemas/" + kind.replace(" ", "_")}
    return _or_null(schema, nullable=nullable and kind != "ANY")


def _or_null(schema: Schema, *, nullable: bool) -> Schema:
    return {"oneOf": [schema, {"type": "null"}]} if nullable else schema


def openapi(procedures: Iterable[Procedure]) -> Schema:
    """Return the document: a path for each procedure and function, and those for operators.

    Example:
        >>> openapi([])["openapi"]
        '3.1.0'
    """
    paths = {}
    for each in sorted(procedures, key=lambda found: (found.kind, found.name)):
        if isinstance(each.entry, ProcedureEntry):
            paths[f"/v1/call/{each.name}"] = {"post": _call(each, each.entry)}
        else:
            paths[f"/v1/evaluate/{each.name}"] = {"post": _evaluate(each, each.entry)}
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


def _call(found: Procedure, entry: ProcedureEntry) -> Schema:
    row = row_schema(entry)
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
        found, f"call:{entry.name}", {"application/json": rows, STREAM_TYPE: line}, entry.mode
    )


def _evaluate(found: Procedure, entry: FunctionEntry) -> Schema:
    value = {
        "type": "object",
        "properties": {"value": schema_of(entry.result, nullable=True)},
        "required": ["value"],
    }
    return _operation(found, f"evaluate:{entry.name}", {"application/json": value}, "function")


def _operation(found: Procedure, identity: str, content: dict[str, Schema], tag: str) -> Schema:
    entry = found.entry
    return {
        "operationId": identity,
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
            "content": {"application/json": {"schema": _arguments(found.signature.parameters)}},
        },
        "responses": answers("200", "The result.", content),
    }


def row_schema(entry: ProcedureEntry) -> Schema:
    """Return the JSON schema of a row, an object by column name."""
    return {
        "type": "object",
        "properties": {
            column.name: schema_of(column.type, nullable=True) | _described(column.description)
            for column in entry.columns
        },
        "required": [column.name for column in entry.columns],
        "additionalProperties": False,
    }


def arguments_schema(parameters: tuple[Parameter, ...]) -> Schema:
    """Return the JSON schema of arguments by name."""
    return {
        "type": "object",
        "description": "Arguments by name.",
        "properties": {each.name: _parameter(each) for each in parameters},
        "required": [each.name for each in parameters if each.default is None],
        "additionalProperties": False,
    }


def _arguments(parameters: tuple[Parameter, ...]) -> Schema:
    by_name = arguments_schema(parameters)
    schemas, needed = by_name["properties"], by_name["required"]
    return {
        "oneOf": [
            by_name,
            {
                "type": "array",
                "description": "Arguments by position.",
                **({"prefixItems": list(schemas.values())} if schemas else {}),
                "minItems": len(needed),
                "maxItems": len(schemas),
            },
        ]
    }


def _parameter(parameter: Parameter) -> Schema:
    by_null = parameter.default is not None and parameter.default.by_null
    nullable = parameter.type.nullable or by_null
    if parameter.shape is None:
        schema = _typed(parameter.type, nullable=nullable)
    else:
        schema = _maps(parameter.shape, parameter.type.name, nullable=nullable)
    return schema | _described(parameter.description)


def _typed(kind: CypherType, *, nullable: bool) -> Schema:
    """Return the schema of what a call accepts of a type: no other values of a Literal."""
    if kind.item is not None and kind.name == "LIST":
        return _or_null(
            {"type": "array", "items": _typed(kind.item, nullable=kind.item.nullable)},
            nullable=nullable,
        )
    schema = schema_of(str(kind), nullable=nullable)
    if kind.allowed:
        schema["enum"] = [*kind.allowed, *([None] if nullable else [])]
    return schema


def _maps(shape: "Shape", kind: str, *, nullable: bool) -> Schema:
    """Return the schema of a MAP of options, or of a LIST of such MAPs."""
    schema: Schema = {
        "type": "object",
        "properties": {field.name: _field(field) for field in shape.fields},
        "required": [field.name for field in shape.fields if field.default is None],
        "additionalProperties": False,
        **_described(shape.description),
    }
    if kind == "LIST":
        schema = {"type": "array", "items": schema}
    return _or_null(schema, nullable=nullable)


def _field(field: "Field") -> Schema:
    kind = field.type.name
    # Null counts as absent where there is a default.
    nullable = field.type.nullable or field.default is not None
    if field.shape is None:
        schema = _typed(field.type, nullable=nullable)
    else:
        schema = _maps(field.shape, kind, nullable=nullable)
    length = _LENGTHS.get(kind)
    for name, limit in field.limits.items():
        if name == "pattern" or (name in _LIMITS and isinstance(limit, int | float)):
            schema[_LIMITS[name]] = limit
        elif length is not None:
            schema[name.removesuffix("_length") + length] = limit
    if field.default is not None:
        schema["default"] = field.sent_default
    return schema | _described(field.description)


def _described(description: str) -> Schema:
    return {"description": description} if description else {}
