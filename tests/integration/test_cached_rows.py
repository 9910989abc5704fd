"""Rows that Neo4j keeps and gives again, on a real server."""

import os
import uuid
from concurrent.futures import ThreadPoolExecutor

import neo4j
import pytest
from fix_waiting import wait_until
from neo4j.exceptions import Neo4jError

CHANGES = 10 * int(os.environ.get("SIDECYPHER_TEST_CALLS", "500"))

CACHED = "CALL cached.{}($key) YIELD calls RETURN calls"
TAGGED = "CALL cached.tagged($key, $seconds, $tags) YIELD calls RETURN calls"


@pytest.fixture
def key():
    """A key that no other test uses."""
    return uuid.uuid4().hex


def calls(session, name, key, **more):
    """Call a procedure; return how often its function has been called with this key."""
    return session.run(CACHED.format(name), key=key, **more).single(strict=True)["calls"]


def tagged(session, key, seconds=60.0, tags=()):
    found = session.run(TAGGED, key=key, seconds=seconds, tags=list(tags))
    return found.single(strict=True)["calls"]


def test_a_row_is_given_again_without_a_call(session, key):
    """A call with equal arguments is answered by Neo4j; one with others is not."""
    found = session.run(
        "UNWIND range(1, 1000) AS i CALL cached.plain($key) YIELD calls "
        "RETURN collect(DISTINCT calls) AS calls",
        key=key,
    )

    assert found.single()["calls"] == [1]
    assert calls(session, "plain", f"{key}x") == 1
    assert calls(session, "plain", key) == 1


def test_rows_end_with_their_time(session, key):
    """A row is given until its time has passed, not longer; 0 seconds is not at all."""
    assert tagged(session, key, 0.3) == 1
    wait_until(lambda: tagged(session, key, 0.3) > 1)

    assert [tagged(session, f"{key}x", 0.0) for _ in range(3)] == [1, 2, 3]


@pytest.mark.slow
def test_the_next_call_after_an_invalidation_sees_the_new_data(driver, session):
    """Of a number that changes all the time, no read is older than the change before it.

    Queries change and read in turns; meanwhile another session reads, and never sees the number
    become less.
    """
    query = """
        UNWIND range($first, $last) AS n
        CALL cached.changeNumber(n)
        CALL cached.number() YIELD calls AS seen
        WITH n, seen WHERE seen <> n
        RETURN count(*) AS stale
    """

    def change():
        # A transaction has a minute, so each makes a thousand changes.
        return sum(
            session.run(query, first=first, last=first + 999).single()["stale"]
            for first in range(1, CHANGES, 1000)
        )

    session.run("CALL cached.changeNumber(0)").consume()
    seen = []
    with ThreadPoolExecutor() as threads, driver.session() as other:
        changing = threads.submit(change)
        while not changing.done():
            found = other.run("CALL cached.number() YIELD calls RETURN calls").single()
            seen.append(found["calls"])

    assert changing.result() == 0
    assert seen == sorted(seen)
    assert len(set(seen)) > 1


def test_a_tag_makes_its_rows_void(session, key):
    """Rows with one of the tags are void; rows without stay."""

    def both():
        return [tagged(session, each, tags=["any", each]) for each in (f"{key}/1", f"{key}/2")]

    assert both() == [1, 1]
    session.run("CALL cached.invalidate([$tag])", tag=f"{key}/1").consume()
    assert both() == [2, 1]
    session.run("CALL cached.invalidate(['any'])").consume()
    assert both() == [3, 2]


@pytest.mark.parametrize("name", ["fromGraph", "failing"])
def test_what_depends_on_the_graph_and_errors_are_not_kept(session, key, name):
    """A function that used `ctx.run` is called each time, and one that failed is called again."""
    for number in (1, 2):
        if name == "failing":
            with pytest.raises(Neo4jError, match="SC-"):
                calls(session, name, key)
        else:
            assert calls(session, name, key) == number

    assert calls(session, name, key) == 3
    assert calls(session, name, key) == (3 if name == "failing" else 4)


