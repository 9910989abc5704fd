"""Rows are instances of a `Row`, a dataclass or a pydantic model."""

import dataclasses
from collections.abc import Iterator
from datetime import time
from typing import Annotated, ClassVar

import pydantic
import pytest
from fix_describe import describe

from sidecypher import Description, Duration, LocalTime, Node, Path, Point, Relationship, Row
from sidecypher.errors import RowError, SignatureError
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.signature.model import ReturnKind
from sidecypher.sdk.signature.reader import read_signature


class OwnRow(Row):
    kind: ClassVar[str] = "row"
    element_id: str
    score: Annotated[float, Description("0..1")]
    at: LocalTime | None = None


@dataclasses.dataclass
class Plain:
    kind: ClassVar[str] = "dataclass"
    seed: dataclasses.InitVar[int] = 0
    element_id: str = ""
    score: Annotated[float, Description("0..1")] = 0.0
    at: LocalTime | None = dataclasses.field(default=None, init=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    element_id: str
    score: Annotated[float, Description("0..1")]
    at: LocalTime | None = None


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True)
    kind: ClassVar[str] = "model"
    element_id: str = pydantic.Field(alias="elementIdentity")
    score: float = pydantic.Field(description="0..1", ge=0)
    at: LocalTime | None = None
    _secret: str = "hunter2"

    @property
    def doubled(self) -> float:
        return 2 * self.score


@pydantic.dataclasses.dataclass
class Checked:
    element_id: str
    score: Annotated[float, Description("0..1")]
    at: LocalTime | None = None


MADE = [
    OwnRow(element_id="4:a:1", score=0.5),
    Plain(1, "4:a:1", 0.5),
    Frozen(element_id="4:a:1", score=0.5),
    Model(elementIdentity="4:a:1", score=0.5),
    Checked("4:a:1", 0.5),
]


def giving(annotation):
    """Return a body with this return type."""

    def body():
        raise NotImplementedError

    body.__annotations__ = {"return": annotation}
    return body


@pytest.mark.parametrize("row", MADE, ids=lambda row: type(row).__name__)
def test_columns_are_the_fields_in_order(row):
    """Fields become columns with types and descriptions; nothing else of the class does."""
    columns = read_signature(giving(type(row))).columns

    assert [
        (column.name, column.attribute, str(column.type), column.type.nullable, column.description)
        for column in columns
    ] == [
        ("elementId", "element_id", "STRING", False, ""),
        ("score", "score", "FLOAT", False, "0..1"),
        ("at", "at", "LOCAL TIME", True, ""),
    ]


@pytest.mark.parametrize("row", MADE, ids=lambda row: type(row).__name__)
def test_rows_are_encoded_by_their_attributes(row):
    """A row of any of these classes gives its values in the order of the columns."""
    assert describe(giving(type(row)), "kg.x").encode_row(row) == ["4:a:1", 0.5, None]


@pytest.mark.parametrize("row", MADE, ids=lambda row: type(row).__name__)
def test_every_way_to_return_rows_takes_them(row):
    """One row, perhaps a row, a list and an iterator may be of any of these classes."""
    kind = type(row)
    kinds = [
        read_signature(giving(each)).returns
        for each in (kind, kind | None, list[kind], Iterator[kind])
    ]

    assert kinds == [
        ReturnKind.ROW,
        ReturnKind.OPTIONAL_ROW,
        ReturnKind.LIST,
        ReturnKind.ITERATOR,
    ]


def test_another_class_of_the_same_shape_is_no_row():
    """A row must be of the annotated class, whatever its attributes are."""
    with pytest.raises(RowError, match="returned a Plain where a row is expected") as caught:
        describe(giving(Frozen), "kg.x").encode_row(MADE[1])

    assert caught.value.hint == "Return `Frozen(...)`."


def test_a_row_may_have_constants_of_its_class():
    """A ClassVar of a Row is not a column and keeps its value."""
    assert OwnRow.kind == "row"
    assert OwnRow.__struct_fields__ == ("element_id", "score", "at")


@pytest.mark.parametrize(
    "value_class", [Node, Relationship, Path, Point, Duration, time, Deadline, pydantic.BaseModel]
)
@pytest.mark.parametrize("wrap", [lambda each: each, lambda each: list[each]])
def test_values_are_no_rows(value_class, wrap):
    """A class of Cypher values has attributes, but a row holds such values in its columns."""
    with pytest.raises(SignatureError) as caught:
        read_signature(giving(wrap(value_class)))

    assert caught.value.hint


def test_a_model_whose_field_has_no_cypher_type_is_refused():
    """A field of another type is refused by class and field."""

    class Odd(pydantic.BaseModel):
        tags: set[str]

    with pytest.raises(SignatureError, match=r"the column `Odd\.tags` with a type that is no"):
        read_signature(giving(Odd))
