"""Algorithms on a part of the graph: compared with another library, and by executor."""

import json
import random
from itertools import zip_longest

import networkx as nx
import pytest
from docs.pages import ROOT, blocks
from neo4j.exceptions import Neo4jError

RANKS = """
    CALL algo.pagerank($labels, $types, $options) YIELD node, score
    RETURN node.i AS i, score
"""
COMMUNITIES = """
    CALL algo.communities(['Algo'], ['LINKS']) YIELD node, community, size
    RETURN node.i AS i, community, size
"""
PAIRS = """
    CALL algo.similarity(['Algo'], ['LINKS'], $options) YIELD first, second, similarity
    RETURN first.i AS first, second.i AS second, similarity
"""
NODES = 300


@pytest.fixture(scope="module")
def edges():
    """Relationships of four groups; some nodes have none, and some pairs have two."""
    chance = random.Random(5)
    found = []
    for _ in range(1500):
        group = chance.randrange(4)
        start, end = (group + 4 * chance.randrange(NODES // 4 - 2) for _ in range(2))
        if chance.random() < 0.02:
            end = chance.randrange(NODES - 8)
        found.append((start, end, chance.choice([0.5, 1.0, 3.0])))
    return found


@pytest.fixture
def graph(session, edges):
    """The relationships in Neo4j, beside some of another type and to nodes of another label."""
    session.run("UNWIND range(0, $n - 1) AS i CREATE (:Algo {i: i})", n=NODES).consume()
    session.run(
        "UNWIND $edges AS e MATCH (a:Algo {i: e[0]}), (b:Algo {i: e[1]}) "
        "CREATE (a)-[:LINKS {weight: e[2]}]->(b)",
        edges=[list(edge) for edge in edges],
    ).consume()
    session.run("MATCH (a:Algo {i: 0}), (b:Algo {i: 1}) CREATE (a)-[:OTHER]->(b)").consume()
    session.run("MATCH (a:Algo) CREATE (a)-[:LINKS]->(:Elsewhere {i: -1})").consume()
    yield
    session.run("MATCH (n:Algo|Elsewhere) DETACH DELETE n").consume()


def expected(edges, *, weighted):
    """Return the graph as one of networkx, which has no part in what is tested."""
    found = nx.DiGraph()
    found.add_nodes_from(range(NODES))
    for start, end, weight in edges:
        more = weight if weighted else 1.0
        before = found.get_edge_data(start, end, {"weight": 0.0})["weight"]
        found.add_edge(start, end, weight=before + more)
    return found


@pytest.mark.parametrize("weight", [None, "weight", "missing"])
def test_ranks_are_those_of_another_library(session, graph, edges, weight):
    """Every node has its rank, also one without relationships, and the highest rank is first."""
    rows = session.run(
        RANKS, labels=["Algo"], types=["LINKS"], options={"weight": weight, "tolerance": 1e-12}
    ).values()
    wanted = nx.pagerank(expected(edges, weighted=weight == "weight"), 0.85, tol=1e-12)

    assert {i: pytest.approx(score, abs=1e-7) for i, score in wanted.items()} == dict(rows)
    scores = [score for _i, score in rows]
    assert scores == sorted(scores, reverse=True)
    assert sum(scores) == pytest.approx(1.0)


def test_options_limit_the_rows_and_the_relationships(session, graph):
    """`limit` gives the highest ranks, [] means all types, and several labels are any of them."""

    def ranks(labels=("Algo",), types=("LINKS",), **options):
        found = session.run(RANKS, labels=list(labels), types=list(types), options=options)
        return found.values()

    assert ranks(limit=7) == ranks()[:7]
    assert ranks(types=()) != ranks()
    assert len(ranks(labels=("Algo", "Elsewhere"))) == 2 * NODES
    assert ranks(labels=("Nothing",)) == []
    with pytest.raises(Neo4jError, match="SC-204"):
        ranks(damping=1.5)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("inf"), float("nan")])
def test_weights_that_lead_nowhere_have_an_end(session, weight):
    """A weight of 0 is no way, and one that is negative or not finite is refused."""
    session.run(
        "CREATE (a:Algo {i: 0})-[:LINKS {weight: $weight}]->(:Algo {i: 1})-[:LINKS]->(a)",
        weight=weight,
    ).consume()
    parameters = {"labels": ["Algo"], "types": [], "options": {"weight": "weight"}}
    try:
        if weight == 0.0:
            ranks = dict(session.run(RANKS, parameters).values())
            assert ranks[0] > ranks[1]
        else:
            with pytest.raises(Neo4jError, match="SC-933"):
                session.run(RANKS, parameters).consume()
    finally:
        session.run("MATCH (n:Algo) DETACH DELETE n").consume()


def test_communities_are_those_that_were_made(session, graph, edges):
    """Nodes of a group are together, the largest community is 0, and each call says the same."""
    rows = session.run(COMMUNITIES).values()

    assert rows == session.run(COMMUNITIES).values()
    linked = {i for start, end, _ in edges for i in (start, end)}
    for community in range(4):
        groups = [i % 4 for i, number, _ in rows if number == community and i in linked]
        assert len(groups) > 50
        assert max(map(groups.count, range(4))) > 0.9 * len(groups)
    sizes = [size for _i, _community, size in rows]
    assert sizes == sorted(sizes, reverse=True)


def test_pairs_are_those_of_the_definition(session, graph, edges):
    """Pairs share as large a part of their targets as was asked for; the best come first."""
    targets = {}
    for start, end, _ in edges:
        targets.setdefault(start, set()).add(end)
    wanted = {
        (a, b): len(targets[a] & targets[b]) / len(targets[a] | targets[b])
        for a in targets
        for b in targets
        if a != b and targets[a] & targets[b]
    }
    wanted = {pair: score for pair, score in wanted.items() if score >= 0.25}

    rows = session.run(PAIRS, options={"least": 0.25, "most": 1000}).values()

    assert {(a, b): pytest.approx(score) for (a, b), score in wanted.items()} == {
        (a, b): score for a, b, score in rows
    }
    best = session.run(PAIRS, options={"least": 0.25, "most": 1}).values()
    assert len(best) == len({a for a, _b in wanted})


@pytest.mark.slow
def test_one_word_moves_them(server, session, graph, another_sidecar):
    """The same rows come from a process and from a Ray cluster as from a thread."""
    queries = [
        (RANKS, {"labels": ["Algo"], "types": ["LINKS"], "options": {"weight": "weight"}}),
        (COMMUNITIES, {}),
        (PAIRS, {"options": {}}),
    ]

    def rows():
        return [session.run(query, parameters).values() for query, parameters in queries]

    found = rows()
    with server.sidecar_down():
        for executor in ("process", "ray"):
            sidecar = another_sidecar(
                SIDECYPHER_ALGO_EXECUTOR=executor, SIDECYPHER_RAY_ADDRESS="local"
            )
            assert rows() == found
            sidecar.stop()


def test_the_page_shows_what_its_queries_give(session):
    """Each query of docs/algo.md, in order, gives what stands below it."""
    found = blocks("cypher", "text", pages=[ROOT / "docs/algo.md"])
    try:
        for block, after in zip_longest(found, found[1:]):
            if block.info == "cypher":
                rows = session.run(block.text).values()
                if after is not None and after.info == "text" and "::" not in after.text:
                    shown = [json.loads(f"[{line}]") for line in after.text.splitlines()]
                    assert rows == shown, block
        assert session.run("MATCH (n:Page) WHERE n.rank > 0 RETURN count(*)").single()[0] == 3
    finally:
        session.run("MATCH (n:Page) DETACH DELETE n").consume()
