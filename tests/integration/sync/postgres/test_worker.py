"""Events of the outbox reach the graph, each once and in order."""

import asyncio
import contextlib
import json
import signal

import psycopg
import pytest
from fix_waiting import promised, wait_until
from integration.sync.carrying import listed_metrics

from sidecypher_procedures.sync.errors import InvalidEvent
from sidecypher_procedures.sync.postgres.outbox import PostgresOutbox
from sidecypher_procedures.sync.streams import new_event_id

EVENT = {"type": "userMessage", "content": "message 0"}


def texts(*numbers):
    return [f"message {number}" for number in numbers]


def insert(outbox, run, body, event_id="e1"):
    """Add a row as a program of another language does, or a person by hand."""
    outbox.postgres.run(
        "INSERT INTO sidecypher.outbox (run_id, event_id, body) VALUES (%s, %s, %s)",
        *(run, event_id, body),
    )


def test_added_events_reach_the_graph_in_order(outbox):
    """Events of a run are written in the order of their addition, also those before a worker."""
    run, other = outbox.new_run(), outbox.new_run()
    outbox.add(run, *texts(0, 1, 2))
    outbox.start()
    outbox.await_contents(run, texts(0, 1, 2))
    for number in range(3, 6):
        outbox.add(run, f"message {number}")
        outbox.add(other, f"message {number}")
    outbox.await_contents(run, texts(0, 1, 2, 3, 4, 5))
    outbox.await_contents(other, texts(3, 4, 5))
    wait_until(lambda: not outbox.rows())


def test_an_event_is_announced(outbox):
    """A notification wakes the worker long before it would look by itself."""
    run = outbox.new_run()
    outbox.start(SIDECYPHER_POSTGRES_POLL_SECONDS="60")
    wait_until(lambda: "sync.started" in outbox.log)
    outbox.add(run, "message 0")
    outbox.await_contents(run, texts(0), seconds=promised(5))


@pytest.mark.slow
def test_an_event_is_found_without_a_notification(outbox):
    """Without the trigger, as behind a pooler, the worker looks by itself."""
    run = outbox.new_run()
    outbox.postgres.run("DROP TRIGGER outbox_added ON sidecypher.outbox")
    outbox.start()
    wait_until(lambda: "sync.started" in outbox.log)
    outbox.add(run, "message 0")
    outbox.await_contents(run, texts(0))


def test_what_is_rolled_back_is_not_written(outbox):
    """An event is part of the transaction of its program."""
    run = outbox.new_run()
    outbox.start()
    with (
        contextlib.suppress(ZeroDivisionError),
        psycopg.connect(outbox.postgres.url) as conn,
    ):
        PostgresOutbox().add(conn, run, EVENT)
        raise ZeroDivisionError
    outbox.add(run, "message 1")
    outbox.await_contents(run, texts(1))


def test_a_late_commit_is_not_lost(outbox):
    """An event with a lower number that is committed after a higher one is written, too."""
    run, other = outbox.new_run(), outbox.new_run()
    outbox.start()
    with psycopg.connect(outbox.postgres.url) as conn:
        PostgresOutbox().add(conn, run, EVENT)
        outbox.add(other, "message 1")
        outbox.await_contents(other, texts(1))
        assert outbox.contents(run) == []
    outbox.await_contents(run, texts(0))


def test_async_programs_add_the_same(outbox):
    """With an async connection, the same method is awaited."""

    async def added():
        async with await psycopg.AsyncConnection.connect(outbox.postgres.url) as conn:
            return await PostgresOutbox().add(conn, "r", {**EVENT, "id": "e1"})

    assert asyncio.run(added()) == "e1"
    assert [row["event_id"] for row in outbox.rows("r")] == ["e1"]


@pytest.mark.slow
def test_an_event_that_is_added_twice_is_written_once(outbox):
    """A retry of a program has the same id and changes nothing, before and after the write."""
    run, event_id = outbox.new_run(), new_event_id()
    for _ in range(2):
        assert outbox.add(run, "message 0", id=event_id) == event_id
    outbox.start()
    outbox.await_contents(run, texts(0))
    outbox.add(run, "message 0", id=event_id)
    outbox.add(run, "message 1")
    outbox.await_contents(run, texts(0, 1))
    assert not outbox.dead()


def test_an_id_of_another_event_is_refused(outbox):
    """While the outbox has an event, its id cannot be given to another one."""
    outbox.add("r", "message 0", id="e1")
    with pytest.raises(InvalidEvent, match="e1"):
        outbox.add("r", "message 1", id="e1")
    with pytest.raises(InvalidEvent, match="e1"):
        outbox.add("other", "message 0", id="e1")


