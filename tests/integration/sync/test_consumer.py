"""Events that are published to Redis reach the graph, each once and in order."""

import json
import math
import signal

import pytest
from fix_waiting import promised, wait_until
from integration.sync.carrying import listed_metrics

from sidecypher_procedures.sync.errors import RedisUnavailable
from sidecypher_procedures.sync.streams import (
    dead_key,
    events_key,
    new_event_id,
    parked_key,
    partition_of,
    viewer_key,
)

PARTITIONS = 4


def texts(*numbers):
    return [f"message {number}" for number in numbers]


def stream_of(run):
    return events_key(partition_of(run, PARTITIONS))


def test_published_events_reach_the_graph_in_order(sync):
    """Events of a run are written in the order of publication, also those before a consumer."""
    run, other = sync.new_run(), sync.new_run()
    for number in range(3):
        sync.publish(run, f"message {number}")
    sync.start()
    sync.await_contents(run, texts(0, 1, 2))
    for number in range(3, 6):
        sync.publish(run, f"message {number}")
        sync.publish(other, f"message {number}")
    sync.await_contents(run, texts(0, 1, 2, 3, 4, 5))
    sync.await_contents(other, texts(3, 4, 5))


def test_an_event_that_is_published_twice_is_written_once(sync):
    """A retry of a producer has the same id and changes nothing."""
    run, event_id = sync.new_run(), new_event_id()
    for _ in range(3):
        assert sync.publish(run, "message 0", id=event_id) == event_id
    sync.publish(run, "message 1")
    sync.start()
    sync.await_contents(run, texts(0, 1))
    assert not sync.dead(run)


@pytest.mark.slow
def test_an_event_happened_when_its_id_was_made(sync):
    """An event without `createdAt` gets the time in its id, however late it is written."""
    run = sync.new_run()
    sync.publish(run, "message 0", id="017f22e2-79b0-7cc3-98c4-dc0c0c07398f")
    sync.start()
    sync.await_contents(run, texts(0))
    [event] = sync.runs.call("events", run, {"types": ["userMessage"]})
    assert event["createdAt"].iso_format().startswith("2022-02-22T19:22:22")


def test_viewers_get_the_latest_events_of_a_run(sync):
    """Each run has a stream of its own for those who watch it, which ends by itself."""
    run = sync.new_run()
    sync.publish(run, "message 0")
    [(_, fields)] = sync.redis.xrange(viewer_key(run))
    assert json.loads(fields["event"])["content"] == "message 0"
    assert 0 < sync.redis.ttl(viewer_key(run)) <= 86_400


@pytest.mark.slow
def test_acknowledged_entries_leave_the_streams(sync):
    """What is in the graph and was read by every group is trimmed; other entries stay."""
    run = sync.new_run()
    sync.redis.xgroup_create(stream_of(run), "watchers", id="0", mkstream=True)
    for number in range(3):
        sync.publish(run, f"message {number}")
    sync.start()
    sync.await_contents(run, texts(0, 1, 2))
    for number in range(3, 5):
        sync.publish(run, f"message {number}")
    sync.await_contents(run, texts(0, 1, 2, 3, 4))
    assert sync.redis.xlen(stream_of(run)) == 5
    sync.redis.xreadgroup("watchers", "one", {stream_of(run): ">"}, noack=True)
    # The latest one tells where the group is.
    wait_until(lambda: sync.redis.xlen(stream_of(run)) == 1)


def test_an_event_waits_for_its_parent(sync):
    """An event that came before its parent is written after it, and so is what follows."""
    run, parent = sync.new_run(), new_event_id()
    sync.start()
    sync.publish(run, "message 1", parentIds=[parent])
    sync.publish(run, "message 2")
    number = partition_of(run, PARTITIONS)
    wait_until(lambda: sync.status()[number].pending == 2)
    assert sync.contents(run) == []
    sync.publish(run, "message 0", id=parent)
    sync.await_contents(run, texts(0, 1, 2))


