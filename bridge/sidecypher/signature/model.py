"""What a signature consists of."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from sidecypher.types import CypherType


@dataclass(frozen=True, slots=True)
class Default:
    """A parameter's default, on both sides.

    Attributes:
        value: The Python value.
        text: The text Neo4j parses, or `"null"` when only Python knows the default.
        by_null: Neo4j cannot express the default: null stands for it.
    """

    value: Any
    text: str
    by_null: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a procedure, by its Cypher name."""

    name: str
    type: CypherType
    default: Default | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a procedure: its Cypher name and the attribute it is read from."""

    name: str
    attribute: str
    type: CypherType
    description: str


class Answer(Enum):
    """How a body hands over its rows."""

    ROW = "one row"
    MAYBE = "one row or none"
    LIST = "a list of rows"
    ITERATOR = "an iterator of rows"
    VOID = "None"
    VALUE = "a value"


@dataclass(frozen=True, slots=True)
class Signature:
    """The Cypher signature of a Python function.

    Attributes:
        takes_context: Whether the first Python parameter is the `Context`.
        row: The class whose attributes are the columns; `NoneType` of a void procedure, `object` of
            a function.
        answer: How the body hands over its rows.
    """

    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    takes_context: bool
    row: type[Any]
    answer: Answer