@pytest.mark.slow
def test_what_jsonb_would_change_arrives_as_it_was(outbox):
    """Large floats stay floats, and a text may hold a zero character."""
    run = outbox.new_run()
    outbox.start()
    with psycopg.connect(outbox.postgres.url) as conn:
        event = {**EVENT, "content": "a\0b", "metadata": {"x": 1e22, "y": -0.0}}
        PostgresOutbox().add(conn, run, event)
    wait_until(lambda: outbox.contents(run))
    [row] = outbox.runs.call("events", run, {"types": ["userMessage"]})
    assert row["event"]["content"] == "a\0b"
    assert row["event"]["metadata"] == {"x": 1e22, "y": -0.0}
    assert isinstance(row["event"]["metadata"]["x"], float)


def test_an_event_waits_for_its_parent(outbox):
    """An event that came before its parent is written after it, and so is what follows."""
    run, parent = outbox.new_run(), new_event_id()
    outbox.start()
    outbox.add(run, "message 1", parentIds=[parent])
    outbox.add(run, "message 2")
    query = "SELECT waiting_since FROM sidecypher.outbox WHERE waiting_since IS NOT NULL"
    wait_until(lambda: outbox.postgres.run(query))
    assert outbox.contents(run) == []
    outbox.add(run, "message 0", id=parent)
    outbox.await_contents(run, texts(0, 1, 2))


@pytest.mark.slow
def test_a_run_whose_parent_never_comes_is_parked(outbox):
    """After `parent_seconds`, the event is a dead letter, and what follows it waits behind it."""
    run, other, parent = outbox.new_run(), outbox.new_run(), new_event_id()
    outbox.start(SIDECYPHER_SYNC_PARENT_SECONDS="0.5")
    outbox.add(run, "message 0")
    orphan = outbox.add(run, "message 2", parentIds=[parent])
    outbox.add(run, "message 3")
    outbox.add(other, "message 0")
    [letter] = outbox.await_dead(1)
    assert (letter["event_id"], letter["code"], letter["behind"]) == (orphan, "SC-904", 1)
    outbox.await_contents(run, texts(0))
    outbox.await_contents(other, texts(0))


@pytest.mark.slow
def test_requeued_events_are_written_before_newer_ones(outbox):
    """Events of a run that was missing are written in order once it exists."""
    run = "not-there-yet"
    outbox.start()
    outbox.add(run, *texts(0, 1))
    [letter] = outbox.await_dead(1)
    assert (letter["run_id"], letter["code"], letter["behind"]) == (run, "SC-903", 1)
    outbox.runs.one("create", "test", {"id": run})
    # Still parked: it waits behind the others.
    outbox.add(run, "message 2")
    wait_until(lambda: outbox.status()["behind"] == 2)
    assert outbox.contents(run) == []
    assert outbox.command("requeue", run) == {"requeued": 3}
    outbox.await_contents(run, texts(0, 1, 2))
    outbox.add(run, "message 3")
    outbox.await_contents(run, texts(0, 1, 2, 3))
    assert outbox.fail("requeue", run).returncode == 1


@pytest.mark.slow
def test_a_dropped_letter_lets_the_run_go_on(outbox):
    """Without its dead letter, what waited behind it is written; or all is dropped."""
    run = outbox.new_run()
    taken = outbox.add(run, "message 0")
    outbox.start()
    outbox.await_contents(run, texts(0))
    wait_until(lambda: not outbox.rows(run))
    outbox.add(run, "other content", id=taken)
    outbox.add(run, "message 1")
    assert outbox.await_dead(1)[0]["code"] == "SC-905"
    assert outbox.command("drop", run, "--event", taken) == {"dropped": 1}
    outbox.await_contents(run, texts(0, 1))
    wait_until(lambda: not outbox.rows(run))
    outbox.add(run, "other content", id=taken)
    outbox.add(run, "message 2")
    outbox.await_dead(1)
    wait_until(lambda: outbox.status()["behind"] == 1)
    assert outbox.command("drop", run) == {"dropped": 2}
    outbox.add(run, "message 3")
    outbox.await_contents(run, texts(0, 1, 3))
    assert outbox.fail("drop", run).returncode == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("[]", "no JSON object|not a JSON object"),
        ('{"id": "e2", "type": "status"}', "`id` of its event"),
        ('{"type": "status", "createdAt": "yesterday"}', "not a time"),
        ('{"type": "nothing"}', "no type of events"),
        ('{"type": "status", "content": 7}', "content"),
        (json.dumps({"type": "status", "content": "x" * 16_000_000}), "16000"),
        (json.dumps({"type": "status", "content": "x" * 2_000_000}), "2000000 bytes"),
        ("[" * 6000 + "]" * 6000, "not JSON"),
        (json.dumps({"type": "status", "content": "half of a pair: \ud83d"}), "surrogate"),
        (json.dumps({"type": "status", "metadata": {"n": 2**64}}), "64 bits"),
        ('{"type": "status", "metadata": ' + '{"a":' * 900 + "7" + "}" * 901, "its values|deep"),
        ('{"type": "status", "parentIds": [["a"]]}', "parentIds"),
    ],
    ids=[
        *("no object", "other id", "no time", "no type", "no text", "16 MB", "2 MB", "deep"),
        *("half a pair", "65 bits", "900 levels", "a list as id"),
    ],
)
def test_a_row_that_is_no_event_becomes_a_dead_letter(outbox, body, reason):
    """What no publisher has written parks its run only, and other runs go on."""
    run, other = outbox.new_run(), outbox.new_run()
    outbox.add(run, "message 0")
    insert(outbox, run, body)
    outbox.add(run, "message 1")
    outbox.add(other, "message 0")
    outbox.start()
    outbox.await_contents(other, texts(0))
    [letter] = outbox.await_dead(1)
    assert letter["behind"] == 1
    assert any(each in letter["reason"] for each in reason.split("|")), letter
    outbox.await_contents(run, texts(0))
    assert outbox.command("drop", run, "--event", "e1") == {"dropped": 1}
    outbox.await_contents(run, texts(0, 1))


