"""Lanes for events side by side, as a picture of a run needs them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event is drawn.

    Attributes:
        lane: Its lane, from 0 on the left.
        parent_lanes: The lane in which it is reached from each of its parents, in their order.
    """

    lane: int
    parent_lanes: tuple[int, ...]


def children_of(parents: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the children of each event, in the order of the run.

    Args:
        parents: The parents of each event, which are before it.
    """
    children: dict[str, list[str]] = {name: [] for name in parents}
    for name, above in parents.items():
        for parent in above:
            children[parent].append(name)
    return children


def lanes_of(
    parents: Mapping[str, Sequence[str]], children: Mapping[str, Sequence[str]]
) -> dict[str, Place]:
    """Give each event a lane, so that no line passes through an event that it does not end at.

    The first child of an event goes on in its lane, each other one has the leftmost lane that is
    free. An event of several parents is in the leftmost of the lanes that lead to it.

    Args:
        parents: The parents of each event, which are before it.
        children: The children of each event, all in the order of the run.

    Example:
        >>> parents = {"a": "", "b": "a", "c": "a", "d": "bc"}
        >>> [place.lane for place in lanes_of(parents, children_of(parents)).values()]
        [0, 0, 1, 0]
    """
    leading: dict[str, dict[str, int]] = {name: {} for name in parents}
    free = _FreeLanes()
    places = {}
    for name, above in parents.items():
        reached = leading.pop(name)
        lane = min(reached.values()) if reached else free.take()
        free.give(other for other in reached.values() if other != lane)
        places[name] = Place(lane, tuple(reached[parent] for parent in above))
        for index, child in enumerate(children[name]):
            leading[child][name] = free.take() if index else lane
        if not children[name]:
            free.give([lane])
    return places


class _FreeLanes:
    """Lanes that nothing is in."""

    def __init__(self) -> None:
        self._given: list[int] = []
        self._count = count()

    def take(self) -> int:
        """Return the leftmost one."""
        return heappop(self._given) if self._given else next(self._count)

    def give(self, lanes: Iterable[int]) -> None:
        """Take back what is free again."""
        for lane in lanes:
            heappush(self._given, lane)
