"""The queue of deliveries, with a stand-in for Neo4j that does what a test wants."""

import asyncio
from datetime import UTC, datetime

import pytest
from fix_waiting import awaited, wait_until

from sidecypher import CypherError, Neo4jUnavailable
from sidecypher_procedures.github.webhooks import inbox as module
from sidecypher_procedures.github.webhooks.inbox import Delivery, Inbox

AWAY = Neo4jUnavailable("Neo4j cannot be reached", retryable=True)
AGAIN = Neo4jUnavailable(
    "Neo4j asks to try again", retryable=True, details={"neo4jCode": "Neo.TransientError.x"}
)
UNUSABLE = Neo4jUnavailable("`neo4j_uri` cannot be used")
FAILED = CypherError("[runs.x] no", neo4j_code="Neo.ClientError.Procedure.ProcedureCallFailed")
NO_SIDECAR = CypherError(
    "[SC-210] no sidecar", neo4j_code="Neo.ClientError.Procedure.ProcedureCallFailed"
)
ENDED = CypherError("[SC-207] it stops", neo4j_code="Neo.ClientError.Procedure.ProcedureCallFailed")
QUOTED = CypherError(
    "Node(1) already exists with `title` = '[SC-210]'",
    neo4j_code="Neo.ClientError.Schema.ConstraintValidationFailed",
)
TOO_LATE = CypherError(
    "The transaction has been terminated",
    neo4j_code="Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
)


class Graph:
    """Stands in for Neo4j: fails with `errors` in turn, and otherwise keeps what it is told.

    What is in `blocked` fails with its error for as long as it is there.
    """

    def __init__(self, *errors):
        self.errors = list(errors)
        self.blocked = {}
        self.asked = []
        self.written = []
        self.open = asyncio.Event()
        self.open.set()

    async def run(self, _cypher, **params):
        await self.open.wait()
        await asyncio.sleep(0)  # as what answers over a network
        self.asked.append(params["id"])
        if self.errors:
            raise self.errors.pop(0)
        if params["id"] in self.blocked:
            raise self.blocked[params["id"]]
        self.written.append(params["id"])


class Request:
    """A request of the sidecar that has this graph, and a log that is kept."""

    def __init__(self, graph):
        self.log = self
        self.lines = []
        self._graph = graph

    def resource(self, _kind):
        return self._graph

    def error(self, event, **facts):
        self.lines.append((event, facts))

    warning = error


def delivery(name, size=2):
    return Delivery(name, "issues", b"x" * size, datetime(2026, 1, 2, tzinfo=UTC))


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch):
    monkeypatch.setattr(module, "_SHORTEST_PAUSE", 0.0)


async def until(condition):
    """Wait for what the inbox does."""
    await asyncio.to_thread(wait_until, condition)


async def emptied(inbox):
    """Wait until all that the inbox took is written or given up."""
    await inbox._work


@awaited
async def test_deliveries_are_written_in_order():
    """One after the other, as they came."""
    graph, inbox = Graph(), Inbox()

    assert all(inbox.put(delivery(name), Request(graph)) for name in "abc")
    await emptied(inbox)

    assert graph.written == ["a", "b", "c"]


@awaited
async def test_it_goes_on_after_it_was_empty():
    """What comes later is written too."""
    graph, inbox = Graph(), Inbox()
    for name in "ab":
        inbox.put(delivery(name), Request(graph))
        await emptied(inbox)

    assert graph.written == ["a", "b"]


@awaited
async def test_a_delivery_that_waits_is_not_taken_twice():
    """Sent again before it was written, it is written once; sent again later, the graph knows."""
    graph, inbox = Graph(), Inbox()

    assert all(inbox.put(delivery("a"), Request(graph)) for _ in range(3))
    await emptied(inbox)

    assert graph.written == ["a"]


@pytest.mark.parametrize(
    "error",
    [AWAY, NO_SIDECAR, ENDED, TOO_LATE],
    ids=["no Neo4j", "no sidecar", "sidecar stops", "too late"],
)
@awaited
async def test_what_may_heal_is_tried_again(error):
    """A delivery is tried until it is written, and those behind it keep their order."""
    graph, inbox = Graph(error, error), Inbox()
    for name in "ab":
        inbox.put(delivery(name), Request(graph))

    await emptied(inbox)

    assert graph.written == ["a", "b"]


@pytest.mark.parametrize(
    "error",
    [FAILED, QUOTED, UNUSABLE, ValueError("data")],
    ids=["failed", "quoted", "unusable", "any"],
)
@awaited
async def test_what_cannot_heal_is_given_up_and_told(error):
    """Such a delivery holds up none behind it; the log names it and the code, not the text."""
    graph, inbox = Graph(error), Inbox()
    request = Request(graph)
    for name in "ab":
        inbox.put(delivery(name), request)

    await emptied(inbox)

    assert graph.written == ["b"]
    [(event, facts)] = request.lines
    assert event == "webhook given up"
    assert (facts["delivery"], facts["webhook"]) == ("a", "issues")
    assert facts["reason"] in {
        "SC-605",
        QUOTED.neo4j_code,
        "Neo.ClientError.Procedure.ProcedureCallFailed",
        "ValueError",
    }


@pytest.mark.parametrize("error", [AGAIN, ENDED, TOO_LATE], ids=["again", "stops", "too late"])
@awaited
async def test_one_that_fails_again_and_again_lets_the_others_go_first(error):
    """After three failures a delivery goes behind all that wait, and is written when it can be."""
    graph, inbox = Graph(), Inbox()
    graph.blocked["a"] = error
    for name in "abc":
        inbox.put(delivery(name), Request(graph))

    await until(lambda: graph.written == ["b", "c"])
    assert graph.asked[:5] == ["a", "a", "a", "b", "c"]
    inbox.put(delivery("d"), Request(graph))
    await until(lambda: graph.written == ["b", "c", "d"])
    del graph.blocked["a"]
    await emptied(inbox)

    assert graph.written == ["b", "c", "d", "a"]