@pytest.mark.slow
def test_an_event_that_a_trigger_refuses_becomes_a_dead_letter(outbox, refused_text):
    """What came before it in the batch is written, and other runs go on."""
    run, other = outbox.new_run(), outbox.new_run()
    outbox.add(run, "message 0", refused_text, "message 1")
    outbox.add(other, "message 0")
    outbox.start()
    outbox.await_contents(other, texts(0))
    outbox.await_contents(run, texts(0))
    [letter] = outbox.await_dead(1)
    assert letter["reason"].endswith(".TransactionHookFailed")
    assert outbox.command("drop", run, "--event", letter["event_id"]) == {"dropped": 1}
    outbox.await_contents(run, texts(0, 1))


@pytest.mark.slow
def test_later_events_do_not_shorten_the_pause_of_a_refused_one(outbox, refused_text):
    """An event is tried again after its pause, which doubles, whatever comes behind it."""
    run = outbox.new_run()
    outbox.add(run, refused_text)
    query = "SELECT attempts, extract(epoch FROM next_at)::float8 AS due FROM sidecypher.outbox"
    due = {}
    outbox.start()
    while len(due) < 4:
        outbox.add(run, "message 1")
        tried, until = outbox.postgres.run(f"{query} ORDER BY id LIMIT 1")[0].values()
        due |= {tried: until} if tried else {}
    assert due[2] - due[1] >= 1.0
    assert due[3] - due[2] >= 2.0
    assert due[4] - due[3] >= 4.0


@pytest.mark.slow
def test_a_dead_letter_stays_dead_when_an_earlier_event_waits(outbox):
    """An event that was added before it, and is committed later, waits without waking it."""
    run = outbox.new_run()
    outbox.start()
    with psycopg.connect(outbox.postgres.url) as conn:
        PostgresOutbox().add(conn, run, {**EVENT, "parentIds": ["missing"]})
        insert(outbox, run, "[]")
        outbox.await_dead(1)
    waiting = "SELECT id FROM sidecypher.outbox WHERE waiting_since IS NOT NULL"
    wait_until(lambda: outbox.postgres.run(waiting))
    woken = "SELECT id FROM sidecypher.outbox WHERE dead_at IS NOT NULL AND next_at < 'infinity'"
    assert not outbox.postgres.run(woken)


@pytest.mark.slow
def test_a_program_without_python_adds_rows(outbox):
    """A row without `id` in its body gets that of its column."""
    run = outbox.new_run()
    outbox.start()
    insert(outbox, run, json.dumps(EVENT), "made by SQL")
    outbox.await_contents(run, texts(0))
    [row] = outbox.runs.call("events", run, {"types": ["userMessage"]})
    assert row["id"] == "made by SQL"


@pytest.mark.slow
def test_two_workers_share_the_outbox(outbox):
    """Each event is written once and in order, whichever worker gets it."""
    runs = [outbox.new_run() for _ in range(8)]
    workers = [outbox.start(SIDECYPHER_SYNC_BATCH="7") for _ in range(2)]
    wait_until(lambda: outbox.status()["workers"] == 2)
    for number in range(30):
        for run in runs:
            outbox.add(run, f"message {number}")
    for run in runs:
        outbox.await_contents(run, texts(*range(30)))
    assert all(worker.poll() is None for worker in workers)
    assert not outbox.dead()


