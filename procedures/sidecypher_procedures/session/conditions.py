"""Conditions of edges: the forms they are written in, and what they are for given outputs."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from pydantic_core import SchemaError, SchemaValidator, core_schema

from sidecypher_procedures.session.errors import InvalidCondition, InvalidReference
from sidecypher_procedures.session.references import (
    STRICT,
    Dialect,
    Lookup,
    Missing,
    from_json,
    parse_reference,
    references_in,
    resolve,
)

Operation = Literal[
    "equals", "not_equals", "contains", "greater_than", "less_than", "exists", "matches", "in"
]
"""How a condition compares its value with what is expected."""

LONGEST_PATTERN: Final = 1000
"""The most characters of a regular expression."""

LONGEST_MATCHED: Final = 100_000
"""The most characters of a text that a regular expression matches."""

_OPERATIONS: Final = frozenset(get_args(Operation))
_FUNCTION: Final = re.compile(r"(?:utils\.)?condition\.(\w+)")


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value, with its references, and what it is compared with."""

    value: Any
    operation: Operation
    expected: Any = None


@dataclass(frozen=True, slots=True)
class Truth:
    """A value, with its references, that holds unless it is false."""

    value: Any


@dataclass(frozen=True, slots=True)
class Written:
    """A value, with its references, and how it is written: the key of a map of conditions."""

    value: Any
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """Conditions of which all, any or none must hold."""

    kind: Literal["all", "any", "none"]
    members: tuple["Condition", ...] = ()


Condition = Comparison | Truth | Written | Group

ALWAYS: Final = Group("all")
"""The condition of an edge that has none."""


def read_conditions(properties: Mapping[str, Any]) -> Condition:
    """Return the condition in the properties of a NEXT relationship.

    Args:
        properties: `conditions`, a JSON list as `session.define` writes it or a JSON map of
            references; `condition`, a list of texts, with `operator`; or `function` and `input`.
            Of several forms, all must hold.

    Raises:
        InvalidCondition: It cannot be read; the text names the property.

    Example:
        >>> read_conditions({"conditions": '["@{SESSION_ID}.check.ok"]'})
        Group(kind='all', members=(Truth(value='@{SESSION_ID}.check.ok'),))
    """
    found = list(_forms(properties))
    return found[0] if len(found) == 1 else Group("all", tuple(found))


def _forms(properties: Mapping[str, Any]) -> Iterator[Condition]:
    given = {name: value for name, value in properties.items() if value not in ({}, [], "", None)}
    operator = given.get("operator")
    if "conditions" in given:
        yield _written(_decoded(given["conditions"], "conditions"), operator)
    if "condition" in given:
        yield _listed(given["condition"], operator)
    if "function" in given:
        yield _function(given["function"], given.get("input"))


def _decoded(value: Any, name: str) -> Any:
    """Return what is in a JSON text; other values as they are."""
    if not isinstance(value, str):
        return value
    try:
        return from_json(value)
    except ValueError as error:
        raise InvalidCondition(f"`{name}` {error}") from None


def _written(value: Any, operator: Any) -> Condition:
    name = "conditions"
    if isinstance(value, list):
        return Group(_operator(operator, "operator"), _members(value, name))
    if isinstance(value, Mapping):
        if "op" in value or (value and value.keys() <= {"any", "all", "not"}):
            return _member(value, name)
        members = (Written(_checked(each, name), key) for key, each in value.items())
        return Group("all", tuple(members))
    raise InvalidCondition(f"`{name}` is neither a list nor a map")


def _member(value: Any, name: str) -> Condition:
    match value:
        case str():
            return Truth(_reference(value, name))
        case {"any": list() as members, **rest} if not rest:
            return Group("any", _members(members, f"{name}.any"))
        case {"all": list() as members, **rest} if not rest:
            return Group("all", _members(members, f"{name}.all"))
        case {"not": member, **rest} if not rest:
            return Group("none", (_member(member, f"{name}.not"),))
        case {"value": compared, "op": operation, **rest} if rest.keys() <= {"expected"}:
            return _comparison(compared, operation, value, name)
    raise InvalidCondition(
        f"`{name}` is not a condition",
        hint='Write {"value": REFERENCE, "op": "equals", "expected": VALUE}, {"any": [...]}, or '
        '{"not": {...}}.',
    )


def _members(values: list[Any], name: str) -> tuple[Condition, ...]:
    return tuple(_member(each, f"{name}[{index}]") for index, each in enumerate(values))


