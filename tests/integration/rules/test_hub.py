"""A concept with very many relations, which everything else of a user leads to."""

import pytest
from fix_waiting import promised
from integration.rules.memories import context_of, unguarded

from sidecypher_procedures.rules import concept_search
from sidecypher_procedures.rules.selection import BOUNDS
from sidecypher_procedures.rules.store import Concept

USER = "hub-user"
HUB = Concept(USER, "Hub").key
REACHED = {"entityIds": [Concept(USER, "part 7").key]}
PARTS = 1_000
DEADLINE_MS = 1_000

_CONCEPTS = """
    CREATE (e:Extraction {extractionId: 'hub-e', createdAt: datetime(), method: 'rule'})
    CREATE (h:Concept {key: $hub, user: $user, name: 'Hub'}), (e)-[:ASSERTED]->(h)
    WITH e
    UNWIND $parts AS part
    CREATE (c:Concept {key: part.key, user: $user, name: part.name}), (e)-[:ASSERTED]->(c)
"""
# Half of them lead to the hub and half away from it.
_FACTS = """
    MATCH (e:Extraction {extractionId: 'hub-e'}), (h:Concept {key: $hub})
    UNWIND $facts AS fact
    MATCH (c:Concept {key: fact.part})
    WITH e, fact, CASE WHEN fact.away THEN [h, c] ELSE [c, h] END AS ends
    WITH e, fact, ends[0] AS a, ends[1] AS b
    CREATE (f:Fact {factId: fact.id, user: $user, type: fact.type, fromKey: a.key, toKey: b.key}),
        (e)-[:ASSERTED]->(f), (a)-[:RELATED_TO {factId: fact.id, type: fact.type}]->(b)
"""
# A node with so many relationships is more than one transaction can delete.
_EMPTY = (
    "MATCH (f:Fact) CALL (f) { DETACH DELETE f } IN TRANSACTIONS OF 5000 ROWS",
    "MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF 5000 ROWS",
    "MATCH (n) DELETE n",
)


@pytest.fixture(scope="module")
def hub(server, driver, relation_count):
    """A session on a graph with the hub."""
    server.await_sidecar()
    keys = [Concept(USER, f"part {number}").key for number in range(PARTS)]
    facts = [
        {
            "id": f"{number * 7919 % relation_count:06}",
            "part": keys[number % PARTS],
            "type": f"T{number // PARTS}",
            "away": bool(number % 2),
        }
        for number in range(relation_count)
    ]
    with unguarded(driver), driver.session() as session:
        _empty(session)
        parts = [{"key": key, "name": f"part {number}"} for number, key in enumerate(keys)]
        session.run(_CONCEPTS, hub=HUB, user=USER, parts=parts).consume()
        for start in range(0, relation_count, 10_000):
            some = facts[start : start + 10_000]
            session.run(_FACTS, hub=HUB, user=USER, facts=some).consume()
        # Neo4j plans a statement when it is first asked it, and again when it has counted what an
        # index holds now. Neither is what is promised.
        session.run("CALL db.awaitIndexes()").consume()
        session.run("CALL db.prepareForReplanning(60)").consume()
        for asked in ({"prompt": "hub", "projectId": "p1"}, {"chunkIds": ["hub-e"]}, REACHED):
            context_of(session, {"userId": USER, **asked}, {"deadlineMs": 20_000})
        yield session
        _empty(session)


@pytest.mark.slow
def test_a_hub_is_read_inside_the_deadline(hub):
    """Of all its relations the few of the limit are told, in time, and the same ones each time."""
    found = _context(hub, prompt="What about the hub?", projectId="p1")

    assert found["timedOut"] is False
    assert found["truncated"] is True
    of_hub = [each for each in found["relations"] if HUB in {each["from"], each["to"]}]
    assert len(of_hub) >= BOUNDS.node_relations
    assert len(found["relations"]) <= BOUNDS.relations
    assert len(found["entities"]) <= BOUNDS.entities
    assert _context(hub, prompt="What about the hub?", projectId="p1") == found


def test_a_hub_that_is_reached_is_read_like_one_that_is_named(hub):
    """A hub that is one hop away takes no more time, and gives the same each time."""
    found = _context(hub, **REACHED)

    assert (found["timedOut"], found["truncated"]) == (False, True)
    assert HUB in {each["id"] for each in found["entities"]}
    assert _context(hub, **REACHED) == found


def test_an_extraction_with_very_many_facts_is_a_chunk_like_any_other(hub):
    """A chunk that asserts each of these facts proposes as many concepts as any chunk."""
    found = _context(hub, chunkIds=["hub-e"])

    assert found["timedOut"] is False
    seeds = [each for each in found["entities"] if "chunks" in each["sources"]]
    assert len(seeds) == BOUNDS.chunk_concepts
    assert _context(hub, chunkIds=["hub-e"]) == found


def test_the_index_gives_the_first_relations_of_a_hub(hub):
    """Of a hub's facts so many are read as are followed: the order is the index's own."""
    most = BOUNDS.node_relations + 1
    result = hub.run(
        "PROFILE " + concept_search._FACTS, keys=[HUB], user=USER, known=None, most=most
    )
    operators = list(_operators(result.consume().profile))

    seeks = [each for each in operators if each["operatorType"].startswith("NodeIndexSeek")]
    assert len(seeks) == 2
    assert max(each["args"]["Rows"] for each in seeks) <= most
    assert not [each for each in operators if "Scan" in each["operatorType"]]


def _empty(session):
    for statement in _EMPTY:
        session.run(statement).consume()


def _context(session, **given):
    options = {"deadlineMs": int(promised(DEADLINE_MS))}
    return context_of(session, {"userId": USER, **given}, options)


def _operators(plan):
    yield plan
    for child in plan.get("children", []):
        yield from _operators(child)
