"""The OpenAPI document's part for operators of a sidecar: calls and modules."""

from collections.abc import Mapping
from typing import Any, Final

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "number"}
_COUNT: Final[Schema] = {"type": "integer"}
_PROGRESS: Final[Schema] = {"type": ["number", "null"]}

_CALL: Final[dict[str, Schema]] = {
    "callId": _TEXT,
    "name": _TEXT,
    "user": _TEXT,
    "database": _TEXT,
    "seconds": _NUMBER,
}


def answers(status: str, text: str, content: Mapping[str, Schema]) -> Schema:
    """Return the answers of an operation: success and problems.

    Args:
        status: Status of success.
        text: Its description.
        content: Schema of its body, by media type.
    """
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        status: {
            "description": text,
            "content": {kind: {"schema": each} for kind, each in content.items()},
        },
        "default": {
            "description": "It failed.",
            "content": {"application/problem+json": problem},
        },
    }


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "array", "items": _object(properties)}


_RUNNING: Final = _list(
    _CALL
    | {
        "rows": _COUNT,
        "done": _PROGRESS,
        "total": _PROGRESS,
        "state": {"enum": ["running", "waiting", "stopping", "stuck"]},
    }
)

_FAILED: Final = _list(_CALL | {"code": _TEXT, "at": {"type": "string", "format": "date-time"}})

_MODULES: Final = _list(
    {"module": _TEXT, "procedures": _COUNT, "problems": {"type": "array", "items": _TEXT}}
)


def _read(identity: str, summary: str, properties: Mapping[str, Schema]) -> Schema:
    body = {"application/json": _object(properties)}
    return {
        "get": {
            "operationId": identity,
            "summary": summary,
            "tags": ["operator"],
            "responses": answers("200", "The result.", body),
        }
    }


OPERATOR_PATHS: Final[dict[str, Schema]] = {
    "/v1/calls": _read(
        "calls",
        "The calls that are open, the oldest first, and those that failed, the latest first.",
        {"running": _RUNNING, "failed": _FAILED},
    ),
    "/v1/calls/{callId}/cancel": {
        "post": {
            "operationId": "cancel",
            "summary": "Cancel an open call of any user.",
            "tags": ["operator"],
            "parameters": [{"name": "callId", "in": "path", "required": True, "schema": _TEXT}],
            "responses": answers("202", "It is being cancelled.", {}),
        }
    },
    "/v1/modules": _read("modules", "The modules and their problems.", {"modules": _MODULES}),
}
"""By path."""
