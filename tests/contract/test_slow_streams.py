"""What a caller has of a stream whose next row takes its time, or is an error: the rows before."""

import itertools
import math
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from unittest.mock import Mock

import pytest
from fix_waiting import wait_until

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.calls.executors._pages import Pages
from sidecypher.errors import CallError
from sidecypher.host.limits import Limits
from sidecypher.sdk.call import deadline_exceeded
from sidecypher.transport.memory import Client, memory

START_SECONDS = 120.0
"""For what has to start a worker first: on a busy machine that takes long."""

PAUSES = ["stream.pause", "stream.pauseAsync", "stream.pauseProcess"]
BREAKS = ["stream.breaks", "stream.breaksAsync", "stream.breaksProcess", "stream.breaksList"]
ASKS = ["stream.ask", "stream.askAsync"]


@pytest.fixture(autouse=True)
def _whole_pages():
    """Pages end by their time too."""


@pytest.fixture
def state(stand):
    """What the procedures of `streams.py` have seen in this test."""
    found = stand.state_of("stream.pause")
    found.reset()
    yield found
    wait_until(lambda: stand.dispatcher.calls.stuck == 0)
    stand.workers._crashes.clear()


@pytest.fixture
def gate(tmp_path):
    """A file that lets bodies go on, in other processes too."""
    path = tmp_path / "gate"
    yield path
    path.touch()


@pytest.fixture
def workers(stand):
    """A worker that is ready, so that a call has all of its time."""
    stand.workers.start()
    wait_until(lambda: stand.workers._idle, START_SECONDS)


@pytest.fixture
def background():
    with ThreadPoolExecutor(2) as pool:
        yield pool.submit


def values(rows):
    return [value for [value] in rows]


@pytest.mark.usefixtures("workers", "state")
@pytest.mark.parametrize("name", PAUSES)
@pytest.mark.parametrize("count", [1, 20])
def test_rows_come_before_the_next_one_is_made(client, gate, name, count):
    """Rows that are there are sent though the body works on; then the others, each once."""
    stream = client.rows(name, count, str(gate))

    before = values(itertools.islice(stream, count))
    was_closed = not gate.exists()
    gate.touch()
    after = values(stream)

    assert was_closed
    assert before + after == list(range(2 * count))


@pytest.mark.usefixtures("workers", "state")
@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.parametrize("count", [1, 5, 40])
def test_rows_before_an_error_come_before_it(client, name, count):
    """An error comes after every row that was made before it."""
    got = []
    with pytest.raises(CallError) as caught:
        got.extend(client.rows(name, count))

    assert caught.value.code == ("SC-205" if name == "stream.breaksList" else "test.broken")
    assert values(got) == list(range(count))


@pytest.mark.usefixtures("workers", "state")
@pytest.mark.parametrize("name", BREAKS)
def test_who_reads_no_further_sees_no_error(stand, client, name):
    """An error behind the last row that is wanted is nobody's."""
    stream = client.rows(name, 5)

    assert values(itertools.islice(stream, 3)) == [0, 1, 2]
    stream.close()
    wait_until(lambda: len(stand.dispatcher.calls) == 0)


@pytest.mark.parametrize(
    ("name", "code"), [("stream.breaksWriting", "test.broken"), ("stream.breaksInCypher", "SC-206")]
)
@pytest.mark.not_over_http("it has no transaction")
def test_what_loses_the_transaction_comes_before_the_rows(client, monkeypatch, name, code):
    """A procedure that writes, or whose statement failed, sends no rows with its error to come."""
    monkeypatch.setattr(
        "sidecypher.calls.executors.execution.Pages", partial(Pages, flush_seconds=math.inf)
    )
    with pytest.raises(CallError) as caught:
        next(client.rows(name, 5))

    assert caught.value.code == code


@pytest.mark.not_over_http("it has no transaction")
@pytest.mark.parametrize("name", ASKS)
def test_a_statement_between_two_pages_waits_for_the_next(client, transaction, state, gate, name):
    """`ctx.run` reaches the transaction only while the caller waits for rows."""
    stream = client.rows(name, str(gate))
    assert next(stream) == [0]
    gate.touch()
    assert state.asking.wait(10)
    asked_before = list(transaction.asked)

    assert values(stream) == [1]
    assert asked_before == []
    assert len(transaction.asked) == 1


@pytest.mark.not_over_http("it has no transaction")
@pytest.mark.parametrize("name", ASKS)
def test_a_statement_that_waits_for_a_page_ends_with_the_call(
    client, transaction, state, gate, name
):
    """A body whose statement waits between two pages ends when nobody wants another page."""
    stream = client.rows(name, str(gate))
    assert next(stream) == [0]
    gate.touch()
    assert state.asking.wait(10)

    stream.close()

    assert state.ended.wait(10)
    assert state.seen in (["CallCancelled"], ["CancelledError"])
    assert transaction.asked == []