@awaited
async def test_what_comes_does_not_wait_for_one_that_is_not_due(monkeypatch):
    """A delivery that went behind the others waits alone, however long its pause is."""
    for name in ("_SHORTEST_PAUSE", "LONGEST_PAUSE"):
        monkeypatch.setattr(module, name, 1000.0)
    monkeypatch.setattr(module, "MOST_FAILURES", 1)
    graph, inbox = Graph(AGAIN), Inbox()
    request = Request(graph)
    inbox.put(delivery("a"), request)
    await until(lambda: request.lines)

    inbox.put(delivery("b"), request)
    await until(lambda: graph.written == ["b"])

    assert graph.asked == ["a", "b"]
    inbox._work.cancel()


@pytest.mark.parametrize("error", [AWAY, NO_SIDECAR], ids=["no Neo4j", "no sidecar"])
@awaited
async def test_while_nobody_can_write_the_order_stays(error):
    """Nothing is held against a delivery that nobody has tried to write."""
    graph, inbox = Graph(*[error] * 20), Inbox()
    for name in "abc":
        inbox.put(delivery(name), Request(graph))

    await emptied(inbox)

    assert graph.written == ["a", "b", "c"]


@awaited
async def test_one_that_lets_others_go_first_is_given_up_in_time(monkeypatch):
    """Its time counts from its first try, and ends also when it is the only one."""
    graph, inbox = Graph(), Inbox()
    graph.blocked["a"] = AGAIN
    request = Request(graph)
    inbox.put(delivery("a"), request)
    await until(lambda: len(graph.asked) >= 10)

    inbox._waiting["a"].end = 0.0
    await emptied(inbox)

    assert request.lines[-1][0] == "webhook given up"
    assert inbox.put(delivery("b", module.MOST_BYTES), request)
    await emptied(inbox)


@awaited
async def test_waiting_has_an_end(monkeypatch):
    """After its time a delivery is given up, also when Neo4j is still away."""
    monkeypatch.setattr(module, "KEEP_SECONDS", 0.0)
    graph, inbox = Graph(AWAY), Inbox()
    request = Request(graph)
    inbox.put(delivery("a"), request)

    await emptied(inbox)

    assert [event for event, _ in request.lines] == ["webhook given up"]


@awaited
async def test_only_so_many_deliveries_wait():
    """The next one is refused, until one of them is written."""
    graph, inbox = Graph(), Inbox()
    graph.open.clear()
    request = Request(graph)
    names = [str(number) for number in range(module.MOST_DELIVERIES)]
    assert all(inbox.put(delivery(name), request) for name in names)

    assert not inbox.put(delivery("late"), request)
    assert inbox.put(delivery(names[-1]), request)

    graph.open.set()
    await emptied(inbox)
    assert graph.written == names
    assert inbox.put(delivery("late"), request)
    await emptied(inbox)


@awaited
async def test_only_so_many_bytes_wait():
    """Large deliveries fill the queue sooner, and free it again."""
    graph, inbox = Graph(), Inbox()
    graph.open.clear()
    request = Request(graph)

    assert inbox.put(delivery("large", module.MOST_BYTES), request)
    assert not inbox.put(delivery("small"), request)
    graph.open.set()
    await emptied(inbox)

    assert inbox.put(delivery("small"), request)
    await emptied(inbox)


@awaited
async def test_a_drained_inbox_writes_what_it_has_and_takes_no_more():
    """After a reload the old inbox ends in order, and the new one takes what comes."""
    graph, inbox = Graph(), Inbox()
    inbox.put(delivery("a"), Request(graph))

    await inbox.drain()

    assert graph.written == ["a"]
    assert not inbox.put(delivery("b"), Request(graph))


@awaited
async def test_what_is_drained_waits_no_longer(monkeypatch):
    """What waited to be tried again is tried at once, each delivery once; the rest is told."""
    for name in ("_SHORTEST_PAUSE", "LONGEST_PAUSE"):
        monkeypatch.setattr(module, name, 1000.0)
    graph, inbox = Graph(AWAY), Inbox()
    graph.blocked["b"] = AGAIN
    request = Request(graph)
    for name in "abc":
        inbox.put(delivery(name), request)
    await until(lambda: request.lines)

    await inbox.drain()

    assert graph.asked == ["a", "a", "b", "c"]
    assert graph.written == ["a", "c"]
    assert request.lines[-1] == ("webhooks lost", {"deliveries": 1})


@awaited
async def test_an_inbox_without_neo4j_is_drained_at_once():
    """Nothing can be written, and the log tells how many are lost."""
    graph, inbox = Graph(*[AWAY] * 1000), Inbox()
    request = Request(graph)
    for name in "abc":
        inbox.put(delivery(name), request)

    await inbox.drain()

    assert request.lines[-1] == ("webhooks lost", {"deliveries": 3})


@awaited
async def test_what_is_lost_is_told():
    """An inbox that is stopped while Neo4j says nothing tells how many it has not written."""
    graph, inbox = Graph(), Inbox()
    graph.open.clear()
    request = Request(graph)
    for name in "ab":
        inbox.put(delivery(name), request)
    await asyncio.sleep(0)

    await inbox.stop()

    assert request.lines == [("webhooks lost", {"deliveries": 2})]


@awaited
async def test_an_inbox_that_took_nothing_stops():
    """There is nothing to wait for."""
    await Inbox().drain()
    await Inbox().stop()