def _comparison(value: Any, operation: Any, rest: Mapping[str, Any], name: str) -> Comparison:
    if not isinstance(operation, str) or operation not in _OPERATIONS:
        raise InvalidCondition(
            f"`{name}.op` is not an operation", hint=f"Use {', '.join(get_args(Operation))}."
        )
    # Older engines name it as the operation, without its `not`.
    names = [each for each in ("expected", operation, "equals") if each in rest]
    if not names and operation != "exists":
        raise InvalidCondition(f"`{name}` has no `expected`")
    expected = rest[names[0]] if names else None
    if operation == "matches" and (not is_pattern(expected) or "@{" in str(expected)):
        raise InvalidCondition(
            f"`{name}.{names[0]}` is not a regular expression",
            hint=f"Write at most {LONGEST_PATTERN} characters, in the syntax of RE2 and Rust: "
            "without looking around, backreferences, and references.",
        )
    return Comparison(_checked(value, name), operation, _checked(expected, name))  # type: ignore[arg-type]


def _checked(value: Any, name: str) -> Any:
    try:
        for _ in references_in(value):
            pass
    except InvalidReference as error:
        raise InvalidCondition(f"`{name}`: {error.message}", hint=error.hint) from None
    return value


def _reference(value: Any, name: str) -> Any:
    """Return a text that is one reference: any other text would always hold."""
    if not isinstance(value, str):
        raise InvalidCondition(f"`{name}` is not a reference")
    try:
        parse_reference(value)
    except InvalidReference as error:
        raise InvalidCondition(f"`{name}`: {error.message}", hint=error.hint) from None
    return value


def _listed(value: Any, operator: Any) -> Condition:
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _decoded(value, "condition")
    values = value if isinstance(value, list) else [value]
    members = (_truth(each, f"condition[{index}]") for index, each in enumerate(values))
    return Group(_operator(operator, "operator"), tuple(members))


def _operator(value: Any, name: str) -> Literal["all", "any"]:
    match value.lower() if isinstance(value, str) else value:
        case None | "and":
            return "all"
        case "or":
            return "any"
    raise InvalidCondition(f"`{name}` is neither `and` nor `or`")


def _truth(value: Any, name: str) -> Condition:
    """Return a condition of a list: a reference, or a map that says whether it must be true."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _decoded(value, name)
    match value:
        case {"true": _, **rest} | {"false": _, **rest} if rest.keys() <= {"operator", "false"}:
            members: list[Condition] = []
            if "true" in value:
                members.append(Truth(_reference(value["true"], f"{name}.true")))
            if "false" in value:
                wrong = Truth(_reference(value["false"], f"{name}.false"))
                members.append(Group("none", (wrong,)))
            return Group(_operator(value.get("operator"), f"{name}.operator"), tuple(members))
        case bool():
            return Truth(value)
    return Truth(_reference(value, name))


def _function(name: Any, given: Any) -> Condition:
    found = _FUNCTION.fullmatch(name) if isinstance(name, str) else None
    operation = found and found[1]
    if operation == "true":
        return ALWAYS
    if operation is None or operation not in _OPERATIONS:
        raise InvalidCondition(
            "`function` is not a condition",
            hint=f"Write `condition.` and one of {', '.join(get_args(Operation))}.",
        )
    arguments = _decoded(given, "input")
    if not isinstance(arguments, Mapping) or "value" not in arguments:
        raise InvalidCondition("`input` has no `value` to compare")
    return _comparison(arguments["value"], operation, arguments, "input")


def compare(operation: str, value: Any, expected: Any) -> bool:
    """Return what a comparison of two values comes to.

    Example:
        >>> compare("contains", ["a", "b"], "b")
        True
    """
    if operation == "exists":
        return (value is not None) is (expected is not False)
    return _COMPARE[operation](value, expected)


@dataclass(slots=True)
class Evaluation:
    """The evaluation of conditions for given outputs.

    Attributes:
        missing: The references without a default that referred to what is not there.
    """

    lookup: Lookup
    dialect: Dialect = STRICT
    missing: list[str] = field(default_factory=list)

    def holds(self, condition: Condition) -> bool:
        """Return whether a condition holds; what a missing reference decides does not.

        Example:
            >>> Evaluation(lambda session, step, cycle: {"ok": True}).holds(
            ...     Truth("@{SESSION_ID}.check.ok")
            ... )
            True
        """
        return self._value(condition) is True

    def _value(self, condition: Condition) -> bool | None:
        """Return whether a condition holds; None if a missing reference decides that."""
        if not isinstance(condition, Group):
            return self._compared(condition)
        # What one of them needs to be to decide for the group.
        deciding = condition.kind != "all"
        found: bool | None = not deciding
        for each in condition.members:
            value = self._value(each)
            if value is deciding:
                found = value
                break
            if value is None:
                found = None
        return not found if condition.kind == "none" and found is not None else found

    def _compared(self, condition: Comparison | Truth | Written) -> bool | None:
        if isinstance(condition, Comparison) and condition.operation == "exists":
            return compare("exists", self._found(condition.value), condition.expected)
        try:
            value = self._resolved(condition.value)
            if isinstance(condition, Truth):
                return is_true(value)
            if isinstance(condition, Written):
                return _is_written(value, condition.text)
            expected = self._resolved(condition.expected)
        except Missing as error:
            self.missing.append(str(error.reference))
            return None
        return compare(condition.operation, value, expected)

    def _found(self, value: Any) -> Any:
        try:
            return self._resolved(value)
        except Missing:
            return None

    def _resolved(self, value: Any) -> Any:
        # What is missing is false in every dialect, and what is compared keeps its type.
        dialect = replace(self.dialect, missing="error", keeps_scalars=True)
        return resolve(value, self.lookup, dialect)


def is_true(value: Any) -> bool:
    """Return whether a value holds as a condition: all but `"false"`, 0, `""`, null and false.

    Example:
        >>> is_true("no"), is_true("False"), is_true([]), is_true(0.0)
        (True, False, False, False)
    """
    return bool(value) and not (isinstance(value, str) and value.strip().lower() == "false")


def _is_written(value: Any, text: str) -> bool:
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, int | float):
        try:
            return float(text) == value
        except ValueError:
            return False
    return isinstance(value, str) and value == text


def _equals(value: Any, expected: Any) -> bool:
    value, expected = _as_boolean(value, expected), _as_boolean(expected, value)
    # In Python, True equals 1.
    return isinstance(value, bool) is isinstance(expected, bool) and bool(value == expected)


def _as_boolean(value: Any, other: Any) -> Any:
    """Return a text as a boolean if the value beside it is one, as a model may write it."""
    if isinstance(other, bool) and isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    return value


def _contains(value: Any, expected: Any) -> bool:
    if isinstance(value, str):
        return isinstance(expected, str) and expected in value
    if isinstance(value, list):
        return any(_equals(each, expected) for each in value)
    return isinstance(value, Mapping) and isinstance(expected, str) and expected in value


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def ordered(value: Any, expected: Any) -> bool:
        numbers = _as_number(value), _as_number(expected)
        if None not in numbers:
            return compare(*numbers)
        return isinstance(value, str) and isinstance(expected, str) and compare(value, expected)

    return ordered


def _as_number(value: Any) -> float | None:
    """Return a number, also one that is written as a text, as people answer."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value) if isinstance(value, str) else value
        return number if isinstance(number, int | float) and math.isfinite(number) else None
    except (ValueError, OverflowError):
        return None


