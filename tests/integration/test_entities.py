"""Nodes, relationships and paths between Cypher and Python bodies, on a real Neo4j."""

import pytest
from neo4j.exceptions import ClientError

FAILED = "Neo.ClientError.Procedure.ProcedureCallFailed"


def test_columns_come_in_their_order(session):
    """A row of several columns keeps order, types and the entities inside a map."""
    session.run("CREATE (a:A:B {n: 1})-[:X {w: 2}]->(:C), (a)<-[:Y]-(:D)").consume()

    rows = session.run(
        """
        MATCH (a:A)-[r]-() WITH a, r ORDER BY type(r) WITH a, collect(r) AS rs
        CALL test.factsOf(a, rs) YIELD zNumber, aNode, mRelationship, facts
        RETURN *
        """
    ).values("zNumber", "aNode", "mRelationship", "facts")

    assert [row[0] for row in rows] == [0, 1]
    assert [row[2].type for row in rows] == ["X", "Y"]
    assert rows[0][3] == {"labels": ["A", "B"], "type": "X", "both": [rows[0][1], rows[0][2]]}
    assert dict(rows[0][1]) == {"n": 1}


def test_yield_star_gives_the_declared_columns(session):
    """A standalone CALL with YIELD * has the columns of the row, in its order."""
    element_id = session.run("CREATE (n:A) RETURN elementId(n)").single().value()

    result = session.run("CALL test.entityIn($id) YIELD *", id=element_id)

    assert result.keys() == ["zNumber", "aNode", "mRelationship", "facts"]
    row = result.single()
    assert row["mRelationship"] is None
    assert row["facts"]["deep"][0]["node"] == row["aNode"]
    assert row["aNode"].labels == {"A"}


def test_a_returned_node_is_the_entity_itself(session):
    """What Python returns is not a copy: Cypher can go on from it, and write to it."""
    session.run("CREATE (:A {n: 1})-[:TO]->(:B)").consume()

    row = session.run(
        """
        MATCH (a:A)
        CALL test.nodeOf(elementId(a)) YIELD node
        SET node.seen = true
        WITH a, node MATCH (node)-[:TO]->(b)
        RETURN a = node AS same, a.seen AS seen, labels(b) AS labels
        """
    ).single()

    assert row.values() == [True, True, ["B"]]


def test_a_path_is_put_together_of_its_parts(session):
    """Nodes and relationships become a path, which Cypher takes for its own."""
    session.run("CREATE (:A)-[:X]->(:B)<-[:Y]-(:C)").consume()

    row = session.run(
        """
        MATCH p = (:A)-[:X]->(:B)<-[:Y]-(:C)
        CALL test.pathOf(nodes(p), relationships(p)) YIELD path
        CALL test.backwards(path) YIELD path AS back
        RETURN p = path AS same, length(path) AS length, p = back AS turned,
               [n IN nodes(back) | labels(n)[0]] AS labels, back
        """
    ).single()

    assert row.values()[:4] == [True, 2, False, ["C", "B", "A"]]
    assert [each.type for each in row["back"].relationships] == ["Y", "X"]


def test_parts_that_do_not_meet_are_no_path(session):
    """A path whose relationships lead elsewhere is refused by the column's name."""
    session.run("CREATE (:A)-[:X]->(:B), (:C)").consume()

    with pytest.raises(ClientError, match=r"SC-215.*column `path` holds a PATH whose") as caught:
        session.run(
            "MATCH (a:A)-[r]->(), (c:C) CALL test.pathOf([a, c], [r]) YIELD path RETURN path"
        ).consume()

    assert caught.value.code == FAILED


@pytest.mark.parametrize(
    "element_id",
    ["4:00000000-0000-0000-0000-000000000000:0", "4", "no id", "5:{uuid}:0", "4:{uuid}:999999"],
)
def test_an_entity_that_is_not_there_is_refused_by_its_column(session, element_id):
    """Ids of another database, of no entity and of no form are SC-218; so also deep in a map."""
    real = session.run("CREATE (n) RETURN elementId(n)").single().value()
    element_id = element_id.format(uuid=real.split(":")[1])

    with pytest.raises(ClientError, match=r"\[SC-218\].*`test.nodeOf`.*column `node` holds a NODE"):
        session.run("CALL test.nodeOf($id)", id=element_id).consume()
    with pytest.raises(ClientError, match=r"\[SC-218\].*column `aNode` holds a NODE"):
        session.run("CALL test.entityIn($id)", id=element_id).consume()


def test_an_entity_of_another_transaction_is_refused(driver, session):
    """A node that another transaction has not committed is not there."""
    with driver.session() as other, other.begin_transaction() as tx:
        element_id = tx.run("CREATE (n) RETURN elementId(n)").single().value()

        with pytest.raises(ClientError, match=r"\[SC-218\]"):
            session.run("CALL test.nodeOf($id)", id=element_id).consume()
        assert tx.run("CALL test.nodeOf($id)", id=element_id).single()["node"] is not None


@pytest.mark.parametrize(
    ("then", "told"),
    [
        ("return", r"column `node` holds a NODE that is deleted"),
        ("read", r"result column `n` holds a NODE that this transaction has deleted"),
        ("pass", r"query whose parameter `node` holds a NODE that is deleted"),
    ],
)
def test_an_entity_the_body_deleted_is_refused(session, then, told):
    """A deleted node cannot be returned, read or passed on; nothing of the call stays."""
    session.run("CREATE (:Doomed)").consume()

    with pytest.raises(ClientError, match=rf"\[SC-218\].*{told}"):
        session.run(
            "MATCH (n:Doomed) CALL test.remove(n, $then) YIELD node RETURN node", then=then
        ).consume()

    assert session.run("MATCH (n:Doomed) RETURN count(n)").single().value() == 1


def test_a_deleted_entity_is_no_argument(session):
    """A node the query itself has deleted is refused by the parameter's name."""
    session.run("CREATE (:Doomed)").consume()

    with pytest.raises(ClientError, match=r"\[SC-218\].*parameter `value` holds a NODE"):
        session.run("MATCH (n:Doomed) DELETE n WITH n CALL test.ignore(n) RETURN 1").consume()


def test_a_body_may_delete_what_it_was_given(session):
    """Deleting a node without returning it is all right."""
    session.run("CREATE (:Doomed)-[:X]->(:Stays)").consume()
    session.run("MATCH (n:Doomed) CALL test.remove(n, 'nothing') YIELD node RETURN 1").consume()

    assert session.run("MATCH (n) RETURN labels(n)").value() == [["Stays"]]


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (n:A) CALL test.stamp(n)",
        "MATCH (n:A) CALL test.stamp(n, {by: 1}) RETURN n",
        "MATCH (n:A) CALL test.stampAsync([n, n])",
    ],
)
def test_void_procedures_write(session, query):
    """A procedure without columns runs at the end of a query and in the middle of one."""
    session.run("CREATE (n:A)").consume()
    session.run(query).consume()

    assert session.run("MATCH (n:A) RETURN n.touched").single().value() is True


def test_a_void_procedure_alone_gives_no_rows(session):
    """Alone it has neither columns nor rows; in a query it keeps the rows that are there."""
    result = session.run("CALL test.ignore({a: [1, null]})")

    assert (result.keys(), list(result)) == ([], [])
    assert session.run("UNWIND [1, 2] AS n CALL test.ignore(n) RETURN n").value() == [1, 2]
