"""Counting the graph, with a stand-in for Neo4j."""

import threading

import pytest

from sidecypher import counting
from sidecypher.counting import GraphCounter
from sidecypher.errors import Neo4jUnavailable
from sidecypher.metrics import GraphSize
from sidecypher.settings import load_settings


class Silent:
    """A connection to a Neo4j that does not answer for long."""

    def __init__(self, _address):
        self.asked, self.answers, self.closed = (threading.Event() for _ in range(3))

    def run(self, *_):
        self.asked.set()
        self.answers.wait(60)
        raise Neo4jUnavailable("no answer")

    def close(self):
        self.closed.set()


@pytest.fixture
def neo4j(monkeypatch):
    made = Silent(None)
    monkeypatch.setattr(counting, "BoltConnection", lambda _address: made)
    return made


def test_a_sidecar_that_ends_waits_for_no_count(neo4j, tmp_path):
    """A connection is not closed under a statement; whoever stops does not wait until it ends."""
    counter = GraphCounter(load_settings({"home": tmp_path}, {}), GraphSize())
    counter.refresh()
    neo4j.asked.wait(30)

    counter.stop()
    assert not neo4j.closed.is_set()

    neo4j.answers.set()
    assert neo4j.closed.wait(30)


def test_a_counter_that_rests_is_closed_at_once(neo4j, tmp_path):
    """Nothing is asked after a stop."""
    counter = GraphCounter(load_settings({"home": tmp_path}, {}), GraphSize())
    counter.stop()
    counter.refresh()

    assert neo4j.closed.is_set()
    assert not neo4j.asked.is_set()