@pytest.mark.not_over_http("it closes its connection, which is noticed later")
@pytest.mark.parametrize("name", ["stream.spin", "stream.pauseAsync"])
def test_a_body_that_works_ahead_is_ended_with_its_call(stand, client, state, gate, name):
    """`LIMIT 1` has its row at once, and ends a body that would never make another."""
    stream = client.rows(name, *([1, str(gate)] if name == "stream.pauseAsync" else []))
    assert next(stream) == [0]

    stream.close()

    assert state.ended.wait(10)
    assert state.seen in (["CallInterrupted"], ["CancelledError"])
    wait_until(lambda: len(stand.dispatcher.calls) == 0)


@pytest.mark.usefixtures("workers", "state")
def test_a_worker_that_works_ahead_is_ended_with_its_call(stand, client, gate):
    """So it is with a worker process, which is killed."""
    restarts = stand.workers.restarts
    stream = client.rows("stream.pauseProcess", 1, str(gate))
    assert next(stream) == [0]

    stream.close()

    wait_until(lambda: stand.workers.restarts > restarts)


def test_a_row_that_cannot_be_sent_ends_a_body_that_works_ahead(stand, client, state):
    """An error of the rows that are sent ends the body, which works on the next one."""
    with pytest.raises(CallError):
        list(client.rows("stream.wrongAsync"))

    assert state.ended.wait(10)
    assert state.seen == ["CancelledError"]
    wait_until(lambda: not stand.dispatcher.calls.running())


@pytest.mark.usefixtures("workers", "state")
def test_a_page_that_cannot_be_sent_ends_a_worker_that_works_ahead(
    stand, client, gate, monkeypatch
):
    """So it is with a worker process, which is killed, for example when the deadline passes."""
    restarts = stand.workers.restarts
    monkeypatch.setattr(
        Dispatcher, "_size", Mock(side_effect=deadline_exceeded("stream.pauseProcess"))
    )
    with pytest.raises(CallError):
        list(client.rows("stream.pauseProcess", 1, str(gate)))

    wait_until(lambda: stand.workers.restarts > restarts)


@pytest.mark.not_over_http("it closes its connection, which is noticed later")
def test_a_body_that_reaches_its_next_row_is_closed_there(client, state, gate, monkeypatch):
    """Of a call that is over a body may make one more row; then its generator is closed."""
    monkeypatch.setattr("sidecypher.calls._reaper.INTERRUPT_SECONDS", 60.0)
    stream = client.rows("stream.pause", 1, str(gate))
    assert next(stream) == [0]

    stream.close()
    gate.touch()

    assert state.ended.wait(10)
    assert state.seen == ["GeneratorExit"]


@pytest.mark.parametrize("name", ["stream.spin", "stream.pauseAsync"])
def test_a_body_that_works_ahead_has_a_lease(stand, state, gate, name):
    """When nobody asks for its next row, a body is ended by the lease as one that waits is."""
    dispatcher, signatures = stand.further(stand.loaded.registry, Limits(lease_seconds=0.05))
    client = Client(memory(dispatcher), signatures)
    stream = client.rows(name, *([1, str(gate)] if name == "stream.pauseAsync" else []))
    assert next(stream) == [0]

    wait_until(lambda: dispatcher.calls.expire() or state.ended.is_set())

    with pytest.raises(CallError) as caught:
        next(stream)
    assert caught.value.code == "SC-221"
    wait_until(lambda: dispatcher.calls.stuck == 0)


def test_no_time_is_counted_between_two_pages(stand, state, gate):
    """A body that works ahead is not late because its caller takes long to ask."""
    client = Client(memory(stand.dispatcher), stand.signatures, timeout=1.0)
    stream = client.rows("stream.check", str(gate))
    assert next(stream) == [0]
    late = time.monotonic() + 1.2
    wait_until(lambda: time.monotonic() > late)
    assert not state.ended.is_set()

    gate.touch()

    assert values(stream) == [1]


@pytest.mark.usefixtures("state")
def test_a_body_that_works_ahead_meets_its_deadline_in_the_next_page(stand, gate, background):
    """Who asks for the row that a body is at waits for it no longer than there is time."""
    client = Client(memory(stand.dispatcher), stand.signatures, timeout=0.2)
    stream = client.rows("stream.pause", 1, str(gate))
    assert next(stream) == [0]

    with pytest.raises(CallError) as caught:
        background(next, stream).result(10)

    assert caught.value.code == "SC-213"


@pytest.mark.usefixtures("state")
def test_a_stream_comes_without_a_thread_of_its_own_too(client, gate, monkeypatch):
    """Where the machine has no room for a thread, rows come all the same."""

    def refuse(_work):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(
        "sidecypher.host.threads.SpareThreads.run", lambda _self, work: refuse(work)
    )
    gate.touch()

    assert values(client.rows("stream.pause", 20, str(gate))) == list(range(40))