@pytest.mark.slow
def test_a_run_whose_parent_never_comes_is_parked(sync):
    """After `parent_seconds`, the event and what follows it become dead letters."""
    run, other, parent = sync.new_run(), sync.new_run(), new_event_id()
    sync.start(SIDECYPHER_SYNC_PARENT_SECONDS="0.5")
    sync.publish(run, "message 0")
    orphan = sync.publish(run, "message 2", parentIds=[parent])
    behind = sync.publish(run, "message 3")
    sync.publish(other, "message 0")
    wait_until(lambda: len(sync.dead(run)) == 2)
    first, second = sync.dead(run)
    assert (first.event_id, first.code) == (orphan, "SC-904")
    assert (second.event_id, second.code) == (behind, "SC-940")
    sync.await_contents(run, texts(0))
    sync.await_contents(other, texts(0))


@pytest.mark.slow
def test_requeued_letters_are_written_before_newer_events(sync):
    """Letters of a run that was missing are written in order once it exists."""
    run = "not-there-yet"
    sync.start()
    for number in range(3):
        sync.publish(run, f"message {number}")
    wait_until(lambda: len(sync.dead(run)) == 3)
    assert [each.code for each in sync.dead(run)] == ["SC-903", "SC-940", "SC-940"]
    sync.runs.one("create", "test", {"id": run})
    # Still parked: it waits behind the others.
    sync.publish(run, "message 3")
    wait_until(lambda: len(sync.dead(run)) == 4)
    assert sync.command("requeue", run) == {"requeued": 4}
    sync.await_contents(run, texts(0, 1, 2, 3))
    wait_until(lambda: not sync.dead(run))
    sync.publish(run, "message 4")
    sync.await_contents(run, texts(0, 1, 2, 3, 4))


@pytest.mark.slow
def test_a_requeued_event_is_written_behind_its_parent(sync):
    """A parent that came too late is a dead letter behind the event that has waited for it."""
    run, parent = sync.new_run(), new_event_id()
    sync.start(SIDECYPHER_SYNC_PARENT_SECONDS="0")
    sync.publish(run, "message 1", parentIds=[parent])
    wait_until(lambda: sync.dead(run))
    sync.publish(run, "message 0", id=parent)
    wait_until(lambda: len(sync.dead(run)) == 2)
    sync.command("requeue", run)
    sync.await_contents(run, texts(0, 1))


@pytest.mark.slow
def test_a_requeued_event_that_is_refused_again_is_listed_with_the_new_reason(sync):
    """It is tried once; `sync dead` tells why its run is parked now."""
    run = "not-there-yet"
    sync.start()
    taken = sync.publish(run, "message 0")
    wait_until(lambda: sync.dead(run))
    assert sync.dead(run)[0].code == "SC-903"
    sync.runs.one("create", "test", {"id": run})
    sync.runs.one("append", run, {"id": taken, "type": "userMessage", "content": "other content"})
    sync.command("requeue", run)
    wait_until(lambda: sync.dead(run)[0].code == "SC-905")
    assert "other" in sync.dead(run)[0].reason


