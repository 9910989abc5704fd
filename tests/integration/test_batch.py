"""`NAME.batch` inside Neo4j: one crossing for many rows."""

import pytest
from neo4j.exceptions import ClientError, Neo4jError


def test_rows_of_a_query_go_and_come_in_one_call(session):
    """What was collected is unwound again by `index`, in order."""
    found = session.run(
        "UNWIND range(0, 2999) AS n WITH collect(n) AS values "
        "CALL test.divide.batch([v IN values | [v, 2.0]]) YIELD index, value, error "
        "RETURN count(*) AS rows, sum(value) AS total, collect(index) = range(0, 2999) AS ordered, "
        "count(error) AS errors"
    ).single()

    assert found.data() == {"rows": 3_000, "total": 2999 * 3000 / 4, "ordered": True, "errors": 0}


def test_a_rows_error_is_a_map_in_that_row(session):
    """Arguments of another type and errors of the body are told where they belong."""
    found = session.run(
        "CALL test.divide.batch([[1.0, 4.0], [1.0, 0.0], ['one'], [null], [5]]) "
        "YIELD index, value, note, error RETURN index, value, note, error"
    )

    rows = [record.values() for record in found]
    assert [row[:2] for row in rows] == [[0, 0.25], [1, None], [2, None], [3, None], [4, 2.5]]
    assert [row[3] and row[3]["code"] for row in rows] == [
        None, "test.zero", "SC-204", "SC-204", None,
    ]  # fmt: skip
    assert rows[1][3] == {
        "code": "test.zero",
        "message": "`b` is 0",
        "hint": "Give another number.",
    }


def test_every_type_crosses_in_a_batch(session):
    """Arguments of a batch have the types of their parameters, as those of a call have."""
    arguments = (
        "[true, 1, 1.5, 'text', [1, 2], {a: 1}, date('2024-02-29'), "
        "localdatetime('2024-02-29T10:11:12.123456789'), "
        "datetime('2024-02-29T10:11:12.123456789[Europe/Berlin]'), duration('P1M2DT3S')]"
    )
    found = session.run(
        f"WITH {arguments} AS a CALL test.same.batch([x IN a | [x]]) YIELD index, value, error "
        "RETURN index, value = a[index] AS same, error"
    )

    assert [record.values() for record in found] == [[index, True, None] for index in range(10)]


def test_a_function_of_columns_gets_all_rows_at_once(session):
    """Its arrays come back as rows, and by itself it answers one row."""
    found = session.run(
        "UNWIND range(1, 3000) AS n WITH collect(n) AS values "
        "CALL test.lengths.batch([v IN values | [3.0 * v, 4.0 * v]]) YIELD index, length, vector, "
        "error WITH values, collect(length) AS lengths, collect(vector) AS vectors, "
        "count(error) AS errors RETURN lengths = [v IN values | 5.0 * v] AS right, "
        "vectors[1] AS second, size(vectors) AS rows, errors"
    ).single()
    one = session.run("CALL test.lengths(3.0, 4.0) YIELD length, vector RETURN *").single()

    assert found.data() == {"rows": 3_000, "right": True, "second": [6.0, 8.0], "errors": 0}
    assert one.data() == {"length": 5.0, "vector": [3.0, 4.0]}


def test_a_key_may_have_no_row_or_many(session):
    """A procedure of one row keeps each key, one of lists gives what there is."""
    maybe = session.run("CALL test.even.batch([[1], [2]]) YIELD index, part RETURN index, part")
    parts = session.run("CALL test.parts.batch([['a,b'], ['c']]) YIELD index, part RETURN *")

    assert [record.values() for record in maybe] == [[0, None], [1, "2"]]
    assert [record.values() for record in parts] == [[0, "a"], [0, "b"], [1, "c"]]


def test_writes_of_a_batch_are_the_callers(session):
    """A void procedure gives a row for each key, and a rollback undoes them all."""
    with session.begin_transaction() as transaction:
        found = transaction.run(
            "CALL test.touch.batch([['a'], ['b'], ['a']]) YIELD index RETURN collect(index) AS all"
        ).single()
        assert found["all"] == [0, 1, 2]
        seen = transaction.run("MATCH (n:Touched) RETURN collect(n.name) AS names").single()
        assert sorted(seen["names"]) == ["a", "b"]
        transaction.rollback()

    assert session.run("MATCH (n:Touched) RETURN count(n) AS n").single()["n"] == 0


def test_an_error_in_a_batch_that_writes_fails_the_statement(session):
    """The text names the row."""
    with pytest.raises(ClientError, match="In row 1 of the batch: `b` is 0"):
        session.run("CALL test.divideWriting.batch([[1.0], [1.0, 0.0]])").consume()


def test_a_failed_statement_of_one_row_fails_the_batch(session):
    """The transaction is lost: the caller sees Neo4j's own error."""
    with pytest.raises(Neo4jError) as caught:
        session.run("CALL test.find.batch([['RETURN 1'], ['NO CYPHER']])").consume()

    assert caught.value.code == "Neo.ClientError.Statement.SyntaxError"


@pytest.mark.parametrize("length", [1, 40, 700])
def test_async_bodies_run_their_statements_in_the_callers_transaction(session, length):
    """Bodies that wait together are served by the one thread of the call."""
    found = session.run(
        "CALL test.findAsync.batch([n IN range(1, $length) | [toString(n)]]) YIELD index, count "
        "RETURN count(*) AS rows, sum(count) AS total",
        length=length,
    ).single()

    assert found.values() == [length, length]


def test_a_limit_ends_a_batch(session):
    """No more is computed than the first pages."""
    tallied = "CALL test.tallied() YIELD count RETURN count"
    before = session.run(tallied).single()["count"]
    found = session.run(
        "CALL test.tally.batch([n IN range(1, 100000) | [n]]) YIELD index "
        "WITH index LIMIT 5 RETURN collect(index) AS first"
    ).single()

    assert found["first"] == [0, 1, 2, 3, 4]
    assert session.run(tallied).single()["count"] - before < 5_000
