"""How much is in the graph, in `/metrics`."""

import pytest
from fix_waiting import wait_until
from prometheus_client import CollectorRegistry

from sidecypher import bolt, counting
from sidecypher.counting import GraphCounter
from sidecypher.errors import Neo4jUnavailable
from sidecypher.metrics import GraphSize
from sidecypher.settings import load_settings


@pytest.fixture
def counter_of(monkeypatch):
    """Make a counter that may ask at once again, and what reads its metrics."""
    monkeypatch.setattr(counting, "REFRESH_SECONDS", 0.0)
    made = []

    def make(**flags):
        size, registry = GraphSize(), CollectorRegistry()
        registry.register(size)
        counter = GraphCounter(load_settings(flags, {}), size)
        size.refresh = counter.refresh
        made.append(counter)

        def read():
            samples = (sample for metric in registry.collect() for sample in metric.samples)
            return {(each.name, *each.labels.values()): each.value for each in samples}

        return read

    yield make
    for counter in made:
        counter.stop()


def test_nodes_and_relationships_are_counted(session, server, counter_of):
    """A read asks for the counts of labels and types; a later one has them."""
    session.run("UNWIND range(1, 3) AS n CREATE (:Size {n: n})-[:SIZED]->(:Size:Other)").consume()
    read = counter_of(home=server.home)

    wait_until(lambda: read().get(("sidecypher_graph_nodes", "Size")) == 6)

    found = read()
    assert found["sidecypher_graph_nodes", "Other"] == 3
    assert found["sidecypher_graph_relationships", "SIZED"] == 3


def test_the_first_names_are_told(session, server, counter_of, monkeypatch):
    """Labels and types are told in the order of their names, up to a bound."""
    monkeypatch.setattr(counting, "MOST_NAMES", 2)
    # Neo4j never forgets a name, so that other tests have left theirs: none begins like these.
    session.run("CREATE (:`!B`)-[:`!B`]->(:`!A`)").consume()
    read = counter_of(home=server.home)

    wait_until(read)

    names = sorted(label for name, label in read() if name == "sidecypher_graph_nodes")
    assert names == ["!A", "!B"]


def test_counts_go_with_neo4j(session, server, counter_of, proxies):
    """While Neo4j cannot be reached nothing is told of it, and no read fails or waits."""
    session.run("CREATE (:Size)").consume()
    through = proxies(int(server.facts["bolt"].rpartition(":")[2]))
    read = counter_of(neo4j_uri=f"bolt://127.0.0.1:{through.port}", neo4j_password=server.password)
    wait_until(read)

    through.close()

    wait_until(lambda: not read())


def test_a_home_without_neo4j_has_no_counts(tmp_path, counter_of):
    """Where no Neo4j is known nothing is asked."""
    read = counter_of(home=tmp_path)

    assert [read() for _ in range(3)] == [{}, {}, {}]


def test_a_refused_password_is_not_tried_again(server, monkeypatch):
    """A wrong password is used once: trying on would lock the user out of Neo4j."""
    attempts = []
    connect = bolt._connect

    def counted(address):
        attempts.append(address)
        return connect(address)

    monkeypatch.setattr(bolt, "_connect", counted)
    settings = load_settings({"neo4j_uri": server.facts["bolt"], "neo4j_password": "wrong"}, {})
    counter = GraphCounter(settings, GraphSize())

    def is_refused():
        # A busy Neo4j may not answer in time, which refuses nothing.
        with pytest.raises(Neo4jUnavailable) as caught:
            counter._neo4j.run("RETURN 1", {}, counting.PATIENCE_SECONDS)
        return "refused" in caught.value.message

    wait_until(is_refused)
    made = len(attempts)
    for _ in range(3):
        counter._count()
    counter.stop()

    assert len(attempts) == made
