"""Conditions of edges: the forms they are written in, and what they are for given outputs."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from sidecypher_procedures.session.errors import InvalidCondition, InvalidReference
from sidecypher_procedures.session.references import (
    STRICT,
    Dialect,
    Lookup,
    Missing,
    references_in,
    resolve,
)

Operation = Literal[
    "equals", "not_equals", "contains", "greater_than", "less_than", "exists", "matches", "in"
]
"""How a condition compares its value with what is expected."""

LONGEST_PATTERN: Final = 1000
"""The most characters of the regular expression of `matches`."""

_LONGEST_MATCHED: Final = 10_000
_OPERATIONS: Final = frozenset(get_args(Operation))
_FUNCTION: Final = re.compile(r"(?:.*\.)?condition\.(\w+)")


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

    Raises:
        InvalidCondition: It cannot be read; the text names the property.

    Example:
        >>> given = {"conditions": '[{"value": "@{SESSION_ID}.a.ok", "op": "equals"}]'}
        >>> read_conditions(given)  # doctest: +ELLIPSIS
        Group(kind='all', members=(Comparison(value='@{SESSION_ID}.a.ok', ...),))
    """
    found = list(_forms(properties))
    return found[0] if len(found) == 1 else Group("all", tuple(found))


def _forms(properties: Mapping[str, Any]) -> Iterator[Condition]:
    if properties.get("conditions") is not None:
        yield _written(_decoded(properties["conditions"], "conditions"), "conditions")
    if properties.get("condition") is not None:
        yield _listed(properties["condition"], properties.get("operator"))
    if properties.get("function") is not None:
        yield _function(properties["function"], properties.get("input"))


def _decoded(value: Any, name: str) -> Any:
    """Return what is in a JSON text; other values as they are."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidCondition(f"`{name}` is not JSON at {place}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise InvalidCondition(f"`{name}` has a number or a depth that JSON cannot hold") from None


def _written(value: Any, name: str) -> Condition:
    if isinstance(value, list):
        return Group(
            "all", tuple(_member(each, f"{name}[{index}]") for index, each in enumerate(value))
        )
    if isinstance(value, Mapping):
        if "op" in value or value.keys() <= {"any", "all", "not"}:
            return _member(value, name)
        members = (Written(_checked(each, name), key) for key, each in value.items())
        return Group("all", tuple(members))
    raise InvalidCondition(f"`{name}` is neither a list nor a map")


def _member(value: Any, name: str) -> Condition:
    match value:
        case str():
            return Truth(_checked(value, name))
        case {"any": list() as members, **rest} if not rest:
            return Group("any", _members(members, f"{name}.any"))
        case {"all": list() as members, **rest} if not rest:
            return Group("all", _members(members, f"{name}.all"))
        case {"not": member, **rest} if not rest:
            return Group("none", (_member(member, f"{name}.not"),))
        case {"value": compared, "op": operation, **rest} if rest.keys() <= {"expected"}:
            return _comparison(compared, operation, rest.get("expected"), name)
    raise InvalidCondition(
        f"`{name}` is not a condition",
        hint='Write {"value": REFERENCE, "op": "equals", "expected": VALUE}, {"any": [...]}, or '
        '{"not": {...}}.',
    )


def _members(values: list[Any], name: str) -> tuple[Condition, ...]:
    return tuple(_member(each, f"{name}[{index}]") for index, each in enumerate(values))


def _comparison(value: Any, operation: Any, expected: Any, name: str) -> Comparison:
    if not isinstance(operation, str) or operation not in _OPERATIONS:
        raise InvalidCondition(
            f"`{name}.op` is not an operation", hint=f"Use {', '.join(get_args(Operation))}."
        )
    if operation == "matches":
        _pattern(expected, name)
    return Comparison(_checked(value, name), operation, _checked(expected, name))  # type: ignore[arg-type]


def _pattern(pattern: Any, name: str) -> None:
    if not isinstance(pattern, str) or len(pattern) > LONGEST_PATTERN:
        raise InvalidCondition(
            f"`{name}.expected` is not a regular expression of at most {LONGEST_PATTERN} characters"
        )
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise InvalidCondition(f"`{name}.expected` is not a regular expression") from None


def _checked(value: Any, name: str) -> Any:
    try:
        for _ in references_in(value):
            pass
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
    kinds: dict[Any, Literal["all", "any"]] = {None: "all", "and": "all", "or": "any"}
    kind = kinds.get(value.lower() if isinstance(value, str) else value)
    if kind is None:
        raise InvalidCondition(f"`{name}` is neither `and` nor `or`")
    return kind


def _truth(value: Any, name: str) -> Condition:
    """Return a condition of a list: a reference, or a map that says whether it must be true."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value = _decoded(value, name)
    if isinstance(value, Mapping) and value and value.keys() <= {"operator", "true", "false"}:
        members: list[Condition] = []
        if "true" in value:
            members.append(Truth(_checked(value["true"], name)))
        if "false" in value:
            members.append(Group("none", (Truth(_checked(value["false"], name)),)))
        return Group(_operator(value.get("operator"), f"{name}.operator"), tuple(members))
    if isinstance(value, str | bool):
        return Truth(_checked(value, name))
    raise InvalidCondition(f"`{name}` is not a reference")


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
    # Older engines name it as the function.
    expected = arguments.get("expected", arguments.get(operation))
    return _comparison(arguments["value"], operation, expected, "input")


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
        """Return whether a condition holds; one with a missing reference does not.

        Example:
            >>> Evaluation(lambda session, step, cycle: {"ok": True}).holds(
            ...     Truth("@{SESSION_ID}.check.ok")
            ... )
            True
        """
        match condition:
            case Group("all", members):
                return all(map(self.holds, members))
            case Group("any", members):
                return any(map(self.holds, members))
            case Group(_, members):
                before = len(self.missing)
                held = any(map(self.holds, members))
                return not held and len(self.missing) == before
            case _:
                return self._compared(condition)

    def _compared(self, condition: Comparison | Truth | Written) -> bool:
        if isinstance(condition, Comparison) and condition.operation == "exists":
            return compare("exists", self._found(condition.value), condition.expected)
        try:
            value = resolve(condition.value, self.lookup, self.dialect)
            if isinstance(condition, Truth):
                return is_true(value)
            if isinstance(condition, Written):
                return _is_written(value, condition.text)
            expected = resolve(condition.expected, self.lookup, self.dialect)
        except Missing as error:
            self.missing.append(str(error.reference))
            return False
        return compare(condition.operation, value, expected)

    def _found(self, value: Any) -> Any:
        try:
            return resolve(value, self.lookup, self.dialect)
        except Missing:
            return None


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
        if isinstance(value, str) and isinstance(expected, str):
            return compare(value, expected)
        numbers = isinstance(value, int | float) and isinstance(expected, int | float)
        booleans = isinstance(value, bool) or isinstance(expected, bool)
        return numbers and not booleans and compare(value, expected)

    return ordered


def _matches(value: Any, expected: Any) -> bool:
    # The expected text may come from a reference, so it is looked at here, too.
    if not isinstance(value, str) or len(value) > _LONGEST_MATCHED:
        return False
    try:
        _pattern(expected, "condition")
    except InvalidCondition:
        return False
    return re.search(expected, value) is not None


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
