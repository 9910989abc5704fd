"""F18: nobody wants the rest of the rows."""

import pytest
from fix_waiting import wait_until


@pytest.fixture
def is_closed(session):
    """Tell whether the generator with a mark was closed."""
    return lambda mark: mark in session.run("CALL test.closed()").value()


def test_limit_closes_a_long_generator(session, evidence, is_closed):
    """`LIMIT 1` costs one page, and the body's `finally` runs."""
    mark = evidence.mark()

    found = session.run("CALL test.closing($mark) YIELD value RETURN value LIMIT 1", mark=mark)

    assert found.value() == [0]
    wait_until(lambda: is_closed(mark))


def test_an_abandoned_stream_closes_its_generator(driver, evidence, is_closed):
    """A client that reads one record of an endless stream and goes leaves no generator."""
    mark = evidence.mark()
    with driver.session(fetch_size=1) as reader:
        found = reader.run("CALL test.closing($mark) YIELD value RETURN value", mark=mark)
        assert next(found)["value"] == 0

    wait_until(lambda: is_closed(mark))


def test_an_error_beside_a_stream_closes_its_generator(evidence, is_closed):
    """When the query fails for another reason, the generator is closed too."""
    mark = evidence.mark()

    error = evidence.error(
        "CALL test.closing($mark) YIELD value RETURN 1 / (value - 10)", mark=mark
    )

    assert "/ by zero" in error.message
    wait_until(lambda: is_closed(mark))
