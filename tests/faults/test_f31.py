"""F31: a stream whose next row never comes, or is an error."""

import pytest
from fix_waiting import wait_until


@pytest.mark.parametrize("name", ["trouble.oneRow", "trouble.oneRowAsync"])
def test_limit_has_the_row_that_is_there(session, evidence, name):
    """`LIMIT 1` gives the row that was made, and ends a body that makes no other."""
    mark = evidence.mark()

    found = session.run(f"CALL {name}($mark) YIELD value RETURN value LIMIT 1", mark=mark)

    assert found.value() == [0]
    wait_until(lambda: mark in session.run("CALL trouble.ended()").value())


def test_limit_has_the_row_that_a_worker_has_made(session):
    """So it is with a worker process."""
    found = session.run("CALL trouble.oneRowProcess() YIELD value RETURN value LIMIT 1")

    assert found.value() == [0]


@pytest.mark.parametrize("name", ["trouble.oneRow", "trouble.oneRowAsync"])
def test_who_wants_the_next_row_waits_no_longer_than_there_is_time(evidence, name):
    """Without `LIMIT` the same call ends by its deadline."""
    error = evidence.error(f"CALL {name}($mark)", mark=evidence.mark())

    assert "[SC-213]" in error.message


@pytest.mark.parametrize(("wanted", "rows"), [(3, [0, 1, 2]), (5, [0, 1, 2, 3, 4])])
def test_limit_before_an_error_does_not_see_it(session, wanted, rows):
    """Rows 0 to 4, then an error: who wants five at most gets them, as of a Java procedure."""
    found = session.run(
        "CALL test.failLate(5) YIELD value RETURN value LIMIT $wanted", wanted=wanted
    )

    assert found.value() == rows


def test_who_wants_more_rows_gets_the_error(evidence):
    """The error comes with the row that would have followed."""
    error = evidence.error("CALL test.failLate(5) YIELD value RETURN value LIMIT 6")

    assert "The stream broke" in error.message


def test_exists_is_true_of_a_row_before_an_error(session):
    """`EXISTS` asks for one row."""
    found = session.run("RETURN EXISTS { CALL test.failLate(2) YIELD value RETURN value } AS is")

    assert found.value() == [True]
