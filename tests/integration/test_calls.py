"""What Cypher sees of Python procedures, on a real Neo4j."""

import math
import time
from datetime import date, datetime, timedelta, timezone

import pytest
from fix_waiting import wait_until
from neo4j.exceptions import ClientError
from neo4j.time import Date, DateTime


def test_values_of_every_type_come_back(session):
    """A value of each type goes Cypher, JVM, Python and back unchanged."""
    row = session.run(
        """
        CALL test.echoEverything(true, 9223372036854775807, 1.5, 'ünïcödé 😀 \\\\ "', [1, 2],
            {a: [1, {b: null}], `$date`: 'no tag'}, date('2024-02-29'),
            localdatetime('2024-02-29T10:11:12.123456789'),
            datetime('2024-10-27T02:30:00.000000001+01:00[Europe/Berlin]'), [null, 1.0])
        """
    ).single()

    assert row.data() == {
        "aBoolean": True,
        "anInteger": 2**63 - 1,
        "aFloat": 1.5,
        "aString": 'ünïcödé 😀 \\ "',
        "aList": [1, 2],
        "aMap": {"a": [1, {"b": None}], "$date": "no tag"},
        "aDate": Date(2024, 2, 29),
        "aLocal": DateTime(2024, 2, 29, 10, 11, 12, 123456789),
        "aZoned": row["aZoned"],
        "anything": [None, 1.0],
    }
    assert row["aZoned"].iso_format() == "2024-10-27T02:30:00.000000001+01:00"
    assert str(row["aZoned"].tzinfo) == "Europe/Berlin"


@pytest.mark.parametrize(
    "value",
    [
        None,
        -(2**63),
        -0.0,
        math.inf,
        "",
        "\0\x1a\x7f\u2028\\\"'\n",
        [],
        {},
        {"$map": {"$float": "NaN"}},
        datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=-5, minutes=-30))),
        date(1, 1, 1),
        [[[{"deep": [None]}]]],
    ],
    ids=repr,
)
def test_parameters_of_the_driver_come_back(session, value):
    """What a driver sends as a parameter comes back equal through a Python body."""
    back = session.run("CALL test.echoAny($value)", value=value).single()["value"]

    assert (back.to_native() if hasattr(back, "to_native") else back) == value


def test_nulls_take_every_column(session):
    """Arguments that are left out are null in every type."""
    row = session.run("CALL test.echoEverything()").single()

    assert set(row.values()) == {None}


def test_defaults_are_those_of_python(session):
    """Each parameter that Cypher leaves out has the default of the Python signature."""
    assert session.run("CALL test.defaults()").single()["value"] == [
        True, -7, 2.0, "null", ["it's", "`", "\\"], {"deep key": [1, {"a": None}]},
        Date(2024, 2, 29), None,
    ]  # fmt: skip


def test_show_procedures_tells_the_signature(session):
    """Signature, mode and description are what annotations and docstring say."""
    row = session.run(
        "SHOW PROCEDURES YIELD name, description, signature, mode "
        "WHERE name IN ['test.described', 'test.run'] RETURN * ORDER BY name"
    ).data()

    assert row[0]["description"] == 'Say `it` */ with "quotes", \\u002a\\u002f and ünïcödé 😀.'
    assert row[0]["signature"] == (
        "test.described(name :: STRING, limit = 10 :: INTEGER) :: (score :: FLOAT, name :: STRING)"
    )
    assert [each["mode"] for each in row] == ["READ", "WRITE"]


@pytest.mark.parametrize("name", ["test.count", "test.countAsync", "test.countList"])
def test_streams_come_whole_and_in_order(session, name):
    """Thousands of rows arrive once and in order, whatever the body is."""
    query = f"CALL {name}(5000) YIELD value RETURN collect(value) AS values"

    assert session.run(query).single()["values"] == list(range(5000))


def test_limit_closes_the_generator(session):
    """LIMIT ends an endless generator, and the body's `finally` runs."""
    label = f"limit {time.monotonic_ns()}"
    found = session.run("CALL test.closing($label) YIELD value RETURN value LIMIT 5", label=label)

    assert found.value() == [0, 1, 2, 3, 4]
    wait_until(lambda: label in session.run("CALL test.closed()").value())


def test_a_procedure_runs_once_for_each_row(session):
    """Inside a larger query a procedure runs for each row, with that row's values."""
    found = session.run(
        "UNWIND range(1, 200) AS n CALL test.echo(toString(n)) YIELD value RETURN value"
    )

    assert found.value() == [str(n) for n in range(1, 201)]


def test_an_optional_call_keeps_rows_without_an_answer(session):
    """OPTIONAL CALL keeps the outer row where a procedure gives none."""
    found = session.run(
        "UNWIND [true, false] AS there OPTIONAL CALL test.maybe(there) YIELD value "
        "RETURN there, value"
    )

    assert found.values() == [[True, "there"], [False, None]]


