"""Functions of many types."""

from datetime import date

from sidecypher import Node, Point, function


@function("test.labelsOf")
def labels_of(node: Node | None) -> list[str] | None:
    """Return the sorted labels of a node; null of null."""
    return None if node is None else sorted(node.labels)


@function("test.first")
def first(nodes: list[Node]) -> Node | None:
    """Return the first of some nodes."""
    return nodes[0] if nodes else None


@function("test.middle")
def middle(one: Point, other: Point) -> Point:
    """Return the point in the middle."""
    return Point(one.srid, (one.x + other.x) / 2, (one.y + other.y) / 2)


@function("test.half")
def half(number: float, digits: int = 1) -> float:
    """Return the half of a number."""
    return round(number / 2, digits)


@function("test.echo")
def echo(value: str) -> str:
    """Return the text, as the procedure of the same name does."""
    return f"function {value}"


@function("test.nextDay")
async def next_day(day: date) -> date:
    """Return the day after, from the event loop."""
    return date.fromordinal(day.toordinal() + 1)


@function("test.wrong")
def wrong(kind: str) -> int:
    """Fail in one of the ways functions fail."""
    if kind == "type":
        return "no number"  # type: ignore[return-value]
    raise ValueError(kind)


@function("test.sums")
def sums(numbers: list[float], more: list[list[float]] | None = None) -> float:
    """Return the sum."""
    return sum(numbers) + sum(map(sum, more or []))
