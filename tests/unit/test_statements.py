"""`ExpectedStatements` stands in for the graph."""

import pytest

from sidecypher import Context, Row, procedure
from sidecypher.errors import CallError, CypherError
from sidecypher.testing import ExpectedStatements, ProcedureEnvironment, UnexpectedStatement


class Count(Row):
    count: int


@procedure("demo.count")
def count(ctx: Context, label: str) -> Count:
    (record,) = ctx.run("MATCH (n) WHERE $label IN labels(n) RETURN count(n) AS c", label=label)
    return Count(count=record["c"])


@pytest.fixture
def graph():
    return ExpectedStatements()


def test_an_expected_statement_gets_its_records(graph):
    """White space does not matter, and a body sees the records."""
    graph.expect(
        """MATCH (n)
           WHERE $label IN labels(n)
           RETURN count(n) AS c""",
        params={"label": "Person"},
        records=[{"c": 3}],
    )

    with ProcedureEnvironment(count, run=graph) as environment:
        assert environment.call("demo.count", "Person") == [{"count": 3}]
    graph.verify()


def test_other_parameters_are_unexpected(graph):
    """Parameters that are named must be equal."""
    graph.expect("RETURN $a", params={"a": 1}, records=[{"a": 1}])

    with pytest.raises(UnexpectedStatement, match=r"RETURN \$a"):
        graph("RETURN $a", {"a": 2})


def test_each_expectation_answers_once(graph):
    """A statement that comes more often than expected is unexpected."""
    graph.expect("RETURN 1", records=[{"1": 1}])

    assert graph("RETURN 1", {}) == [{"1": 1}]
    with pytest.raises(UnexpectedStatement):
        graph("RETURN 1", {})


def test_an_unexpected_statement_is_told_even_if_the_body_hides_it(graph):
    """`verify` tells of a statement whose error a body has swallowed."""
    with pytest.raises(UnexpectedStatement):
        graph("MATCH (n) DELETE n", {})

    with pytest.raises(UnexpectedStatement, match=r"MATCH \(n\) DELETE n"):
        graph.verify()


def test_a_statement_that_never_comes_is_told(graph):
    """`verify` names what was expected in vain."""
    graph.expect("RETURN 1")

    with pytest.raises(UnexpectedStatement, match="`RETURN 1` was expected and did not come"):
        graph.verify()


def test_a_statement_can_fail_as_in_neo4j(graph):
    """A failure has the given status, and dooms the call."""
    status = "Neo.ClientError.Schema.ConstraintValidationFailed"
    graph.expect("CREATE (:A)", fails_with=status)

    with pytest.raises(CypherError) as caught:
        graph("CREATE (:A)", {})

    assert caught.value.neo4j_code == status


def test_an_unexpected_statement_is_an_error_of_the_call(graph):
    """A body that asks something unexpected fails with the statement's name."""
    with (
        ProcedureEnvironment(count, run=graph) as environment,
        pytest.raises(CallError, match="labels") as caught,
    ):
        environment.call("demo.count", "Person")

    assert caught.value.code == "SC-621"
