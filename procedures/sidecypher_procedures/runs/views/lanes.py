"""Lanes for events side by side, as a picture of a run needs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    The first child of an event goes on in its lane, each other one has a lane of its own to the
    right of it. An event of several parents is in the leftmost of the lanes that lead to it.

    Args:
        parents: The parents of each event, which are before it.
        children: The children of each event, all in the order of the run.

    Example:
        >>> parents = {"a": "", "b": "a", "c": "a", "d": "bc"}
        >>> [place.lane for place in lanes_of(parents, children_of(parents)).values()]
        [0, 0, 1, 0]
    """
    leading: dict[str, dict[str, int]] = {name: {} for name in parents}
    taken: set[int] = set()
    places = {}
    for name, above in parents.items():
        reached = leading.pop(name)
        lane = min(reached.values()) if reached else _free(taken, 0)
        taken.difference_update(reached.values())
        places[name] = Place(lane, tuple(reached[parent] for parent in above))
        for child in children[name]:
            # Its own lane for the first child; then to the right of the one before.
            lane = _free(taken, lane)
            taken.add(lane)
            leading[child][name] = lane
    return places


def _free(taken: set[int], least: int) -> int:
    return next(lane for lane in count(least) if lane not in taken)
