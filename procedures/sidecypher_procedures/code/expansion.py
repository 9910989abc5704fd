"""From some entities to those around them, level by level, each with the way that leads there."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from sidecypher_procedures.code.model import VERBS, RelationshipType
from sidecypher_procedures.code.options import GraphOptions
from sidecypher_procedures.code.store import Run

WEIGHTS: Final[Mapping[RelationshipType, float]] = {
    "calls": 1.0,
    "inherits": 0.9,
    "references": 0.6,
    "contains": 0.5,
    "imports": 0.4,
}
"""How near a relationship of each type brings two entities: how near it is to a call."""

DECAY: Final = 0.5
"""What each hop leaves of a score."""

LEVEL: Final = 100
"""The most entities of a level that the next one starts at."""

HUB: Final = 50
"""The most relationships of an entity, in each direction, that are followed."""

CROWDED: Final = 1000
"""Relationships of an entity that no search passes through: everything meets there."""

# Without an order there is no telling which relationships of a hub are followed.
_LEVEL: Final[LiteralString] = """
    UNWIND $frontier AS f
    MATCH (e:Entity {id: f.id})
    WITH f, e WHERE f.hops = 0 OR COUNT { (e)--() } <= $crowded
    CALL (e) {
        WITH e WHERE $direction <> 'in'
        MATCH (e)-[r:CALLS|INHERITS|REFERENCES|CONTAINS|IMPORTS]->(n:Entity)
        WHERE type(r) IN $types AND r.resolution IN $tiers AND NOT n.id IN $seen
            AND n.type IN $entityTypes AND NOT n.external
        RETURN r, n, true AS isForward
        ORDER BY r.confidence DESC, n.id LIMIT $hub
        UNION ALL
        WITH e WHERE $direction <> 'out'
        MATCH (e)<-[r:CALLS|INHERITS|REFERENCES|CONTAINS|IMPORTS]-(n:Entity)
        WHERE type(r) IN $types AND r.resolution IN $tiers AND NOT n.id IN $seen
            AND n.type IN $entityTypes
        RETURN r, n, false AS isForward
        ORDER BY r.confidence DESC, n.id LIMIT $hub
    }
    WITH f, n, r, isForward, f.score * $weights[type(r)] * r.confidence AS part
    ORDER BY part DESC, f.id, type(r), isForward
    WITH n, sum(part) AS gain, count(*) AS ways,
        collect({
            from: f.id, type: type(r), isForward: isForward, filePath: r.file_path, line: r.line
        })[0] AS step
    WITH n, ways, step, gain / (1 + log10(1 + COUNT { (n)--() })) AS gain
    ORDER BY gain DESC, n.id LIMIT $level
    RETURN n.id AS id, n.name AS name, n.qualified_name AS qualified_name, n.type AS type,
        n.chunk_id AS chunk_id, gain, ways, step
"""


@dataclass(slots=True)
class Reached:
    """An entity that a search has reached.

    Attributes:
        score: How near it is to what was searched for; only for comparisons.
        hops: The relationships between it and the nearest entity where the search began.
        support: How many ways lead to it.
        step: The best way's last step; None where the search began.
        reason: Why the search began here; "" elsewhere.
    """

    id: str
    name: str
    qualified_name: str
    type: str
    chunk_id: str | None
    score: float
    hops: int = 0
    support: int = 1
    step: Mapping[str, Any] | None = None
    reason: str = ""

    @classmethod
    def of(cls, record: Mapping[str, Any], score: float, **how: Any) -> "Reached":
        """Make one of a record with the columns `id, name, qualified_name, type, chunk_id`."""
        names = ("id", "name", "qualified_name", "type", "chunk_id")
        return cls(**{name: record[name] for name in names}, score=score, **how)

    @property
    def order(self) -> tuple[float, int, int, str]:
        """Its place among others: the best first."""
        return -self.score, self.hops, -self.support, self.id


@dataclass(slots=True)
class Expansion:
    """What a search has reached.

    Attributes:
        reached: The entities by id.
        is_truncated: Whether there was no time for all levels.
    """

    reached: dict[str, Reached] = field(default_factory=dict)
    is_truncated: bool = False

    def why(self, reached: Reached) -> list[str]:
        """Return the way to an entity, one sentence a step."""
        steps: list[str] = []
        while reached.step is not None:
            before, step = self.reached[reached.step["from"]], reached.step
            one, other = (before, reached) if step["isForward"] else (reached, before)
            place = f"{step['filePath']}:{step['line']}"
            verb = VERBS[step["type"]]
            steps.append(f"{one.qualified_name} {verb} {other.qualified_name} ({place})")
            reached = before
        return [reached.reason, *reversed(steps)]


async def expand(
    run: Run, seeds: Iterable[Reached], options: GraphOptions, is_late: Callable[[], bool]
) -> Expansion:
    """Reach what is around some entities, until it is too late for another level."""
    expansion = Expansion({seed.id: seed for seed in seeds})
    frontier = sorted(expansion.reached.values(), key=lambda each: each.order)
    seen: list[str] = []
    for hops in range(1, options.hops + 1):
        if not frontier:
            break
        if is_late():
            expansion.is_truncated = True
            break
        records = await run(
            _LEVEL,
            frontier=[
                {"id": each.id, "score": each.score, "hops": each.hops} for each in frontier[:LEVEL]
            ],
            # Seeds may reach each other; later levels never go back.
            seen=seen,
            types=[each.upper() for each in options.rel_types],
            tiers=options.tiers,
            entityTypes=options.entity_types,
            direction=options.direction,
            weights={name.upper(): weight * DECAY for name, weight in WEIGHTS.items()},
            crowded=CROWDED,
            hub=HUB,
            level=LEVEL,
        )
        frontier = _added(expansion.reached, records, hops)
        seen = [*expansion.reached]
    return expansion


def _added(
    reached: dict[str, Reached], records: Iterable[Mapping[str, Any]], hops: int
) -> list[Reached]:
    """Add what a level has reached; return what is new."""
    new: list[Reached] = []
    for record in records:
        known = reached.get(record["id"])
        if known is None:
            known = Reached.of(
                record, record["gain"], hops=hops, support=record["ways"], step=record["step"]
            )
            reached[known.id] = known
            new.append(known)
        else:
            known.score += record["gain"]
            known.support += record["ways"]
    return new
