"""How much is in the graph."""


def test_nodes_and_relationships_are_counted(session):
    """`sidecypher.graphSize` has a row for each label and each type, from Neo4j's own counts."""
    session.run("UNWIND range(1, 3) AS n CREATE (:Size {n: n})-[:SIZED]->(:Size:Other)").consume()

    rows = session.run("CALL sidecypher.graphSize() YIELD kind, name, count").values()

    assert [row for row in rows if row[1] in {"Size", "Other", "SIZED"}] == [
        ["node", "Size", 6],
        ["node", "Other", 3],
        ["relationship", "SIZED", 3],
    ]
