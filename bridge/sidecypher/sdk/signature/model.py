"""The parts of a signature: parameters, columns and the kind of result."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from sidecypher.sdk.signature._defaults import Default
from sidecypher.values.cypher import CypherType

if TYPE_CHECKING:
    # It imports pydantic, which few procedures need.
    from sidecypher.sdk.signature.fields import Shape


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a procedure, by its Cypher name.

    Attributes:
        shape: The fields of its MAP, or of each MAP of its LIST, if its type is `Options`.
    """

    name: str
    type: CypherType
    default: Default | None
    shape: "Shape | None" = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a procedure: its Cypher name and the attribute it is read from."""

    name: str
    attribute: str
    type: CypherType
    description: str


class ReturnKind(Enum):
    """Form in which a function returns its rows."""

    ROW = "one row"
    OPTIONAL_ROW = "one row or none"
    LIST = "a list of rows"
    ITERATOR = "an iterator of rows"
    VOID = "None"
    VALUE = "a value"


@dataclass(frozen=True, slots=True)
class Signature:
    """The Cypher signature of a Python function.

    Attributes:
        takes_context: Whether the first Python parameter is annotated as the `Context`.
        row: The class whose attributes are the columns; `NoneType` of a void procedure, `object` of
            a function.
        returns: The form in which the function returns its rows.
    """

    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    takes_context: bool
    row: type[Any]
    returns: ReturnKind