@pytest.mark.slow
def test_a_row_that_another_program_holds_keeps_its_place(outbox):
    """While somebody else has locked an event, those behind it wait, and other runs go on."""
    run, other = outbox.new_run(), outbox.new_run()
    outbox.add(run, *texts(0, 1, 2))
    with psycopg.connect(outbox.postgres.url) as conn:
        held = outbox.rows(run)[1]["id"]
        conn.execute("SELECT id FROM sidecypher.outbox WHERE id = %s FOR UPDATE", [held])
        outbox.start()
        outbox.add(other, "message 0")
        outbox.await_contents(other, texts(0))
        outbox.await_contents(run, texts(0))
    outbox.await_contents(run, texts(0, 1, 2))


@pytest.mark.slow
def test_events_go_on_after_a_worker_was_paused_while_it_wrote(outbox, driver):
    """PostgreSQL frees what a paused worker has locked, and keeps it for one that waits."""
    run = outbox.new_run()
    waiting = """
        SELECT count(*) AS workers FROM pg_stat_activity
        WHERE application_name = 'sidecypher worker' AND state = 'idle in transaction'
            AND clock_timestamp() - xact_start > '2 s'
    """
    first = outbox.start(SIDECYPHER_SYNC_LEASE_SECONDS="1")
    with driver.session() as holder, holder.begin_transaction() as writing:
        writing.run("MATCH (r:WorkflowRun {id: $run}) SET r.held = true", run=run).consume()
        outbox.add(run, "message 0")
        wait_until(lambda: outbox.postgres.run(waiting)[0]["workers"])
        first.send_signal(signal.SIGSTOP)
    outbox.start()
    outbox.add(run, "message 1")
    outbox.await_contents(run, texts(0, 1))
    first.send_signal(signal.SIGCONT)
    outbox.add(run, "message 2")
    outbox.await_contents(run, texts(0, 1, 2))
    assert first.poll() is None


@pytest.mark.slow
def test_events_go_on_after_neo4j_was_away(outbox, server):
    """While no sidecar answers, events wait; none becomes a dead letter, and nothing is locked."""
    run = outbox.new_run()
    outbox.start()
    outbox.add(run, "message 0")
    outbox.await_contents(run, texts(0))
    with server.sidecar_down():
        outbox.add(run, "message 1")
        wait_until(lambda: "sync.away" in outbox.log)
        assert outbox.status()["waiting"] == 1
    outbox.await_contents(run, texts(0, 1))
    assert not outbox.dead()


@pytest.mark.slow
def test_the_status_tells_what_waits(outbox):
    """The status shows events and workers, before and after they were written."""
    run = outbox.new_run()
    outbox.add(run, "message 0")
    before = outbox.status()
    assert (before["waiting"], before["workers"]) == (1, 0)
    assert before["oldest_seconds"] > 0
    outbox.start()
    outbox.await_contents(run, texts(0))
    wait_until(lambda: outbox.status()["waiting"] == 0)
    after = outbox.status()
    assert (after["oldest_seconds"], after["workers"]) == (0, 1)


@pytest.mark.slow
def test_metrics_tell_what_was_written_and_what_waits(outbox):
    """`/metrics` has every metric of the page, with the numbers of this worker and the outbox."""
    run = outbox.new_run()
    outbox.add(run, "message 0")
    outbox.add("missing", "message 1")
    outbox.start(SIDECYPHER_POSTGRES_METRICS_PORT="0", SIDECYPHER_LOG_FORMAT="json")
    outbox.await_dead(1)
    outbox.await_contents(run, texts(0))
    wait_until(lambda: outbox.metrics().get("sidecypher_postgres_outbox_dead"))
    found = outbox.metrics()
    assert found.keys() == listed_metrics("docs/postgres.md")
    assert found["sidecypher_postgres_written_total"] == 1
    assert found["sidecypher_postgres_dead_total"] == 1
    assert found["sidecypher_postgres_outbox_waiting"] == 0
    assert found["sidecypher_postgres_outbox_workers"] == 1


def test_a_worker_ends_in_order(outbox):
    """SIGTERM ends a worker at once while it has nothing to do."""
    worker = outbox.start(SIDECYPHER_POSTGRES_POLL_SECONDS="60")
    wait_until(lambda: outbox.status()["workers"] == 1)
    worker.terminate()
    assert worker.wait(promised(5)) == 0
    assert "sync.stopped" in outbox.log
