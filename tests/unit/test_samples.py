"""The call of a procedure or function that is offered for copying."""

import pytest

from sidecypher.operations.console.formats import bound, duration
from sidecypher.protocol.catalogue import ColumnEntry, DefaultEntry, FunctionEntry, ParameterEntry
from sidecypher.protocol.catalogue import ProcedureEntry as Entry
from sidecypher.sdk.samples import sample_call

VALUE = (ColumnEntry("value", "STRING"), ColumnEntry("score", "FLOAT"))


def procedure(*parameters, columns=VALUE):
    named = tuple(ParameterEntry(name, kind) for name, kind in parameters)
    return Entry("kg.find", "READ", "", 1000, "", named, columns)


@pytest.mark.parametrize(
    ("parameters", "call"),
    [
        ((), "CALL kg.find() YIELD value, score"),
        ((("name", "STRING"), ("n", "INTEGER")), "CALL kg.find('name', 1) YIELD value, score"),
        ((("rows", "LIST<LIST<ANY>>"), ("m", "MAP")), "CALL kg.find([], {}) YIELD value, score"),
        ((("data", "BYTES"), ("any", "ANY")), "CALL kg.find($data, 'any') YIELD value, score"),
        (
            (("n", "NODE"), ("r", "RELATIONSHIP"), ("p", "PATH")),
            (
                "MATCH (theN), ()-[theR]->(), theP = ()-->() WITH * LIMIT 1 "
                "CALL kg.find(theN, theR, theP) YIELD value, score RETURN value, score"
            ),
        ),
    ],
)
def test_what_must_be_given_is_given(parameters, call):
    """Each parameter without a default gets a value of its type; what has no literal is matched."""
    assert sample_call(procedure(*parameters)) == call


def test_what_has_a_default_is_left_out():
    """Optional parameters come last, so that a call without them is a call."""
    optional = ParameterEntry("limit", "INTEGER", default=DefaultEntry("5"))
    entry = Entry("kg.find", "READ", "", 1000, "", (optional,), VALUE)

    assert sample_call(entry) == "CALL kg.find() YIELD value, score"


def test_a_void_procedure_yields_nothing():
    """Without columns there is no `YIELD`, with a node neither."""
    assert sample_call(procedure(columns=())) == "CALL kg.find()"
    assert sample_call(procedure(("n", "NODE"), columns=())) == (
        "MATCH (theN) WITH * LIMIT 1 CALL kg.find(theN)"
    )


def test_a_function_is_returned():
    """A function is used in an expression."""
    entry = FunctionEntry("kg.twice", "", 1000, "", (ParameterEntry("n", "NODE"),), "FLOAT")

    assert sample_call(entry) == "MATCH (theN) WITH * LIMIT 1 RETURN kg.twice(theN) AS value"


def test_what_is_matched_is_called_as_no_column_is():
    """A procedure may yield a node under the name of its parameter: Cypher refuses a name twice."""
    entry = procedure(("value", "NODE"))

    assert sample_call(entry) == (
        "MATCH (theValue) WITH * LIMIT 1 CALL kg.find(theValue) YIELD value, score "
        "RETURN value, score"
    )


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (None, "-"),
        (0.0, "0 ms"),
        (0.000_51, "0.51 ms"),
        (0.999, "999 ms"),
        (1.0, "1 s"),
        (0.9996, "1 s"),
        (0.9994, "999 ms"),
        (99.96, "100 s"),
        (999.6, "1000 s"),
        (1234.5, "1230 s"),
    ],
)
def test_durations_are_told_in_the_unit_that_fits(seconds, told):
    """Below a second in milliseconds, with three digits, and never with an exponent."""
    assert duration(seconds) == told


def test_what_took_longer_than_the_last_bucket_is_told_so():
    """The histogram knows no more than that."""
    assert bound(float("inf")) == "> 30 s"
