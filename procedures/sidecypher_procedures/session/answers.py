"""What a request asks for, and whether an answer is that."""

import json
from collections.abc import Mapping
from typing import Any, Final

from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import Draft202012Validator

from sidecypher_procedures.session.errors import InvalidAnswer, StepFailed
from sidecypher_procedures.session.outcomes import Done, Message
from sidecypher_procedures.session.references import inserted, to_json

RESPONSE_KEY: Final = "response"
"""The key of an answer, or of a generated text, in the output of its step."""


def check_request(statement: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a request from the input of its step.

    Raises:
        StepFailed: The options or the schema cannot be used.
    """
    options = given.get("options")
    if options is not None and not (
        isinstance(options, list) and options and all(isinstance(each, str) for each in options)
    ):
        raise StepFailed("The `options` of a `request` step are no list of texts")
    schema = given.get("schema")
    return {
        "statement": statement,
        "options": options,
        "schema": None if schema is None else to_json(checked_schema(schema)),
        "responseKey": response_key(given),
    }


def response_key(given: Mapping[str, Any]) -> str:
    """Return the key of what a step of this input answers, in its output."""
    return str(given.get("response_key") or RESPONSE_KEY)


def checked_schema(schema: Any) -> dict[str, Any]:
    """Return a JSON Schema (2020-12).

    Raises:
        StepFailed: It is none.
    """
    if not isinstance(schema, dict):
        raise StepFailed("The `schema` of a step is no map")
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise StepFailed(f"The `schema` of a step is no JSON Schema: {error.json_path}") from None
    return schema


def schema_problem(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return where a value does not fit a schema, and why; None if it fits.

    The text has the rule and not the value.

    Example:
        >>> schema_problem({"type": "object", "required": ["name"]}, {})
        "`$` does not satisfy `required`: ['name']"
    """
    try:
        error = next(iter(Draft202012Validator(schema).iter_errors(value)), None)
    except (ValidationError, RecursionError):
        return "`$` cannot be compared with the schema"
    if error is None:
        return None
    return f"`{error.json_path}` does not satisfy `{error.validator}`: {error.validator_value}"


def answered(request: Mapping[str, Any], value: Any) -> Done:
    """Return what a request step comes to by an answer.

    Raises:
        InvalidAnswer: The answer is not what the request asks for.
    """
    options = request.get("options")
    if options is not None and value not in options:
        raise InvalidAnswer(
            f"The answer is none of the {len(options)} options of the request",
            hint="`session.awaiting` lists them.",
        )
    if request.get("schema") is not None:
        problem = schema_problem(json.loads(request["schema"]), value)
        if problem is not None:
            raise InvalidAnswer(f"The answer does not fit the schema of the request: {problem}")
    try:
        text = inserted(value)
    except (TypeError, ValueError, RecursionError):
        raise InvalidAnswer(
            "The answer has a value that JSON does not have",
            hint="Give texts, numbers, booleans, lists and maps.",
        ) from None
    return Done({request["responseKey"]: value}, (Message("user", text),))
