"""A parameter's default, as a literal where Neo4j has one."""

import math
import re
from dataclasses import dataclass
from typing import Any, Final

from sidecypher.values.coders import decoder, encoder
from sidecypher.values.cypher import CypherType
from sidecypher.values.kinds import KINDS

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ANY: Final = CypherType("ANY", nullable=True)
_DEEPEST: Final = 30
_LONGEST: Final = 20_000
"""Characters; a class file holds texts of 65 535 bytes."""


@dataclass(frozen=True, slots=True)
class Default:
    """A parameter's default, on both sides.

    Attributes:
        value: The Python value as a call that passes it would get it; of options, the map that
            Cypher would send.
        text: The text that Neo4j parses, or `"null"` if only Python knows the default.
        by_null: Whether null means the default, because Neo4j cannot express it.
    """

    value: Any
    text: str
    by_null: bool


class _NoLiteralError(Exception):
    """Cypher has no literal for a value, or Neo4j does not read it as a default."""


def default_of(value: Any, kind: CypherType) -> Default:
    """Return the default of a parameter of type `kind`.

    Raises:
        ValueTypeError: The value is not of that type.

    Example:
        >>> default_of([1, None], CypherType("LIST", CypherType("INTEGER", nullable=True))).text
        '[1, null]'
    """
    received = decoder(kind)(encoder(kind)(value))
    try:
        text = _text(value, kind)
    except _NoLiteralError:
        return Default(received, "null", by_null=True)
    return Default(received, text, by_null=False)


def literal(value: Any, kind: CypherType) -> str:
    """Return a value of type `kind` as Cypher writes it, or `null` where it has no literal.

    Example:
        >>> literal("a", CypherType("STRING"))
        "'a'"
    """
    try:
        return _literal(value, kind, _DEEPEST)
    except _NoLiteralError:
        return "null"


def _text(value: Any, kind: CypherType) -> str:
    # Neo4j accepts null as a default of ANY only.
    if value is None or not _has_literals(kind):
        raise _NoLiteralError
    # Neo4j reads the default of a STRING parameter as it is, without quotes.
    text = str.__str__(value) if kind.name == "STRING" else _literal(value, kind, _DEEPEST)
    if len(text) > _LONGEST:
        raise _NoLiteralError
    return text


def _has_literals(kind: CypherType) -> bool:
    if kind.name == "LIST":
        return kind.item is None or kind.item.name == "ANY" or _has_literals(kind.item)
    return KINDS[kind.name].has_literals


def _literal(value: Any, kind: CypherType, depth: int) -> str:
    """Return the Cypher literal of a value that belongs to a type."""
    if depth == 0:
        raise _NoLiteralError
    inner = kind.item or _ANY
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(float(value) if kind.name == "FLOAT" else value)
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case list() | tuple():
            return "[" + ", ".join(_literal(item, inner, depth - 1) for item in value) + "]"
        case dict():
            pairs = [f"{_key(key)}: {_literal(value[key], inner, depth - 1)}" for key in value]
            return "{" + ", ".join(pairs) + "}"
    raise _NoLiteralError


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise _NoLiteralError
    return type(value).__repr__(value)


def _key(key: str) -> str:
    # Neo4j reads `\u` as an escape even between backticks.
    if "\\u" in key:
        raise _NoLiteralError
    return key if _PLAIN_KEY.match(key) else "`" + key.replace("`", "``") + "`"
