"""The functions that write and read values of a Cypher type."""

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, Final

from sidecypher.errors import ValueTypeError
from sidecypher.values.codec import containers, driver
from sidecypher.values.codec.problems import Coder, guess
from sidecypher.values.cypher import CypherType
from sidecypher.values.kinds import KINDS

_ANY: Final = CypherType("ANY", nullable=True)

decode_any: Final = containers.decode_any
"""Reads a value of any type, null too."""

decode_all: Final = containers.decode_all
"""Reads many values of any type."""

encode_any: Final = containers.encode_any
"""Writes a value of any type, null too."""

decode_map: Final = containers.decode_map
"""Reads a MAP of values of any type."""

from_driver: Final = driver.from_driver
"""Returns a value of Neo4j's driver as one of sidecypher."""

to_driver: Final = driver.to_driver
"""Returns a parameter as Neo4j's driver accepts it."""


def encoder(kind: CypherType) -> Coder:
    """Return the function that writes values of type `kind`.

    Example:
        >>> from datetime import date
        >>> encoder(CypherType("DATE"))(date(2024, 2, 29))
        {'$date': '2024-02-29'}
    """
    if kind.name == "LIST":
        coder = containers.list_encoder(encoder(kind.item or _ANY), str(kind))
    elif kind.name == "MAP" and kind.item not in {None, _ANY}:
        coder = containers.map_encoder(encoder(kind.item or _ANY))
    elif kind.nullable and not kind.allowed and (common := KINDS[kind.name].encode_nullable):
        return common
    else:
        coder = KINDS[kind.name].encode
    return _nullable(kind, _restricted(kind, coder))


def column_encoder(kind: CypherType) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """Return the function that writes many values of type `kind` together, if there is one.

    It checks what they have in common, and returns them as they are if they are their own JSON.

    Example:
        >>> write = column_encoder(CypherType("FLOAT"))
        >>> write((0.5, 1.0)), write((0.5, 1))
        ((0.5, 1.0), [0.5, 1.0])
    """
    described = KINDS.get(kind.name)
    if described is None or described.is_plain is None:
        return None
    is_plain, plain_classes = described.is_plain, {described.annotations[0]}
    encode, allowed = encoder(kind), frozenset(kind.allowed)

    def encode_column(values: Sequence[Any]) -> Sequence[Any]:
        classes, present = set(map(type, values)), values
        if kind.nullable and NoneType in classes:
            classes.remove(NoneType)
            present = [value for value in values if value is not None]
        is_own = classes == plain_classes and is_plain(present)
        if is_own and (not allowed or allowed.issuperset(present)):
            return values
        return list(map(encode, values))

    return encode_column


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
        coder = KINDS[kind.name].decode
    return _nullable(kind, _restricted(kind, coder))


def _nullable(kind: CypherType, coder: Coder) -> Coder:
    # Only the coder of ANY accepts None, so a nullable type needs a step before its coder.
    if kind.name == "ANY" or not kind.nullable:
        return coder
    return lambda value: None if value is None else coder(value)


def _restricted(kind: CypherType, coder: Coder) -> Coder:
    if not kind.allowed:
        return coder
    allowed = frozenset(kind.allowed)

    def code(value: Any) -> Any:
        coded = coder(value)
        if coded not in allowed:
            hint = guess(coded, map(str, kind.allowed)) if isinstance(coded, str) else ""
            raise ValueTypeError(f"is not one of {kind.choices}", hint=hint)
        return coded

    return code
