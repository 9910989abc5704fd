"""Nodes, relationships and paths, as they were when they crossed the bridge.

They are snapshots: a later write of the same transaction does not change them. Returned to Cypher,
each becomes the entity again, found by its element id; only the id matters then. As in Cypher, two
are equal when they are the same entity, whatever their properties were.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """A NODE.

    Attributes:
        element_id: What `elementId(n)` gives.
        labels: Its labels.
        properties: Its properties, by name.

    Example:
        >>> node = Node("4:a:1", frozenset({"Person"}), {"name": "Ann"})
        >>> node.properties["name"], "Person" in node.labels, node == Node("4:a:1")
        ('Ann', True, True)
    """

    element_id: str
    labels: frozenset[str] = field(default=frozenset(), compare=False)
    properties: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Relationship:
    """A RELATIONSHIP.

    Attributes:
        element_id: What `elementId(r)` gives.
        type: Its type.
        properties: Its properties, by name.
        start: Element id of the node it leaves.
        end: Element id of the node it enters.

    Example:
        >>> Relationship("5:a:7", "KNOWS", {"since": 1999}, "4:a:1", "4:a:2").end
        '4:a:2'
    """

    element_id: str
    type: str = field(default="", compare=False)
    properties: dict[str, Any] = field(default_factory=dict, compare=False)
    start: str = field(default="", compare=False)
    end: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Path:
    """A PATH: nodes, and the relationships between each two that follow each other.

    Attributes:
        nodes: One more than there are relationships, in the path's order.
        relationships: In the path's order; each may run either way.

    Example:
        >>> Path((Node("4:a:1"), Node("4:a:2")), (Relationship("5:a:7"),)).nodes[-1].element_id
        '4:a:2'
    """

    nodes: tuple[Node, ...]
    relationships: tuple[Relationship, ...] = ()
