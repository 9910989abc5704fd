"""Counting the graph, with a stand-in for Neo4j."""

import threading

import pytest
from fix_waiting import wait_until

from sidecypher import counting
from sidecypher.counting import GraphCounter
from sidecypher.errors import Neo4jUnavailable
from sidecypher.metrics import GraphSize
from sidecypher.settings import load_settings


class Silent:
    """A connection to a Neo4j that does not answer, until it is closed."""

    def __init__(self, _address):
        self.asked, self.closed = threading.Event(), threading.Event()
        self.ended = []

    def run(self, *_):
        self.asked.set()
        self.ended.append(self.closed.wait(60))
        raise Neo4jUnavailable("closed")

    def close(self):
        self.closed.set()


@pytest.fixture
def neo4j(monkeypatch):
    made = Silent(None)
    monkeypatch.setattr(counting, "BoltConnection", lambda _address: made)
    # Longer than the stand-in waits: who waits for Neo4j finds that it has given up.
    monkeypatch.setattr(counting, "PATIENCE_SECONDS", 120.0)
    return made


def test_a_sidecar_that_ends_waits_for_no_count(neo4j, tmp_path):
    """The connection is closed under a statement that Neo4j does not answer."""
    counter = GraphCounter(load_settings({"home": tmp_path}, {}), GraphSize())
    counter.refresh()
    neo4j.asked.wait(30)

    counter.stop()

    wait_until(lambda: neo4j.ended == [True])
