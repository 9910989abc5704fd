"""Merging ranked lists of different origin into one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

K: Final = 60
"""Damps the first ranks; the value that the authors of the method found good and left unchanged.

G. V. Cormack, C. L. A. Clarke, S. Buettcher: Reciprocal rank fusion outperforms Condorcet and
individual rank learning methods, SIGIR 2009.
"""


@dataclass(frozen=True, slots=True)
class Fused:
    """Something that at least one list has.

    Attributes:
        key: What it is known by.
        ranks: Its rank, from 1, in each list that has it, by the list's name.
    """

    key: str
    ranks: dict[str, int]

    @property
    def score(self) -> float:
        """The sum of 1 / (K + rank) over the lists."""
        return sum(1 / (K + rank) for rank in self.ranks.values())


def fuse(lists: Mapping[str, Sequence[str]]) -> list[Fused]:
    """Merge lists by reciprocal rank fusion; equal scores are in the order of their keys.

    Args:
        lists: Keys, the best first, by the name of the list; none has a key twice.

    Example:
        >>> [each.key for each in fuse({"prompt": ["a", "b"], "chunks": ["b"]})]
        ['b', 'a']
    """
    ranks: dict[str, dict[str, int]] = {}
    for name, keys in lists.items():
        for rank, key in enumerate(keys, start=1):
            ranks.setdefault(key, {})[name] = rank
    fused = [Fused(key, each) for key, each in ranks.items()]
    return sorted(fused, key=lambda each: (-each.score, each.key))