def test_only_rows_of_one_page_are_kept(session, key):
    """A page of rows is kept together; the function of more rows is called each time."""
    statement = "CALL cached.many($key, $rows) YIELD calls RETURN calls, count(*) AS rows"

    def twice(rows):
        return [session.run(statement, key=f"{key}{rows}", rows=rows).values() for _ in range(2)]

    assert twice(0) == [[], []]
    assert twice(1000) == [[[1, 1000]], [[1, 1000]]]
    assert twice(1001) == [[[1, 1001]], [[2, 1001]]]


def test_a_node_is_never_kept(session):
    """An entity belongs to its transaction, so its row is not given to another one."""
    statement = "MERGE (n:Kept) WITH n CALL cached.any(n) YIELD value, calls RETURN value, calls"

    first, second = (session.run(statement).single() for _ in range(2))

    assert second["calls"] == first["calls"] + 1
    assert second["value"].labels == {"Kept"}


@pytest.mark.parametrize(
    "value",
    [
        1,
        1.0,
        True,
        "1",
        None,
        [1],
        [1.0],
        {"a": 1},
        {"a": 1.0},
        "",
        [],
        {},
        0.0,
        -0.0,
        float("inf"),
    ],
    ids=repr,
)
def test_arguments_are_compared_by_type_and_value(session, value, key):
    """Equal values of other types are other arguments, and the row has the type of its own."""
    statement = "CALL cached.any($value) YIELD value, calls RETURN value, calls"

    first, second = (session.run(statement, value=[key, value]).single() for _ in range(2))

    assert second["calls"] == first["calls"]
    assert repr(second["value"]) == repr([key, value])


def test_rows_of_a_user_are_not_given_to_another(server, driver, session, key):
    """Each user gets rows of calls of their own, unless the procedure keeps them for all."""
    session.run(f"CREATE USER u{key} SET PASSWORD 'secret-{key}' CHANGE NOT REQUIRED").consume()
    auth = (f"u{key}", f"secret-{key}")
    try:
        with (
            neo4j.GraphDatabase.driver(server.facts["bolt"], auth=auth) as others,
            others.session() as other,
        ):
            assert [calls(each, "plain", key) for each in (session, other, session)] == [1, 2, 1]
            key += "x"
            assert [calls(each, "forAll", key) for each in (session, other, session)] == [1, 1, 1]
    finally:
        session.run(f"DROP USER {auth[0]}").consume()


def test_rows_of_a_worker_process_are_kept(session, key):
    """A long computation is done once."""
    assert [calls(session, "worker", key) for _ in range(3)] == [1, 1, 1]


def test_a_worker_process_invalidates(session, key):
    """`invalidate` works there too."""
    tagged(session, key, tags=[key])
    session.run("CALL cached.invalidateInWorker([$tag])", tag=key).consume()

    assert tagged(session, key, tags=[key]) == 2


@pytest.mark.slow
def test_kept_rows_are_given_while_no_sidecar_runs(server, session, key):
    """Without a sidecar kept rows are still given; a new sidecar makes all of them void."""
    assert (tagged(session, key, 0.0), calls(session, "plain", key)) == (1, 2)
    with server.sidecar_down():
        assert calls(session, "plain", key) == 2
        with pytest.raises(Neo4jError, match="SC-210"):
            calls(session, "plain", f"{key}x")

    # A new process counts from 1.
    assert calls(session, "plain", key) == 1


def test_what_is_kept_is_counted(session, key):
    """`sidecypher.cache` lists hits, misses, entries and bytes of a procedure."""
    statement = (
        "CALL sidecypher.cache() YIELD procedure, hits, misses, entries, bytes "
        "WHERE procedure = 'cached.onlyCounted' RETURN hits, misses, entries, bytes"
    )

    def counts():
        found = session.run(statement).single()
        return found.values() if found else [0, 0, 0, 0]

    before = counts()
    for _ in range(3):
        calls(session, "onlyCounted", key)

    wanted = [before[0] + 2, before[1] + 1, before[2] + 1]
    wait_until(lambda: counts()[:3] == wanted)
    assert 400 < counts()[3] - before[3] < 2000


def test_all_can_be_cleared(session, key):
    """`sidecypher.clearCache` makes every row void."""
    calls(session, "plain", key)
    session.run("CALL sidecypher.clearCache()").consume()

    assert calls(session, "plain", key) == 2