def test_a_body_knows_its_caller(session, server):
    """User, database and time left are the caller's."""
    facts = session.run("CALL test.facts()").single()

    assert (facts["user"], facts["database"]) == ("neo4j", "neo4j")
    assert 25 < facts["secondsLeft"] <= 30
    assert facts["callId"] in server.logs()


def test_statements_see_and_change_the_callers_transaction(driver, session):
    """`ctx.run` sees what the caller has not committed, and a rollback undoes what it wrote."""
    with driver.session() as other, other.begin_transaction() as tx:
        tx.run("CREATE (:Draft {n: 1})")
        seen = tx.run(
            "CALL test.run('MATCH (d:Draft) CREATE (c:Copy {n: d.n + $x}) RETURN c.n AS n', {x: 1})"
        ).single()
        tx.rollback()

    assert seen["value"] == {"n": 2}
    assert session.run("MATCH (n) RETURN count(n) AS n").single()["n"] == 0


def test_statements_are_committed_with_the_caller(session):
    """What `ctx.run` wrote is there after the caller's commit, from async bodies too."""
    session.run("CALL test.run('CREATE (:Kept {by: $by})', {by: 'sync'})").consume()
    session.run("CALL test.runAsync('CREATE (:Kept {by: $by})', {by: 'async'})").consume()

    assert sorted(session.run("MATCH (k:Kept) RETURN k.by").value()) == ["async", "sync"]


@pytest.mark.parametrize("name", ["test.run", "test.swallow"])
def test_a_failed_statement_keeps_its_status_and_dooms_the_transaction(driver, name):
    """A statement's failure reaches the client with Neo4j's own status, also when swallowed."""
    with driver.session() as session, pytest.raises(ClientError) as caught:
        session.run(f"CALL {name}('THIS IS NO CYPHER')").consume()

    assert caught.value.code == "Neo.ClientError.Statement.SyntaxError"


def test_a_broken_constraint_keeps_its_status(session):
    """A uniqueness violation inside a body is one for the client."""
    session.run("CREATE (:Repository {id: 'taken'})").consume()

    with pytest.raises(ClientError) as caught:
        session.run("CALL test.run($q)", q="CREATE (:Repository {id: 'taken'})").consume()

    assert caught.value.code == "Neo.ClientError.Schema.ConstraintValidationFailed"
    assert session.run("MATCH (r:Repository) RETURN count(r) AS n").single()["n"] == 1


def test_a_read_procedure_cannot_write(session):
    """A body of mode READ is refused a write by Neo4j, and nothing is written."""
    with pytest.raises(ClientError):
        session.run("CALL test.readOnly('CREATE (:Never)')").consume()

    assert session.run("MATCH (n:Never) RETURN count(n) AS n").single()["n"] == 0


def test_python_procedures_may_call_python_procedures(session):
    """Cypher run by a body may call other Python procedures, many at once."""
    found = session.run(
        "UNWIND range(1, 50) AS n "
        "CALL test.run('CALL test.echo($x) YIELD value RETURN value', {x: toString(n)}) "
        "YIELD value RETURN value.value AS value"
    )

    assert found.value() == [str(n) for n in range(1, 51)]


SECRET = "hunter2-payload"


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("author", "[kg.no-such-index] No index `people`. Create it."),
        ("value", "[SC-202] `test.fail` failed with ValueError in call "),
        ("exit", "[SC-202] `test.fail` failed with SystemExit in call "),
        ("row", "[SC-205] `test.fail` returned a dict where a row is expected"),
        ("column", "[SC-205] The column `value` of `test.fail` is a Python int"),
    ],
)
def test_failures_of_a_body_are_client_errors_without_payload(session, server, kind, code):
    """A body's failure is a ProcedureCallFailed with our code; no value is in error or log."""
    with pytest.raises(ClientError) as caught:
        session.run("CALL test.fail($kind, $secret)", kind=kind, secret=SECRET).consume()

    assert caught.value.code == "Neo.ClientError.Procedure.ProcedureCallFailed"
    assert code in caught.value.message
    assert SECRET not in caught.value.message
    assert SECRET not in server.logs()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("test.echo()", "expected at least 1"),
        ("test.echo(1)", "STRING"),
        ("test.echo('a', 'b')", "got 2 expected"),
        ("test.echo(null)", "`value`"),
        ("test.nothing()", "test.nothing"),
        ("test.echoEverything('no boolean')", "`aBoolean`"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(session, call, told):
    """Wrong counts and types of arguments are client errors that name what is wrong."""
    with pytest.raises(ClientError) as caught:
        session.run(f"CALL {call}").consume()

    assert told.lower() in caught.value.message.lower()


def test_a_long_text_makes_the_round_trip(session):
    """A megabyte of escapes comes back as it was."""
    text = "\\\"\n'" * 250_000

    assert session.run("CALL test.echo($text)", text=text).single()["value"] == text
