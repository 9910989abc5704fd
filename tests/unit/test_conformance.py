"""The codec does what `tests/conformance/values.json` says."""

import dataclasses
import json
from typing import Any

import msgspec
import pytest
from conformance.cases import REFUSED_PYTHON, REFUSED_WIRE, VALUES, same, type_named
from fix_describe import describe

from sidecypher import Row
from sidecypher.errors import ArgumentError, RowError, ValueTypeError
from sidecypher.sdk.registry import Procedure
from sidecypher.values.coders import decoder, encoder
from sidecypher.values.cypher import CypherType
from sidecypher.values.kinds import TAGS

ANY = type_named("ANY")


class One(Row):
    value: Any


def as_json(wire):
    """Return JSON as the sidecar reads it."""
    return msgspec.json.decode(json.dumps(wire))


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_a_value_is_written_as_the_file_says(case):
    """Python writes a value as the file's JSON, with its declared type and as ANY."""
    for kind in (case.kind, ANY):
        written = msgspec.json.decode(msgspec.json.encode(encoder(kind)(case.value)))

        assert json.dumps(written) == json.dumps(case.wire)


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_a_value_is_read_as_the_file_says(case):
    """Python reads the file's JSON, in each of its forms, as the file's Python value."""
    for wire in (case.wire, *case.also):
        for kind in (case.kind, ANY):
            assert same(decoder(kind)(as_json(wire)), case.value)


@pytest.mark.parametrize("case", REFUSED_WIRE, ids=str)
def test_wrong_json_is_refused(case):
    """JSON that is not a value of its type is refused, and none of it is told."""
    with pytest.raises(ValueTypeError) as caught:
        decoder(case.kind)(as_json(case.wire))

    assert str(caught.value).startswith(("is ", "has ", "nests "))
    assert "202" not in str(caught.value)


@pytest.mark.parametrize("case", REFUSED_PYTHON, ids=str)
def test_a_wrong_value_is_refused(case):
    """A Python value that its type does not allow is refused with the file's reason."""
    with pytest.raises(ValueTypeError) as caught:
        encoder(case.kind)(case.value)

    assert case.reason in str(caught.value)


def echo(kind):
    """Return a procedure that takes and returns one value of a type."""

    def body(value: Any) -> One:
        raise NotImplementedError

    made = describe(body, "kg.echo")
    [parameter], [column] = made.signature.parameters, made.signature.columns
    signature = dataclasses.replace(
        made.signature,
        parameters=(dataclasses.replace(parameter, type=kind),),
        columns=(dataclasses.replace(column, type=kind),),
    )
    return Procedure(body, signature, made.entry)


@pytest.mark.parametrize("case", REFUSED_WIRE, ids=str)
def test_wrong_json_is_an_error_of_its_argument(case):
    """The caller of a procedure is told which argument, and which of its items, is wrong."""
    where = r"^The argument `value(\[\d+\])*` of `kg\.echo` (is|has) "
    with pytest.raises(ArgumentError, match=where):
        echo(case.kind).arguments([as_json(case.wire)])


def written_together(kind, values):
    """Return the JSON of many rows as a page has it."""
    made = echo(kind)
    return made.encode_rows([made.collect(One(value=value)) for value in values])


@pytest.mark.parametrize("case", REFUSED_PYTHON, ids=str)
def test_a_wrong_value_is_an_error_of_its_column(case):
    """The caller of a procedure is told which column is wrong, and why, in whatever row it is."""
    values = [found.value for found in VALUES if found.kind == case.kind][:2]
    nullable = dataclasses.replace(case.kind, nullable=case.value is not None)

    for write in (
        lambda: echo(case.kind).encode_row(One(value=case.value)),
        lambda: written_together(case.kind, [*values, case.value, *values]),
        lambda: written_together(nullable, [*values, case.value, *values]),
    ):
        with pytest.raises(RowError) as caught:
            write()

        assert str(caught.value).startswith("The column `value` of `kg.echo` ")
        assert case.reason in str(caught.value)


@pytest.mark.parametrize("kind", sorted({case.kind for case in VALUES}, key=str), ids=str)
@pytest.mark.parametrize("nullable", [False, True], ids=["", "nullable"])
def test_rows_are_written_together_as_the_file_says(kind, nullable):
    """What is common to a column is found out once, and each value is written as if alone."""
    cases = [case for case in VALUES if case.kind == kind]
    wires = [case.wire for case in cases]
    values = [case.value for case in cases]
    if nullable and kind.name != "ANY":
        kind = dataclasses.replace(kind, nullable=True)
        wires, values = [None, *wires], [None, *values]

    written = msgspec.json.decode(written_together(kind, values))

    assert json.dumps(written) == json.dumps([[wire] for wire in wires])


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_null_belongs_to_nullable_types_only(case):
    """With `| None` null crosses both ways; without, it is refused both ways."""
    kind = case.kind
    allowed = CypherType(kind.name, kind.item, nullable=True)

    assert encoder(allowed)(None) is None
    assert decoder(allowed)(None) is None
    for code in (encoder(kind), decoder(kind)):
        if kind.name != "ANY":
            with pytest.raises(ValueTypeError, match=f"is null where {kind} is expected"):
                code(None)


def test_the_file_has_every_type_and_tag():
    """No type and no tag is without a case."""
    text = json.dumps([case.wire for case in VALUES])

    assert {case.type for case in VALUES} >= set(TAGS.values())
    assert [tag for tag in TAGS if f'{{"{tag}": ' not in text] == []


@pytest.mark.parametrize("cases", [VALUES, REFUSED_WIRE, REFUSED_PYTHON], ids=len)
def test_names_are_unique(cases):
    """A name stands for one case, so that a failure tells which."""
    assert len({case.name for case in cases}) == len(cases)