@pytest.mark.slow
def test_dropped_letters_are_gone_and_the_run_goes_on(sync):
    """One letter is dropped and the others requeued; or all are dropped."""
    run = sync.new_run()
    taken = sync.publish(run, "message 0")
    sync.start()
    sync.await_contents(run, texts(0))
    sync.publish(run, "other content", id=taken)
    sync.publish(run, "message 1")
    wait_until(lambda: len(sync.dead(run)) == 2)
    assert sync.dead(run)[0].code == "SC-905"
    assert sync.command("drop", run, "--event", taken) == {"dropped": 1}
    sync.command("requeue", run)
    sync.await_contents(run, texts(0, 1))
    wait_until(lambda: not sync.dead(run))
    sync.publish(run, "other content", id=taken)
    wait_until(lambda: len(sync.dead(run)) == 1)
    sync.command("drop", run)
    sync.publish(run, "message 2")
    sync.await_contents(run, texts(0, 1, 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "fields",
    [{"colour": "red"}, {"run": "r", "event": "{"}, {"run": "r", "event": '{"type": "status"}'}],
    ids=["other fields", "no JSON", "no id"],
)
def test_a_foreign_entry_becomes_a_dead_letter(sync, fields):
    """What no publisher has written parks no run, and the rest of the stream goes on."""
    run = sync.new_run()
    sync.redis.xadd(stream_of(run), fields)
    sync.publish(run, "message 0")
    sync.start()
    sync.await_contents(run, texts(0))
    [letter] = sync.dead()
    assert letter.run_id is None
    assert letter.reason.startswith(("its event", "it lacks"))
    assert sync.command("drop", "--foreign") == {"dropped": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [{"content": "half of a pair: \ud83d"}, {"metadata": {"n": math.nan}}, {"parentIds": [["a"]]}],
    ids=["half a pair", "not a number", "a list as id"],
)
def test_an_event_that_the_graph_cannot_hold_becomes_a_dead_letter(sync, more):
    """A program in another language parks its run by it, and other runs of the stream go on."""
    run, other = sync.new_run(), sync.new_run()
    while stream_of(other) != stream_of(run):
        other = sync.new_run()
    event = json.dumps({"id": f"of {run}", "type": "userMessage", **more})
    sync.redis.xadd(stream_of(run), {"run": run, "event": event})
    sync.publish(run, "message 0")
    sync.publish(other, "message 0")
    sync.start()
    sync.await_contents(other, texts(0))
    first, second = sync.dead(run)
    assert (first.event_id, second.code) == (f"of {run}", "SC-940")
    [(_, fields)] = sync.redis.xrange(dead_key(partition_of(run, PARTITIONS)), count=1)
    assert fields["event"] == event
    assert sync.command("drop", run, "--event", first.event_id) == {"dropped": 1}
    sync.command("requeue", run)
    sync.await_contents(run, texts(0))


@pytest.mark.slow
def test_an_event_that_a_trigger_refuses_becomes_a_dead_letter(sync, refused_text):
    """What came before it in the batch is written, and other runs of the partition go on."""
    run, other = sync.new_run(), sync.new_run()
    while stream_of(other) != stream_of(run):
        other = sync.new_run()
    for text in ("message 0", refused_text, "message 1"):
        sync.publish(run, text)
    sync.publish(other, "message 0")
    sync.start()
    sync.await_contents(other, texts(0))
    sync.await_contents(run, texts(0))
    wait_until(lambda: len(sync.dead(run)) == 2)
    assert sync.dead(run)[0].reason.endswith(".TransactionHookFailed")
    sync.command("drop", run, "--event", sync.dead(run)[0].event_id)
    sync.command("requeue", run)
    sync.await_contents(run, texts(0, 1))


@pytest.mark.slow
def test_another_consumer_takes_the_partitions_of_a_dead_one(sync):
    """After a kill, the events go on within 5 s, and none is written twice."""
    run = sync.new_run()
    first = sync.start()
    sync.publish(run, "message 0")
    sync.await_contents(run, texts(0))
    sync.start()
    wait_until(lambda: sync.redis.zcard("wf:consumers") == 2)
    first.kill()
    for number in range(1, 4):
        sync.publish(run, f"message {number}")
    sync.await_contents(run, texts(0, 1, 2, 3), seconds=promised(5))


@pytest.mark.slow
def test_a_paused_consumer_writes_nothing_after_its_lease(sync):
    """Whoever goes on after its lease has run out is refused by the epoch in the graph."""
    run = sync.new_run()
    first = sync.start()
    sync.publish(run, "message 0")
    sync.await_contents(run, texts(0))
    first.send_signal(signal.SIGSTOP)
    sync.start()
    for number in range(1, 4):
        sync.publish(run, f"message {number}")
    sync.await_contents(run, texts(0, 1, 2, 3), seconds=promised(5))
    first.send_signal(signal.SIGCONT)
    sync.publish(run, "message 4")
    sync.await_contents(run, texts(0, 1, 2, 3, 4))
    assert first.poll() is None


@pytest.mark.slow
def test_a_paused_consumer_parks_nothing_after_its_lease(sync, paused):
    """A run that can be written by now is not parked by a consumer that could not write it."""
    run = "not-there-yet"
    sync.publish(run, "message 0")
    with paused("_park"):
        sync.runs.one("create", "test", {"id": run})
        sync.start()
        sync.await_contents(run, texts(0))
    sync.publish(run, "message 1")
    sync.await_contents(run, texts(0, 1))
    assert not sync.dead(run)


@pytest.mark.slow
def test_a_paused_consumer_frees_no_run_after_its_lease(sync, paused):
    """A run that another consumer has parked again stays parked: its order would change."""
    run = sync.new_run()
    parked = parked_key(partition_of(run, PARTITIONS))
    sync.redis.hset(parked, run, json.dumps({"event": "dropped", "requeued": True}))
    with paused("_free"):
        sync.start()
        wait_until(lambda: not sync.redis.hexists(parked, run))
        taken = sync.publish(run, "message 0")
        sync.publish(run, "other content", id=taken)
        wait_until(lambda: sync.dead(run))
    sync.publish(run, "message 1")
    wait_until(lambda: len(sync.dead(run)) == 2)
    assert sync.contents(run) == texts(0)


@pytest.mark.slow
def test_events_go_on_after_neo4j_was_away(sync, server):
    """While no sidecar answers, events wait; none becomes a dead letter."""
    run = sync.new_run()
    sync.start()
    sync.publish(run, "message 0")
    sync.await_contents(run, texts(0))
    with server.sidecar_down():
        sync.publish(run, "message 1")
        wait_until(lambda: "sync.away" in sync.log)
    sync.await_contents(run, texts(0, 1))
    assert not sync.dead(run)


@pytest.mark.slow
def test_events_go_on_after_redis_was_away(sync, redis_server):
    """Consumers wait for Redis; what it had confirmed is written."""
    run = sync.new_run()
    sync.start()
    sync.publish(run, "message 0")
    sync.await_contents(run, texts(0))
    sync.publish(run, "message 1")
    redis_server.kill()
    redis_server.start()
    sync.publish(run, "message 2")
    sync.await_contents(run, texts(0, 1, 2))


@pytest.mark.slow
def test_a_consumer_makes_room_in_a_full_redis(sync):
    """Redis may be full because no consumer ran; one that starts then writes what is there."""
    run = sync.new_run()
    sync.publish(run, "message 0")
    sync.redis.config_set("maxmemory", 1)
    try:
        with pytest.raises(RedisUnavailable, match="no memory"):
            sync.publish(run, "message 1")
        sync.start()
        sync.await_contents(run, texts(0))
        wait_until(lambda: all(each.lag == each.pending == 0 for each in sync.status()))
    finally:
        sync.redis.config_set("maxmemory", 0)


def test_the_status_tells_lag_and_owners(sync):
    """The status shows what waits, before and after a consumer has written it."""
    run = sync.new_run()
    number = partition_of(run, PARTITIONS)
    sync.publish(run, "message 0")
    before = sync.status()[number]
    assert (before.lag, before.consumer) == (1, None)
    assert before.oldest_seconds > 0
    sync.start()
    sync.await_contents(run, texts(0))
    wait_until(lambda: sync.status()[number].pending == 0)
    after = sync.status()[number]
    assert (after.lag, after.oldest_seconds) == (0, 0)
    assert after.consumer is not None


def test_commands_print_what_there_is(sync):
    """`sync status` and `sync dead` have a row for each partition and each dead letter."""
    sync.redis.xadd(dead_key(1), {"run": "r", "id": "e", "code": "SC-903", "reason": "none"})
    assert [each["dead"] for each in sync.command("status")] == [0, 1, 0, 0]
    assert sync.command("dead", "--run", "elsewhere") == []
    [letter] = sync.command("dead")
    assert (letter["run_id"], letter["event_id"], letter["code"]) == ("r", "e", "SC-903")


def test_metrics_tell_what_was_written(sync):
    """`/metrics` has every metric of the page, with the numbers of this consumer."""
    run = sync.new_run()
    sync.publish(run, "message 0", id="e1")
    sync.publish(run, "message 0", id="e1")
    sync.start(SIDECYPHER_SYNC_METRICS_PORT="0", SIDECYPHER_LOG_FORMAT="json")
    sync.await_contents(run, texts(0))
    wait_until(lambda: "sidecypher_sync_partition_lag{" in "".join(sync.metrics()))
    found = sync.metrics()
    assert {name.partition("{")[0] for name in found} == listed_metrics("docs/sync.md")
    assert found["sidecypher_sync_written_total"] == 1
    assert found["sidecypher_sync_duplicates_total"] == 1
    assert found["sidecypher_sync_partitions"] == PARTITIONS
