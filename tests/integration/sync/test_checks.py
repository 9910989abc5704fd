"""What `sidecypher doctor` says about Redis."""

from datetime import UTC, datetime, timedelta

import pytest

from sidecypher import CannotCheck
from sidecypher_procedures.sync.checks import CHECKS
from sidecypher_procedures.sync.streams import dead_key


class Graph:
    """A graph with these changes in its outbox."""

    def __init__(self, *moments):
        self._rows = [{"at": each} for each in moments]

    def call_in_neo4j(self, name, *arguments):
        assert (name, arguments) == ("sidecypher.changes", (0, {"limit": 1}))
        return self._rows


def look(name, graph=Graph()):
    [check] = [each for each in CHECKS if each.name == name]
    return check.look(graph)


@pytest.fixture
def named(redis_server, monkeypatch):
    """The address of Redis is set, as an operator does it."""
    monkeypatch.setenv("SIDECYPHER_REDIS_URL", redis_server.url)
    return redis_server.client


@pytest.mark.parametrize("name", [each.name for each in CHECKS])
def test_without_an_address_there_is_nothing_to_check(monkeypatch, name):
    """Who uses no Redis gets no warning."""
    monkeypatch.delenv("SIDECYPHER_REDIS_URL", raising=False)
    assert look(name).state == "OK"


@pytest.mark.usefixtures("named")
def test_an_empty_redis_that_keeps_all_is_fine():
    """It answers, nothing is dead, and it has the clock of this machine."""
    states = {name: look(name).state for name in ("connection", "dead letters", "clock")}
    assert set(states.values()) == {"OK"}, states


def test_what_waits_without_a_consumer_is_told(named):
    """Events that nobody reads are a warning, with the command to run."""
    named.xadd("wf:events:0", {"run": "r", "event": "{}"})
    found = look("lag")
    assert found.state == "WARN"
    assert found.found.startswith("1 events wait")
    assert "sidecypher sync run" in found.fix


def test_lag_is_told_although_a_consumer_runs(named):
    """An event that is older than a minute is a warning; newer ones are not."""
    named.set("wf:lease:0", "somebody")
    named.xadd("wf:events:0", {"run": "r", "event": "{}"})
    assert look("lag").state == "OK"
    named.delete("wf:events:0")
    named.xadd("wf:events:0", {"run": "r", "event": "{}"}, id="1-0")
    assert look("lag").state == "WARN"


def test_dead_letters_are_told(named):
    """Each dead letter is counted, and so are the parked runs."""
    named.xadd(dead_key(1), {"run": "r"})
    named.hset("wf:parked:1", "r", "{}")
    found = look("dead letters")
    assert (found.state, found.found) == ("WARN", "1 events, 1 runs are parked")


def test_a_redis_that_is_away_is_an_error(monkeypatch):
    """The first check fails with its code, and the others cannot be made."""
    monkeypatch.setenv("SIDECYPHER_REDIS_URL", "unix:///nowhere/redis.sock")
    found = look("connection")
    assert found.state == "ERROR"
    assert "[SC-942]" in found.found
    with pytest.raises(CannotCheck):
        look("lag")


def test_a_change_that_waits_for_long_is_told():
    """Nobody publishes or removes the changes: a warning, with the ways to go on."""
    now = datetime.now(UTC)
    assert look("changes").state == "OK"
    assert look("changes", Graph(now)).state == "OK"
    found = look("changes", Graph(now - timedelta(hours=1)))
    assert found.state == "WARN"
    assert found.found == "the oldest change waits for 3600 s"
    assert "sidecypher.dropChanges" in found.fix
