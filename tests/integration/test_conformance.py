"""Each value of `tests/conformance/values.json`, from Cypher to Python and back."""

import json
import re

import pytest
from conformance.cases import VALUES, numbered

COMPARED = """
    RETURN value = expected OR value IS NULL OR value <> value AND expected <> expected AS same,
           valueType(value) AS value_type, valueType(expected) AS expected_type,
           toStringOrNull(value) AS value_text, toStringOrNull(expected) AS expected_text
"""
"""NaN equals itself here. Only text tells 0.0 from -0.0, or two zones of one instant."""

TYPED = """
    CALL test.wire(value) YIELD wire
    RETURN wire, valueType(value) AS value_type, valueType(expected) AS expected_type
"""
"""For LIST and MAP, which Cypher does not compare when there is null or NaN in them."""


@pytest.fixture(scope="module")
def session(server, driver):
    """One session for all cases: each undoes what it writes, so the graph stays empty."""
    server.await_sidecar()
    with driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        yield session


def typed(case):
    """Return the procedure that takes a value of the case's type."""
    return "test.typed" + "".join(map(str.capitalize, re.findall(r"\w+", case.type)))


def asked(session, case, query, **parameters):
    """Run a statement in which `expected` is the value as Cypher makes it; undo what it wrote."""
    if case.cypher == "$value":
        parameters["value"] = case.value
    with session.begin_transaction() as transaction:
        begin = f"{case.match} WITH {case.cypher} AS expected "
        [record] = transaction.run(begin + query, **parameters)
        transaction.rollback()
    return record


def verdict(case):
    """Return the end of a statement that compares `value` with `expected`."""
    return TYPED if isinstance(case.value, list | dict) else COMPARED


def assert_same(record, case):
    """Check the record that `verdict` gives."""
    assert record["value_type"] == record["expected_type"]
    if verdict(case) is TYPED:
        assert_wire(record["wire"], case)
    else:
        assert record["same"]
        assert record["value_text"] == record["expected_text"]


def assert_wire(text, case):
    """Check that JSON is that of the file, in which maps have no order."""
    seen, wanted = (
        json.dumps(numbered(wire), sort_keys=True) for wire in (json.loads(text), case.wire)
    )
    assert seen == wanted


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_a_value_goes_to_python_and_back(session, case):
    """A value comes back equal and of its type, as an argument of its own type and of ANY."""
    for name in (typed(case), "test.echoAny"):
        query = f"CALL {name}(expected) YIELD value " + verdict(case)

        assert_same(asked(session, case, query), case)


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_a_function_returns_the_value(session, case):
    """A value comes back from a function as it went in."""
    query = "WITH expected, test.same(expected) AS value " + verdict(case)

    assert_same(asked(session, case, query), case)


@pytest.mark.parametrize("case", VALUES, ids=str)
def test_python_is_given_what_the_file_says(session, case):
    """The JSON that Python writes for the value it was given is that of the file."""
    record = asked(session, case, "CALL test.wire(expected) YIELD wire RETURN wire")

    assert_wire(record["wire"], case)


@pytest.mark.parametrize("case", [case for case in VALUES if not case.match], ids=str)
def test_cypher_is_given_what_python_makes(session, case):
    """A value that Python makes from the file's JSON is the one that Cypher makes."""
    query = "CALL test.unwire($wire) YIELD value " + verdict(case)

    assert_same(asked(session, case, query, wire=json.dumps(case.wire)), case)


@pytest.mark.parametrize("case", [case for case in VALUES if case.cypher != "$value"], ids=str)
def test_a_statement_of_a_body_gives_the_value(session, case):
    """A result of `ctx.run` is what the file says."""
    statement = f"{case.match} RETURN {case.cypher} AS value"
    with session.begin_transaction() as transaction:
        wire = transaction.run("CALL test.ask($it)", it=statement).single()["wire"]
        transaction.rollback()

    assert_wire(wire, case)


@pytest.mark.parametrize(
    "case", [case for case in VALUES if not case.match and case.cypher != "$value"], ids=str
)
def test_a_statement_of_a_body_takes_the_value(session, case):
    """A parameter of `ctx.run` is what Cypher makes itself."""
    statement = f"WITH {case.cypher} AS expected, $value AS value " + verdict(case)
    query = "CALL test.tell($wire, $it)"
    record = session.run(query, wire=json.dumps(case.wire), it=statement).single()["value"]

    assert_same(record, case)


@pytest.mark.parametrize("case", [case for case in VALUES if case.match], ids=str)
def test_a_statement_of_a_body_takes_entities(session, case):
    """An entity that a body was given is that entity again in its own statements."""
    query = """
        CALL test.wire(expected) YIELD wire
        CALL test.tell(wire, 'RETURN $value AS it') YIELD value AS told
        WITH expected, told.it AS value
    """

    assert_same(asked(session, case, query + verdict(case)), case)
