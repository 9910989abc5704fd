"""Python functions in Cypher expressions, void procedures, and marks, on a real Neo4j."""

import time

import pytest
from fix_waiting import promised
from neo4j.exceptions import ClientError

SECRET = "hunter2-payload"


def deprecations(result):
    """Return what Neo4j warns of."""
    return [
        status.status_description
        for status in result.consume().gql_status_objects
        if status.raw_classification == "DEPRECATION"
    ]


# Functions


def test_functions_stand_in_expressions(session):
    """A function may stand in WHERE, ORDER BY, RETURN and inside another one's arguments."""
    found = session.run(
        "UNWIND range(1, 6) AS n WITH n WHERE fn.twice(n) > 4 "
        "RETURN fn.twice(fn.twice(n)) AS four ORDER BY -fn.twice(n)"
    )

    assert found.value() == [24, 20, 16, 12]


def test_functions_stand_in_list_comprehensions(session):
    """A function is evaluated for each item, and may filter them."""
    found = session.run("RETURN [n IN range(1, 5) WHERE fn.twice(n) <> 4 | fn.twice(n)] AS all")

    assert found.single()["all"] == [2, 6, 8, 10]


def test_functions_stand_in_aggregations_and_updates(session):
    """A function's value can be aggregated, stored and matched again."""
    session.run("UNWIND range(1, 3) AS n CREATE (:Number {twice: fn.twice(n)})").consume()

    found = session.run("MATCH (n:Number) WHERE n.twice = fn.twice(2) RETURN sum(n.twice) AS sum")

    assert found.single()["sum"] == 4


def test_null_reaches_a_function_that_takes_it(session):
    """A function is called with null, and may return it, where its types allow null."""
    found = session.run("RETURN fn.twice(null) AS nothing, fn.same(null) AS same").single()

    assert found.values() == [None, None]


def test_null_is_refused_by_name_where_it_is_not_allowed(session):
    """Null for a parameter without `| None` is an error that names it."""
    with pytest.raises(ClientError, match=r"`name`.*`fn\.greet`|`fn\.greet`.*`name`"):
        session.run("RETURN fn.greet(null)").consume()


def test_defaults_fill_up_a_functions_arguments(session):
    """A parameter that is left out has the Python default, also one that only Python knows."""
    found = session.run(
        "RETURN fn.greet('Ann') AS one, fn.greet('Ann', 'Bye') AS two, fn.caption() AS three"
    )

    assert found.single().values() == ["Hello Ann", "Bye Ann", "nothing"]


def test_functions_take_nodes_and_lists(session):
    """A node arrives as a snapshot, and a list with its items' types checked."""
    session.run("CREATE (:B:A)").consume()

    found = session.run("MATCH (n) RETURN fn.caption(n) AS labels, fn.sizes(['a', 'bc']) AS s")

    assert found.single().values() == ["A:B", [1, 2]]


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("fn.twice('one')", "expected Integer but was String"),
        ("fn.twice()", "fn.twice"),
        ("fn.sizes([1])", "Can't coerce `Long(1)` to String"),
        ("fn.caption(1)", "`node`"),
        ("fn.nothing()", "fn.nothing"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(session, expression, told):
    """Wrong counts and types of arguments are client errors that name what is wrong."""
    with pytest.raises(ClientError) as caught:
        session.run(f"RETURN {expression}").consume()

    assert told in caught.value.message


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("author", "[kg.no-word] No such word. Look it up."),
        ("value", "[SC-202] `fn.wrong` failed with ValueError in call "),
        ("result", "[SC-205]"),
    ],
)
def test_failures_of_a_function_are_client_errors_without_payload(session, kind, told):
    """A function's failure has our code; no value is in it."""
    with pytest.raises(ClientError) as caught:
        session.run("RETURN fn.wrong($kind, $secret)", kind=kind, secret=SECRET).consume()

    assert caught.value.code == "Neo.ClientError.Procedure.ProcedureCallFailed"
    assert told in caught.value.message
    assert SECRET not in caught.value.message


def test_a_function_ends_at_its_deadline(session):
    """A function has its own timeout, and the caller is told within a second after it."""
    session.run("RETURN fn.twice(1)").consume()
    started = time.monotonic()

    with pytest.raises(ClientError, match=r"\[SC-213\].*`fn\.slow`"):
        session.run("RETURN fn.slow(20.0)").consume()

    assert time.monotonic() - started < promised(1.5)


def test_a_function_ends_with_its_transaction(driver):
    """The end of the transaction's own time reaches a function that waits."""
    with driver.session() as session:
        started = time.monotonic()
        tx = session.begin_transaction(timeout=0.5)

        with pytest.raises(ClientError) as caught:
            tx.run("RETURN fn.sleep(50.0)").consume()

        assert time.monotonic() - started < 5
        assert "Transaction" in caught.value.code
        tx.close()


