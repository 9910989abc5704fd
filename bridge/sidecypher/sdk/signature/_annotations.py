"""The Cypher type of an annotation."""

import types as pytypes
import typing
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal

from sidecypher.values.annotations import (
    INTEGER_MAX,
    INTEGER_MIN,
    CypherTypeName,
    Description,
)
from sidecypher.values.cypher import CypherType
from sidecypher.values.kinds import KINDS
from sidecypher.values.temporal import OpaqueTemporal

_NAMES: Final[dict[object, str]] = {
    annotation: kind.name for kind in KINDS.values() for annotation in kind.annotations
}

_WRITTEN: Final = ", ".join(
    kind.written or kind.annotations[0].__name__
    for kind in KINDS.values()
    if kind.written or kind.annotations
)

VALUE_CLASSES: Final = frozenset({*_NAMES, OpaqueTemporal})
"""Classes of values, some of them dataclasses, that are never rows."""


class NoTypeError(Exception):
    """An annotation has no Cypher type.

    Attributes:
        hint: The annotation to write instead.
    """

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def cypher_type(annotation: Any) -> CypherType:
    """Return the Cypher type of an annotation.

    Raises:
        NoTypeError: It has no Cypher type.

    Example:
        >>> str(cypher_type(list[int] | None))
        'LIST<INTEGER>'
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        named = [note for note in annotation.__metadata__ if isinstance(note, CypherTypeName)]
        return CypherType(named[0].name) if named else cypher_type(annotation.__origin__)
    if origin is Literal:
        return _literal_type(arguments)
    if origin in {typing.Union, pytypes.UnionType} and type(None) in arguments:
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) == 1:
            return _nullable(cypher_type(rest[0]))
    name = _name_of(annotation)
    if name:
        return CypherType(name, nullable=name == "ANY")
    if annotation is list or origin is list:
        return CypherType("LIST", cypher_type(arguments[0] if arguments else Any))
    if annotation is dict or (origin is dict and arguments[:1] in {(), (str,)}):
        return CypherType("MAP", cypher_type(arguments[1] if arguments else Any))
    raise NoTypeError(
        "a type that is not a Cypher type",
        hint=f"Use {_WRITTEN}, list[T], dict[str, T], a Literal, or one of these with `| None`.",
    )


def notes_of(annotation: Any) -> tuple[object, ...]:
    """Return the metadata of an annotation, or of the members of a union."""
    own: tuple[object, ...] = getattr(annotation, "__metadata__", ())
    if typing.get_origin(annotation) is Annotated:
        annotation = annotation.__origin__
    if typing.get_origin(annotation) in {typing.Union, pytypes.UnionType}:
        return own + sum(map(notes_of, typing.get_args(annotation)), ())
    return own


def description_in(notes: Iterable[object]) -> str:
    """Return the text of the first `Description`; empty if there is none."""
    return next((note.text for note in notes if isinstance(note, Description)), "")


def _name_of(annotation: Any) -> str:
    try:
        return _NAMES.get(annotation, "")
    except TypeError:  # an annotation that cannot be hashed is not a type
        return ""


def _nullable(kind: CypherType) -> CypherType:
    return CypherType(kind.name, kind.item, nullable=True, allowed=kind.allowed)


def _literal_type(values: tuple[Any, ...]) -> CypherType:
    allowed = tuple(value for value in values if value is not None)
    nullable = len(allowed) < len(values)
    classes = {type(value) for value in allowed}
    if classes == {str}:
        return CypherType("STRING", nullable=nullable, allowed=allowed)
    if classes == {int} and all(INTEGER_MIN <= value <= INTEGER_MAX for value in allowed):
        return CypherType("INTEGER", nullable=nullable, allowed=allowed)
    raise NoTypeError(
        "a Literal that is neither all texts nor all 64-bit integers",
        hint='Write `Literal["a", "b"]` or `Literal[1, 2]`.',
    )
