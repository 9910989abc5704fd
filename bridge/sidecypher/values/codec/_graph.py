"""NODE, RELATIONSHIP and PATH."""

from typing import Any

from sidecypher.errors import ValueTypeError
from sidecypher.values.codec._scalars import encode_string
from sidecypher.values.codec.containers import decode_map, encode_map
from sidecypher.values.codec.problems import not_read, not_written
from sidecypher.values.graph import Node, Path, Relationship

# Writing


def encode_node(value: Any) -> Any:
    """Write a NODE."""
    if not isinstance(value, Node):
        raise not_written(value, "NODE")
    return {"$node": _node_parts(value)}


def encode_relationship(value: Any) -> Any:
    """Write a RELATIONSHIP."""
    if not isinstance(value, Relationship):
        raise not_written(value, "RELATIONSHIP")
    return {"$relationship": _relationship_parts(value)}


def encode_path(value: Any) -> Any:
    """Write a PATH."""
    if not isinstance(value, Path):
        raise not_written(value, "PATH")
    if not all(isinstance(each, Node) for each in value.nodes):
        raise ValueTypeError("is a PATH with a node that is not a `Node`")
    if not all(isinstance(each, Relationship) for each in value.relationships):
        raise ValueTypeError("is a PATH with a relationship that is not a `Relationship`")
    if len(value.nodes) != len(value.relationships) + 1:
        raise ValueTypeError("is a PATH that has not one node more than it has relationships")
    return {
        "$path": [
            [_node_parts(node) for node in value.nodes],
            [_relationship_parts(each) for each in value.relationships],
        ]
    }


def _node_parts(node: Node) -> list[Any]:
    labels = [_text(label, "a NODE with a label") for label in node.labels]
    return [_element_id(node.element_id, "NODE"), sorted(labels), encode_map(node.properties)]


def _relationship_parts(each: Relationship) -> list[Any]:
    return [
        _element_id(each.element_id, "RELATIONSHIP"),
        _text(each.type, "a RELATIONSHIP with a type"),
        _text(each.start, "a RELATIONSHIP with a start"),
        _text(each.end, "a RELATIONSHIP with an end"),
        encode_map(each.properties),
    ]


def _element_id(value: Any, kind: str) -> str:
    if not value:
        raise ValueTypeError(f"is a {kind} without an element id")
    return _text(value, f"a {kind} with an element id")


def _text(value: Any, what: str) -> str:
    try:
        text: str = encode_string(value)
    except ValueTypeError as error:
        raise ValueTypeError(f"is {what} that {error.message}") from None
    return text


# Reading


def decode_node(value: Any) -> Any:
    """Read a NODE."""
    parts = value.get("$node") if isinstance(value, dict) and len(value) == 1 else None
    node = _node(parts)
    if node is None:
        raise not_read(value, "NODE")
    return node


def decode_relationship(value: Any) -> Any:
    """Read a RELATIONSHIP."""
    parts = value.get("$relationship") if isinstance(value, dict) and len(value) == 1 else None
    relationship = _relationship(parts)
    if relationship is None:
        raise not_read(value, "RELATIONSHIP")
    return relationship


def decode_path(value: Any) -> Any:
    """Read a PATH."""
    match value:
        case {"$path": [list() as nodes, list() as relationships]} if len(value) == 1:
            path = Path(tuple(map(_node, nodes)), tuple(map(_relationship, relationships)))  # type: ignore[arg-type]
            is_whole = None not in path.nodes and None not in path.relationships
            if is_whole and len(nodes) == len(relationships) + 1:
                return path
    raise not_read(value, "PATH")


def _node(parts: Any) -> Node | None:
    match parts:
        case [str() as element_id, list() as labels, dict() as properties] if element_id:
            if all(isinstance(label, str) for label in labels):
                return Node(element_id, frozenset(labels), decode_map(properties))
    return None


def _relationship(parts: Any) -> Relationship | None:
    match parts:
        case [
            str() as element_id,
            str() as kind,
            str() as start,
            str() as end,
            dict() as properties,
        ] if element_id:
            return Relationship(element_id, kind, decode_map(properties), start, end)
    return None
