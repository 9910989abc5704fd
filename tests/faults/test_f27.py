"""F27: writing statements return more records than Neo4j's heap holds."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j.exceptions import Neo4jError

WIDE = "CALL test.runWide($records, 10000, $read) YIELD value RETURN value"
TOO_MANY = 200_000
"""2 GB of records; the heap has 512 MB."""


def written(session):
    return session.run("MATCH (n:Written) RETURN count(n) AS n").single()["n"]


def refused(session):
    with pytest.raises(Neo4jError, match=r"\[SC-216\].*`test.runWide`.*without RETURN"):
        session.run(WIDE, records=TOO_MANY, read=1).consume()


def test_a_statement_with_too_many_records_fails_alone(session, evidence):
    """It ends in an error that says what to do, and nothing of it stays; calls go on."""
    refused(session)

    assert written(session) == 0
    assert session.run("CALL test.echo('on')").single()["value"] == "on"


@pytest.mark.slow
def test_many_such_statements_at_a_time_leave_neo4j_alive(driver, session, evidence):
    """All of them share what there is, and other calls are served meanwhile."""

    def call(_number):
        with driver.session() as own:
            refused(own)

    with ThreadPoolExecutor(6) as threads:
        calls = [threads.submit(call, number) for number in range(6)]
        while not all(each.done() for each in calls):
            assert session.run("CALL test.echo('on')").single()["value"] == "on"
        for each in calls:
            each.result()
    assert written(session) == 0


def test_the_memory_of_records_is_given_back(session, evidence):
    """After errors, and after calls that read all or few of their records, there is room again."""
    refused(session)

    # Each takes 80 of 128 MB.
    for read in (1, 4000, 1, 4000):
        assert session.run(WIDE, records=4000, read=read).single()["value"] == read

    assert written(session) == 4
