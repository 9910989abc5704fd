"""`runs.follow` on a real Neo4j: new events arrive, nothing is held up, and the wait ends."""

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor

import neo4j
import pytest
from fix_waiting import wait_until
from neo4j.exceptions import ClientError, Neo4jError

FOLLOW = "CALL runs.follow($run, $options) YIELD seq, event RETURN seq, event.content AS content"
LONG = {"waitMs": 30_000}
RUNNING = "CALL sidecypher.running() YIELD name WHERE name = 'runs.follow' RETURN count(*)"


@contextlib.contextmanager
def soon():
    """What happens here takes much less time than the call would wait."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < LONG["waitMs"] / 1000 - 5


def at_once(runs, run, **options):
    """Follow a run that has something to tell, or nothing to wait for."""
    with soon():
        return runs.call("follow", run, {**LONG, **options})


@pytest.fixture
def follow(driver):
    """Follow a run in a transaction of another session, on another thread."""

    def call(run, options):
        with driver.session() as session, soon():
            return session.run(FOLLOW, run=run, options=options).data()

    with ThreadPoolExecutor(1) as pool:
        yield lambda run, **options: pool.submit(call, run, {**LONG, **options})


@pytest.fixture
def followed(follow, session):
    """Follow a run; return once the call waits."""

    def begin(run, **options):
        waiting = follow(run, **options)
        wait_until(lambda: session.run(RUNNING).single().value())
        return waiting

    return begin


def test_what_is_there_already_comes_at_once(runs):
    """Without new events the call waits; with events behind the cursor it does not."""
    run = runs.new()
    for number in range(3):
        runs.append(run, content=str(number))

    assert [row["seq"] for row in at_once(runs, run, cursor=1)] == [2, 3]
    assert [row["seq"] for row in at_once(runs, run, limit=2)] == [1, 2]
    first = at_once(runs, run, limit=1, types=["status"])
    assert first == runs.call("events", run, {"limit": 1})


def test_a_new_event_ends_the_wait(runs, followed):
    """The follower gets what another transaction has committed after its own has begun."""
    run = runs.new()
    runs.append(run)
    waiting = followed(run, cursor=1)
    runs.append(run, content="new")

    assert waiting.result() == [{"seq": 2, "content": "new"}]


def test_events_of_other_types_do_not_end_the_wait(runs, followed):
    """Only a wanted event does, or the end of the run."""
    run = runs.new()
    waiting = followed(run, types=["assistant_message"])
    runs.append(run, content="not this")
    runs.append(run, "llmResponse", content="this")
    assert waiting.result() == [{"seq": 2, "content": "this"}]

    waiting = followed(run, cursor=2, types=["assistant_message"])
    runs.append(run, "workflowCompleted")
    assert waiting.result() == []


def test_the_last_event_of_a_run_is_told(runs, followed):
    """The event that ends a run comes as any other; behind it there is nothing to wait for."""
    run = runs.new()
    waiting = followed(run)
    runs.append(run, "workflowCompleted", content="done")

    assert waiting.result() == [{"seq": 1, "content": "done"}]
    assert at_once(runs, run, cursor=1) == []


def test_the_wait_ends_with_the_run(runs, followed):
    """A run that is not there has no events to wait for, nor one that is deleted meanwhile."""
    assert at_once(runs, "none") == []
    run = runs.new()
    waiting = followed(run)
    runs.session.run("MATCH (r:WorkflowRun {id: $run}) DELETE r", run=run).consume()

    assert waiting.result() == []


def test_no_row_comes_when_the_time_is_over(runs):
    """Not before the time that is given, and without an error."""
    run = runs.new()
    started = time.monotonic()

    assert runs.call("follow", run, {"waitMs": 300}) == []
    assert time.monotonic() - started >= 0.3


def test_what_is_not_committed_is_not_told(runs, driver):
    """A follower neither sees what may be rolled back nor waits for its writer's lock."""
    run = runs.new()
    with driver.session() as other, other.begin_transaction() as transaction:
        transaction.run("CALL runs.append($run, {type: 'status'})", run=run).consume()
        assert runs.call("follow", run, {"waitMs": 300}) == []
        transaction.rollback()
    assert runs.call("follow", run, {"waitMs": 0}) == []


def test_one_transaction_sees_each_commit_of_others(runs, driver):
    """Neo4j reads what is committed, also in a transaction that has begun before."""
    run = runs.new()
    with driver.session() as other, other.begin_transaction() as transaction:
        for seq in range(1, 4):
            options = {"cursor": seq - 1, "waitMs": 0}
            assert transaction.run(FOLLOW, run=run, options=options).data() == []
            runs.append(run, content=str(seq))
            found = transaction.run(FOLLOW, run=run, options=options).data()
            assert found == [{"seq": seq, "content": str(seq)}]


def test_the_wait_ends_with_its_transaction(runs, session):
    """A transaction that has less time than the wait ends it, and the error says so."""
    query = neo4j.Query(FOLLOW, timeout=1)

    with soon(), pytest.raises(Neo4jError, match=r"SC-213.*`runs.follow`"):
        session.run(query, run=runs.new(), options=LONG).data()


def test_a_terminated_transaction_ends_the_wait(runs, followed, session):
    """The caller is told, and no call is left."""
    waiting = followed(runs.new())
    session.run(
        "SHOW TRANSACTIONS YIELD transactionId, currentQuery "
        "WHERE currentQuery STARTS WITH 'CALL runs.follow' "
        "TERMINATE TRANSACTIONS transactionId YIELD message RETURN message"
    ).consume()

    with pytest.raises(Neo4jError):
        waiting.result()
    wait_until(lambda: not session.run(RUNNING).single().value())


def test_a_fork_is_followed_from_what_it_shares(runs, followed):
    """Shared events come first; then only those that are appended to the fork."""
    run = runs.new()
    runs.append(run, content="shared")
    fork = runs.one("fork", run, 1)["id"]
    assert [row["seq"] for row in at_once(runs, fork)] == [1]

    waiting = followed(fork, cursor=1)
    runs.append(run, content="of the other")
    runs.append(fork, content="of the fork")
    assert waiting.result() == [{"seq": 2, "content": "of the fork"}]


@pytest.mark.parametrize("wait", [-1, 30_001, 1.5, "1"])
def test_a_wait_has_limits(runs, wait):
    """The error names the option."""
    with pytest.raises(ClientError, match=r"SC-204.*`options.waitMs`"):
        runs.call("follow", runs.new(), {"waitMs": wait})
