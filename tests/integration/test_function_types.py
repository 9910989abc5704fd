"""Python functions in Cypher expressions, on a real Neo4j."""

import pytest
from neo4j.exceptions import ClientError

FAILED = "Neo.ClientError.Procedure.ProcedureCallFailed"


def test_functions_are_used_in_expressions(session):
    """Functions take and give every type, defaults and null, in every place of a query."""
    session.run("CREATE (:A:B {n: 1}), (:C {n: 2})").consume()

    row = session.run(
        """
        MATCH (n) WITH n ORDER BY n.n WITH collect(n) AS ns
        RETURN [n IN ns | test.labelsOf(n)] AS labels, test.labelsOf(null) AS none,
               test.first(ns) = ns[0] AS same, test.first([]) AS nobody,
               test.half(5) AS half, test.half(1, 0) AS rounded,
               test.middle(point({x: 0, y: 2}), point({x: 2, y: 4})).y AS middle,
               toString(test.nextDay(date('2024-02-28'))) AS day
        """
    ).single()

    assert row.values() == [[["A", "B"], ["C"]], None, True, None, 2.5, 0.0, 3.0, "2024-02-29"]
    assert session.run("MATCH (n) WHERE 'A' IN test.labelsOf(n) RETURN n.n").value() == [1]


def test_a_function_and_a_procedure_may_share_a_name(session):
    """`test.echo` is both, and each is called where it is meant."""
    query = "CALL test.echo('a') YIELD value RETURN value, test.echo('a') AS other"

    assert session.run(query).single().values() == ["a", "function a"]


def test_whole_numbers_are_good_for_floats(session):
    """INTEGERs in a LIST of FLOATs are taken as Neo4j takes them for a single one."""
    query = "RETURN test.sums([1, 2.5]) AS known, test.sums([0.5], [[2, 3]]) AS any"

    assert session.run(query).single().values() == [3.5, 5.5]


@pytest.mark.parametrize(
    ("call", "code", "told"),
    [
        ("test.wrong('type')", FAILED, "[SC-205] "),
        ("test.wrong('value')", FAILED, "[SC-202] "),
        ("test.half(null)", FAILED, "parameter `number` must not be null"),
        ("test.half('a')", "Neo.ClientError.Statement.SyntaxError", "expected Float"),
    ],
)
def test_failures_of_functions_are_the_clients(session, call, code, told):
    """What goes wrong in a function has the codes that a procedure's errors have."""
    with pytest.raises(ClientError) as caught:
        session.run(f"RETURN {call}").consume()

    assert caught.value.code == code
    assert told in caught.value.message