def is_pattern(value: Any) -> bool:
    """Return whether a value is a regular expression that `matches` takes.

    Example:
        >>> is_pattern("^[0-9]+$"), is_pattern("("), is_pattern("(?=backtracking)")
        (True, False, False)
    """
    return isinstance(value, str) and len(value) <= LONGEST_PATTERN and _matcher(value) is not None


def matches(pattern: str, text: str) -> bool:
    """Return whether a regular expression matches somewhere in a text of `LONGEST_MATCHED` at most.

    It takes time in proportion to the text.

    Example:
        >>> matches("^(a+)+$", "a" * 1000 + "!")
        False
    """
    matcher = _matcher(pattern)
    return matcher is not None and len(text) <= LONGEST_MATCHED and matcher.isinstance_python(text)


@lru_cache(maxsize=64)
def _matcher(pattern: str) -> SchemaValidator | None:
    # Those of Rust do not backtrack: `re` would hold all calls of a sidecar.
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, strict=True))
    except (SchemaError, ValueError):
        return None


def _matches(value: Any, expected: Any) -> bool:
    # The expected text of a step may come from a reference, so it is looked at here, too.
    return isinstance(value, str) and is_pattern(expected) and matches(expected, value)


_COMPARE: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "equals": _equals,
    "not_equals": lambda value, expected: not _equals(value, expected),
    "contains": _contains,
    "greater_than": _ordered(lambda value, expected: value > expected),
    "less_than": _ordered(lambda value, expected: value < expected),
    "matches": _matches,
    "in": lambda value, expected: _contains(expected, value),
}


def referenced(condition: Condition) -> Iterator[Any]:
    """Yield the values of a condition that may have references.

    Example:
        >>> list(referenced(Truth("@{SESSION_ID}.check.ok")))
        ['@{SESSION_ID}.check.ok']
    """
    match condition:
        case Group(_, members):
            for member in members:
                yield from referenced(member)
        case Comparison(value, _, expected):
            yield from (value, expected)
        case Truth(value) | Written(value):
            yield value
