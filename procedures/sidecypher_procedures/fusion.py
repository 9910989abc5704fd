"""Several ranked lists of the same things as one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

K: Final = 60
"""Constant that damps the first ranks, with the value from the authors of the method.

G. V. Cormack, C. L. A. Clarke, S. Buettcher: Reciprocal rank fusion outperforms Condorcet and
individual rank learning methods, SIGIR 2009.
"""

Method: TypeAlias = Literal["rrf", "weighted"]
Normalization: TypeAlias = Literal["max", "min_max", "rank"]
Leg: TypeAlias = Sequence[tuple[str, float]]
"""Ids with scores, the best first; an id occurs once."""


@dataclass(frozen=True, slots=True)
class Fused:
    """An item of at least one leg.

    Attributes:
        ranks: Its rank, from 1, by the names of the legs that have it.
    """

    id: str
    score: float
    ranks: Mapping[str, int]


def fuse(
    legs: Mapping[str, Leg],
    *,
    method: Method = "rrf",
    weights: Mapping[str, float] | None = None,
    normalization: Normalization = "max",
) -> list[Fused]:
    """Join ranked lists; items with equal scores are sorted by id.

    Args:
        legs: The lists by name.
        method: ``rrf`` adds `weight / (K + rank)`, ``weighted`` adds the weighted scores.
        weights: Weights by the name of the leg; 1 for others.
        normalization: How ``weighted`` makes scores of different legs comparable: divided by the
            largest, stretched from 0 to 1, or replaced by the rank, from 1 down to `1 / length`.

    Example:
        >>> [each.id for each in fuse({"graph": [("a", 3), ("b", 1)], "sparse": [("b", 9)]})]
        ['b', 'a']
    """
    ranks: dict[str, dict[str, int]] = {}
    scores: dict[str, float] = {}
    for name, leg in legs.items():
        weight = (weights or {}).get(name, 1.0)
        parts = _reciprocal(leg) if method == "rrf" else _normalized(leg, normalization)
        for rank, ((key, _), part) in enumerate(zip(leg, parts, strict=True), start=1):
            ranks.setdefault(key, {})[name] = rank
            scores[key] = scores.get(key, 0.0) + weight * part
    fused = [Fused(key, scores[key], each) for key, each in ranks.items()]
    return sorted(fused, key=lambda each: (-each.score, each.id))


def reciprocal(rank: int) -> float:
    """Return what a rank, from 1, adds to the score of an item."""
    return 1 / (K + rank)


def _reciprocal(leg: Leg) -> list[float]:
    return [reciprocal(rank) for rank in range(1, len(leg) + 1)]


def _normalized(leg: Leg, normalization: Normalization) -> list[float]:
    scores = [score for _, score in leg]
    match normalization:
        case "rank":
            return [1 - place / len(scores) for place in range(len(scores))]
        case "min_max":
            low, high = min(scores, default=0.0), max(scores, default=0.0)
            return [(score - low) / (high - low) if high > low else 1.0 for score in scores]
        case "max":
            high = max(scores, default=0.0)
            return [score / high if high > 0 else 0.0 for score in scores]
