"""Nodes, relationships and paths, as they were when they crossed the bridge.

They are snapshots: a later write of the same transaction does not change them. If you return one to
Cypher, the entity is found again by its element id; nothing else of it matters. As in Cypher, two
are equal if they are the same entity, even if their properties differ.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """A NODE.

    Attributes:
        element_id: The result of `elementId(n)`.
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
        element_id: The result of `elementId(r)`.
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
    """A PATH: nodes, and the relationships between neighbouring ones.

    Attributes:
        nodes: In the path's order, one more than there are relationships.
        relationships: In the path's order; each may have either direction.

    Example:
        >>> Path((Node("4:a:1"), Node("4:a:2")), (Relationship("5:a:7"),)).nodes[-1].element_id
        '4:a:2'
    """

    nodes: tuple[Node, ...]
    relationships: tuple[Relationship, ...] = ()
