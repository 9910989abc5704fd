"""What a request asks for, and whether an answer is that.

`jsonschema` is imported with the first schema: a fifth of a second, and one more where it finds the
packages of its formats, as in an environment that has Jupyter, too.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sidecypher_procedures.session.conditions import is_pattern, matches
from sidecypher_procedures.session.errors import InvalidAnswer, StepFailed
from sidecypher_procedures.session.outcomes import Done, Message
from sidecypher_procedures.session.references import inserted, to_json

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator

RESPONSE_KEY: Final = "response"
"""The key of an answer, or of a generated text, in the output of its step."""

_LONGEST_RULE: Final = 200


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
        StepFailed: It is none, or has a `$ref` to what is not in it.
    """
    if not isinstance(schema, dict):
        raise StepFailed("The `schema` of a step is no map")
    from jsonschema import SchemaError  # noqa: PLC0415 - see above
    from referencing import Registry  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415

    try:
        to_json(schema)
        _validator().check_schema(schema)
        resolver = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
        for each in _maps(schema):
            if isinstance(each.get("$ref"), str):
                resolver.lookup(each["$ref"])
            if isinstance(each.get("pattern"), str) and not is_pattern(each["pattern"]):
                raise StepFailed("The `schema` of a step has a `pattern` that cannot be used")
    except SchemaError as error:
        raise StepFailed(f"The `schema` of a step is no JSON Schema: {error.json_path}") from None
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise StepFailed("The `schema` of a step has a value that cannot be used") from None
    except Unresolvable:
        raise StepFailed("The `schema` of a step has a `$ref` to what is not in it") from None
    return schema


def _maps(value: Any) -> Iterator[Mapping[str, Any]]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


@cache
def _validator() -> "type[Validator]":
    from jsonschema import Draft202012Validator, ValidationError  # noqa: PLC0415 - see above
    from jsonschema.validators import extend  # noqa: PLC0415

    def pattern(_: Any, pattern: str, value: Any, _schema: Any) -> "Iterator[ValidationError]":
        if isinstance(value, str) and not matches(pattern, value):
            yield ValidationError("pattern")

    # Whoever answers may not hold the sidecar by a text on which `re` does not end.
    validator: type[Validator] = extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"pattern": pattern}
    )
    return validator


def schema_problem(schema: Mapping[str, Any], value: Any) -> str | None:
    """Return where a value does not fit a schema, and why; None if it fits.

    The text has nothing of the value, and no keys but those of the schema.

    Example:
        >>> schema_problem({"type": "object", "required": ["name"]}, {})
        '`$` does not satisfy `required`: ["name"]'
    """
    from referencing import Registry  # noqa: PLC0415 - see above

    # The usual registry fetches what a `$ref` names.
    validator = _validator()(schema, registry=Registry())
    try:
        error = next(iter(validator.iter_errors(value)), None)
    except Exception:  # noqa: BLE001 - the rules of a schema meet any value
        return "`$` cannot be compared with the schema"
    if error is None:
        return None
    known = {key for each in _maps(schema) for key in each}
    place = "".join(
        f"[{key}]" if isinstance(key, int) else f".{key if key in known else '*'}"
        for key in error.absolute_path
    )
    rule = to_json(error.validator_value)
    rule = rule if len(rule) <= _LONGEST_RULE else "..."
    return f"`${place}` does not satisfy `{error.validator}`: {rule}"


def answered(request: Mapping[str, Any], value: Any) -> Done:
    """Return what a request step comes to by an answer.

    Raises:
        InvalidAnswer: The answer is not what the request asks for.
    """
    try:
        text = inserted(value)
        to_json(value)
    except (TypeError, ValueError, RecursionError):
        raise InvalidAnswer(
            "The answer has a value that JSON does not have",
            hint="Give texts, numbers, booleans, lists and maps.",
        ) from None
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
    return Done({request["responseKey"]: value}, (Message("user", text),))