@pytest.mark.parametrize("expression", ["fn.ask()", "fn.ask(false)"])
def test_functions_run_no_statements(session, expression):
    """`ctx.run` in a function is an error that says so."""
    with pytest.raises(ClientError, match=r"\[SC-209\]"):
        session.run(f"RETURN {expression}").consume()


def test_a_function_may_live_without_its_statement(session):
    """No statement ran, so a body that goes on without one has harmed no transaction."""
    assert session.run("RETURN fn.ask(true) AS answer").single()["answer"] == -1


def test_async_functions_know_their_caller(session):
    """User, database and time left are the caller's, on the event loop too."""
    facts = session.run("RETURN fn.caller() AS facts").single()["facts"]

    assert (facts["user"], facts["database"]) == ("neo4j", "neo4j")
    assert 25 < facts["seconds"] <= 30


def test_thousands_of_evaluations_are_right(session):
    """Evaluated for each of many rows, a function mixes nothing up."""
    found = session.run(
        "UNWIND range(1, 5000) AS n WITH n WHERE fn.twice(n) <> 2 * n RETURN count(*) AS wrong"
    )

    assert found.single()["wrong"] == 0


def test_procedure_twin_and_function_of_one_name(session):
    """A procedure, its `.batch` and a function of the same name are three things."""
    rows = session.run("CALL fn.score('abc')").values()
    batch = session.run("CALL fn.score.batch([['a'], ['bc']]) YIELD index, score").values()
    value = session.run("RETURN fn.score('abc') AS value").single()["value"]

    assert (rows, batch, value) == ([[3]], [[0, 1], [1, 2]], 300)


# Void procedures


@pytest.mark.parametrize("name", ["fn.note", "fn.noteAsync"])
def test_a_void_procedure_does_its_work_alone(session, name):
    """A void procedure called alone gives no rows and no columns, and has done its work."""
    result = session.run(f"CALL {name}('alone')")

    assert (result.keys(), result.values()) == ([], [])
    assert session.run("MATCH (n:Note) RETURN n.text").value() == ["alone"]


def test_a_void_procedure_keeps_the_rows_around_it(session):
    """Inside a query a void procedure runs once for each row, and the rows go on."""
    found = session.run("UNWIND ['a', 'b', 'c'] AS text CALL fn.note(text) RETURN text")

    assert found.value() == ["a", "b", "c"]
    assert session.run("MATCH (n:Note) RETURN count(n) AS n").single()["n"] == 3


def test_a_void_procedure_is_rolled_back_with_its_caller(driver, session):
    """What a void procedure wrote is gone when its caller rolls back."""
    with driver.session() as other, other.begin_transaction() as tx:
        tx.run("CALL fn.note('draft')").consume()
        tx.rollback()

    assert session.run("MATCH (n:Note) RETURN count(n) AS n").single()["n"] == 0


def test_a_void_procedure_tells_its_failure(session):
    """An argument that does not fit is refused by name, as with any procedure."""
    with pytest.raises(ClientError, match="`text`"):
        session.run("CALL fn.note(null)").consume()


# Marks


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("CALL fn.oldScore('a')", "fn.oldScore is deprecated. It is replaced by fn.score."),
        ("RETURN fn.oldTwice(1)", "fn.oldTwice is deprecated. It is replaced by fn.twice."),
        ("CALL fn.oldNote()", "fn.oldNote is deprecated"),
        ("CALL fn.score('a')", None),
        ("RETURN fn.twice(1)", None),
    ],
)
def test_a_driver_is_told_of_what_is_deprecated(session, query, told):
    """A query that calls what is deprecated answers, with a notification that names both."""
    notifications = deprecations(session.run(query))

    assert len(notifications) == (told is not None)
    assert all(told in each for each in notifications)


def test_an_eager_procedure_does_not_meet_its_own_rows(session):
    """Neo4j reads all that comes before an eager procedure before it calls it the first time."""
    session.run("UNWIND range(1, 3) AS n CREATE (:Seed)").consume()

    found = session.run("MATCH (s:Seed) CALL fn.breed() YIELD score RETURN sum(score) AS calls")

    assert found.single()["calls"] == 3


def test_an_administrators_procedure_is_marked_and_answers(session):
    """The mark for administrators is shown; every user of the Community Edition is one."""
    marked = session.run("SHOW PROCEDURES YIELD name, admin WHERE admin RETURN name").value()

    assert "fn.administer" in marked
    assert session.run("CALL fn.administer()").single()["score"] == 0
