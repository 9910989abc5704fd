"""One run at a time changes a schema, and one that crashed does not block for ever."""

import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_waiting import wait_until

from sidecypher_schema import clean, connect, migrate
from sidecypher_schema.errors import GraphUnavailable, LockHeld, LockLost, StatementFailed
from sidecypher_schema.lock import held

TAKE_OVER = "MATCH (l:__SidecypherMigrationLock) SET l.token = 'another'"


@pytest.fixture
def graph(driver, session):
    return connect(driver)


def test_who_holds_the_lock_is_told(server, graph, own):
    """The second run says whose the first one is and until when, and changes nothing."""
    own({"migrations/V1__a.cypher": "CREATE (:Own)"})
    with held(graph):
        done = server.command("migrate", "--folder", str(own.folder))

    assert done.returncode == 1
    assert "SC-706" in done.stderr
    told = r"of \S+, process \d+ is in progress, at least until \d{4}-\d\d-\d\dT"
    assert re.search(told, done.stderr)
    assert graph.run("MATCH (n:Own) RETURN n") == []


@pytest.mark.slow
def test_a_second_run_waits(driver, graph, own):
    """With `wait` it goes on as soon as the lock is free, and finds what is left to do."""
    scripts = own({"migrations/V1__a.cypher": "CREATE (:Own)"})
    # It is not renewed while the test lasts, so that only who waits asks.
    with ThreadPoolExecutor(1) as thread, held(graph, lease=3600):
        graph.run("MATCH (l:__SidecypherMigrationLock) REMOVE l.asked")
        waiting = thread.submit(migrate, driver, scripts, wait=60)
        wait_until(lambda: waiting.done() or _asked(graph))

        assert not waiting.done()
        assert "own" not in _targets(graph)

    assert [script.version for script, _ in waiting.result().applied] == ["1"]


def test_two_runs_at_once_apply_each_script_once(server, graph, own):
    """Of two processes one applies the scripts, and the other finds nothing left."""
    own({f"migrations/V{n}__a.cypher": f"CREATE (:Own {{key: {n}}})" for n in range(1, 4)})
    command = ("migrate", "--folder", str(own.folder), "--wait", "60", "--json")
    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(lambda _: server.command(*command), range(2)))

    assert [each.returncode for each in done] == [0, 0], [each.stderr for each in done]
    assert sorted(len(json.loads(each.stdout)["applied"]) for each in done) == [0, 3]
    assert graph.run("MATCH (n:Own) RETURN count(n) AS n") == [{"n": 3}]


def test_many_that_wait_take_turns(driver, graph, own):
    """Whoever waits while a holder lets go takes the lock for good, or waits on."""
    scripts = own(
        {f"migrations/V{n}__a.cypher": f"CREATE (:Own {{key: {n}}})" for n in range(1, 4)}
    )
    with ThreadPoolExecutor(6) as threads:
        found = [threads.submit(migrate, driver, scripts, wait=120) for _ in range(6)]

    assert sum(len(each.result().applied) for each in found) == 3
    assert graph.run("MATCH (n:Own) RETURN count(n) AS n") == [{"n": 3}]


def test_the_lock_of_a_holder_that_crashed_runs_out(driver, graph, own):
    """A lock that nobody renews is free at the end of its lease, and not before."""
    graph.run(
        "CREATE (:__SidecypherMigrationLock {name: 'migrate', token: 'gone', holder: 'a ghost', "
        "until: datetime.realtime() + duration({hours: 1})})"
    )
    scripts = own({"migrations/V1__a.cypher": "CREATE (:Own)"})
    with pytest.raises(LockHeld, match="a ghost"):
        migrate(driver, scripts)
    graph.run("MATCH (l:__SidecypherMigrationLock) SET l.until = l.until - duration({hours: 2})")

    assert len(migrate(driver, scripts).applied) == 1


@pytest.mark.slow
def test_a_long_statement_keeps_the_lock(graph):
    """While a holder is at work the lease is renewed, however long it takes."""
    with held(graph, lease=10):
        first = _until(graph)
        wait_until(lambda: _until(graph) > first)

        with pytest.raises(LockHeld), held(graph):
            pass


def test_a_holder_whose_lock_was_taken_writes_nothing(driver, graph, own):
    """When another run has begun, the data of this one is rolled back and not recorded."""
    scripts = own(
        {
            "migrations/V1__a.cypher": "CREATE (:Own {key: 1})",
            "migrations/V2__b.cypher": "CREATE (:Own {key: 2})",
        }
    )

    def take_over(script, statement):
        if script.version == "2":
            graph.run(TAKE_OVER)

    with pytest.raises(LockLost):
        migrate(driver, scripts, before_each=take_over)

    assert graph.run("MATCH (n:Own) RETURN n.key AS key") == [{"key": 1}]
    graph.run("MATCH (l:__SidecypherMigrationLock) DELETE l")


def test_a_holder_that_was_held_up_asks_whose_the_lock_is(graph):
    """While half a lease is left nobody is asked; after that a lock that was taken is lost."""
    with held(graph, lease=3600) as lock:
        graph.run(TAKE_OVER)
        lock.confirm()

        lock.renewed -= 1800
        with pytest.raises(LockLost):
            lock.confirm()
        lock.renewed += 3600
        with pytest.raises(LockLost):
            lock.confirm()

    graph.run("MATCH (l:__SidecypherMigrationLock) DELETE l")


def test_a_failure_frees_the_lock(driver, graph, own):
    """A run that failed leaves no lock behind."""
    with pytest.raises(StatementFailed):
        migrate(driver, own({"migrations/V1__a.cypher": "RETURN 1 / 0"}))

    assert graph.run("MATCH (l:__SidecypherMigrationLock) RETURN l") == []


def test_a_failure_is_told_also_when_the_lock_cannot_be_freed(server, graph):
    """What went wrong first is raised, not that the connection was gone when the lock was freed."""
    with (
        server.driver() as lost,
        pytest.raises(StatementFailed, match="the first"),
        held(connect(lost)),
    ):
        _fail_without(lost)

    graph.run("MATCH (l:__SidecypherMigrationLock) DELETE l")


def test_a_lock_that_cannot_be_freed_is_told(server, graph):
    """A run that has done everything still says that the next one has to wait."""
    with server.driver() as lost, pytest.raises(GraphUnavailable), held(connect(lost)):
        lost.close()

    graph.run("MATCH (l:__SidecypherMigrationLock) DELETE l")


def test_cleaning_leaves_what_keeps_the_lock_single(driver, graph, own):
    """Without its constraint two runs that take the lock at once would make two locks."""
    clean(driver, own({"migrations/V1__a.cypher": "CREATE (:Own)"}))

    found = graph.run("SHOW CONSTRAINTS YIELD name WHERE name CONTAINS 'lock' RETURN name")
    assert found == [{"name": "sidecypher_migration_lock"}]


def _fail_without(connection):
    connection.close()
    raise StatementFailed("the first")


def _targets(graph):
    found = graph.run("MATCH (n:__Neo4jMigration) RETURN n.migrationTarget AS target")
    return [row["target"] for row in found]


def _asked(graph):
    [row] = graph.run("MATCH (l:__SidecypherMigrationLock) RETURN l.asked AS asked")
    return row["asked"]


def _until(graph):
    [row] = graph.run("MATCH (l:__SidecypherMigrationLock) RETURN l.until AS until")
    return row["until"]
