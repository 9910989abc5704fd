"""Procedures that take, make and return entities."""

from collections.abc import Iterator
from typing import Any, LiteralString

from sidecypher import Context, Node, Path, Relationship, Row, procedure


class Found(Row):
    node: Node


class Walked(Row):
    path: Path


class Facts(Row):
    """Several columns, in this order."""

    z_number: int
    a_node: Node
    m_relationship: Relationship | None
    facts: dict[str, Any]


@procedure("test.nodeOf")
def node_of(element_id: str) -> Found:
    """Return the node with an element id."""
    return Found(node=Node(element_id))


@procedure("test.nodeItself")
def node_itself(node: Node) -> Found:
    """Return a node under the name it came by."""
    return Found(node=node)


@procedure("test.entityIn")
def entity_in(element_id: str) -> list[Facts]:
    """Return the node with an element id deep inside a map, in a column of another type."""
    node = Node(element_id)
    return [Facts(z_number=1, a_node=node, m_relationship=None, facts={"deep": [{"node": node}]})]


@procedure("test.factsOf")
def facts_of(node: Node, relationships: list[Relationship]) -> Iterator[Facts]:
    """Return a row for each relationship: numbered, with both entities and what they hold."""
    for number, each in enumerate(relationships):
        facts = {"labels": sorted(node.labels), "type": each.type, "both": [node, each]}
        yield Facts(z_number=number, a_node=node, m_relationship=each, facts=facts)


@procedure("test.pathOf")
def path_of(nodes: list[Node], relationships: list[Relationship]) -> Walked:
    """Put a path together."""
    return Walked(path=Path(tuple(nodes), tuple(relationships)))


@procedure("test.backwards")
def backwards(path: Path) -> Walked:
    """Turn a path around."""
    return Walked(path=Path(path.nodes[::-1], path.relationships[::-1]))


@procedure("test.stamp", mode="WRITE")
def stamp(ctx: Context, node: Node, by: dict[str, Any] | None = None) -> None:
    """Set a property of a node that came from Cypher."""
    ctx.run("WITH $node AS n SET n.touched = true, n += $by", node=node, by=by or {})


@procedure("test.stampAsync", mode="WRITE")
async def stamp_async(ctx: Context, nodes: list[Node]) -> None:
    """Set a property of nodes that came from Cypher."""
    await ctx.run("UNWIND $nodes AS n SET n.touched = true", nodes=nodes)


@procedure("test.ignore")
def ignore(value: Any) -> None:
    """Do nothing."""


@procedure("test.remove", mode="WRITE")
def remove(ctx: Context, node: Node, then: str) -> Iterator[Found]:
    """Delete a node, and return it in one way or another all the same."""
    query: LiteralString = "WITH $node AS n DETACH DELETE n"
    if then == "read":
        query += " RETURN n"
    ctx.run(query, node=node)
    if then == "pass":
        ctx.run("RETURN $node AS n", node=node)
    if then != "nothing":
        yield Found(node=node)
