"""F7: the way between Neo4j and its sidecar is slow, cuts to pieces, or ends in the middle."""

import time

import pytest
from fix_sidecars import answers, behind_proxy
from fix_waiting import promised, wait_until

TEXT = "Zoë \U0001f600 " * 4_000


@pytest.fixture(scope="module")
def way(server):
    """The one proxy of these tests."""
    with behind_proxy(server) as made:
        yield made


@pytest.fixture
def proxy(way, session, evidence):
    """A proxy with open connections; afterwards it lets everything through."""
    wait_until(lambda: answers(session) and way.connections >= 2)
    yield way
    way.up.heal()
    way.down.heal()
    wait_until(lambda: answers(session))


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_slow_peer_does_not_hold_its_caller(session, evidence, proxy, direction):
    """At one byte a second, either way, the caller has its error a second after its 0.3 s."""
    getattr(proxy, direction).make_slow()

    begun = time.monotonic()
    error = evidence.error("CALL test.brief(0) YIELD value RETURN value, $x", x=evidence.payload)

    assert time.monotonic() - begun < promised(1.3)
    assert "SC-213" in error.message
    assert "`test.brief`" in error.message
    evidence.told_by_plugin("SC-213")


def test_a_slow_handshake_counts_as_the_callers_time(session, evidence, proxy):
    """A sidecar that is slow before the call has begun is unavailable when the time is used up."""
    proxy.drop()
    evidence.told("a sidecar is gone")
    proxy.down.make_slow()

    begun = time.monotonic()
    error = evidence.error("CALL test.brief(0)")

    # Not the 2 s that a handshake may take.
    assert time.monotonic() - begun < min(promised(1.3), 1.9)
    assert "SC-210" in error.message
    evidence.told_by_plugin("SC-210")


@pytest.mark.parametrize("left", [1, 100, 40_000])
def test_half_a_reply_is_no_rows(session, evidence, proxy, left):
    """A connection that ends within a reply is an unknown outcome, however much has come."""

    def cut():
        # Not once: it may be the plugin's report of earlier failures that is cut.
        wait_until(lambda: answers(session) and proxy.connections >= 2)
        proxy.down.left = left

    error = evidence.strike("CALL trouble.big(100000) YIELD value RETURN value", before=cut)

    assert "SC-212" in error.message
    assert "`trouble.big`" in error.message
    evidence.told_by_plugin("SC-212")
    evidence.counted_by_plugin("trouble.big", "SC-212")
    evidence.counted("sidecypher_calls_total", procedure="trouble.big", outcome="ok")


def test_half_a_page_ends_its_stream(session, evidence, proxy):
    """A stream that is cut in a page is an error, not a shorter result; its body is closed."""
    mark = evidence.mark()
    proxy.down.left = 20_000

    error = evidence.error("CALL test.closing($mark) YIELD value RETURN max(value)", mark=mark)

    assert "SC-212" in error.message
    wait_until(lambda: mark in session.run("CALL test.closed()").value())
    evidence.told_by_plugin("SC-212")


@pytest.mark.parametrize("end", ["drop", "reset", "half_close"])
def test_a_way_that_ends_in_a_call_frees_both_sides(session, evidence, proxy, end):
    """However the connections end, the caller hears at once and the body is cancelled."""
    mark = evidence.mark()
    caller = evidence.call("CALL trouble.work($mark)", mark=mark)
    evidence.await_body(mark)

    begun = time.monotonic()
    getattr(proxy, end)()
    caller.join(10)

    assert caller.ended - begun < promised(1.0)
    assert "SC-212" in caller.error.message
    evidence.told_by_plugin("SC-212")
    evidence.logged("call failed", procedure="trouble.work", code="SC-207")
    wait_until(lambda: mark in session.run("CALL trouble.ended()").value())


@pytest.mark.parametrize(("delay", "piece"), [(0.0, 1), (0.0, 7), (0.05, 65536)])
def test_pieces_and_latency_change_nothing(session, proxy, delay, piece):
    """Messages in pieces of a byte, or late ones, are the same messages."""
    for flow in (proxy.up, proxy.down):
        flow.delay, flow.piece = delay, piece

    assert session.run("CALL test.echo($text)", text=TEXT).single()["value"] == TEXT
    query = "CALL test.count(100) YIELD value RETURN collect(value) AS all"
    assert session.run(query).single()["all"] == list(range(100))
