"""Following relations from concept to concept, so many steps and no more.

Facts are read by their ends from an index that has them in the order of their ids, so that of a
concept with very many of them the same few are read each time, and no others.
"""

from dataclasses import dataclass, field
from typing import Final

from sidecypher import Context
from sidecypher_procedures.rules.retrieval.bounds import Bounds, Reach
from sidecypher_procedures.rules.retrieval.naming import names_of
from sidecypher_procedures.rules.retrieval.seeding import Seeds

# To name `fromKey` in ORDER BY is what lets the index give the order.
_FACTS: Final = """
    UNWIND range(0, size($keys) - 1) AS place
    WITH place, $keys[place] AS key
    CALL (key) {
        MATCH (f:Fact)
        WHERE f.fromKey = key AND f.factId > '' AND f.user = $user AND EXISTS {
            MATCH (e:Extraction)-[:ASSERTED|CREATED]->(f)
            WHERE $known IS NULL OR e.createdAt <= $known
        }
        RETURN f ORDER BY f.fromKey, f.factId LIMIT $most
        UNION
        MATCH (f:Fact)
        WHERE f.toKey = key AND f.factId > '' AND f.user = $user AND EXISTS {
            MATCH (e:Extraction)-[:ASSERTED|CREATED]->(f)
            WHERE $known IS NULL OR e.createdAt <= $known
        }
        RETURN f ORDER BY f.toKey, f.factId LIMIT $most
    }
    RETURN place, f.factId AS factId, f.type AS type, f.fromKey AS source, f.toKey AS target
    ORDER BY place, factId
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """A fact about two concepts.

    Attributes:
        fact_id: Its id.
        source: Key of the concept where it begins.
        type: What it is.
        target: Key of the concept where it ends.
    """

    fact_id: str
    source: str
    type: str
    target: str


@dataclass(slots=True)
class Neighbourhood:
    """Concepts and the relations between them.

    Attributes:
        names: The names of the concepts by key, in the order in which they were found.
        relations: The relations by id, in the order in which they were found.
        cut: Whether there are more.
    """

    names: dict[str, str] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    cut: bool = False

    def add(self, relation: Relation, names: dict[str, str], bounds: Bounds) -> None:
        """Add a relation between concepts that are there, and these, unless that were too many.

        Args:
            relation: What to add.
            names: The names of concepts that are not yet in here, by key.
            bounds: How much there may be.
        """
        ends = (relation.source, relation.target)
        new = {end: names[end] for end in ends if end in names and end not in self.names}
        if relation.fact_id in self.relations or not all(
            end in self.names or end in new for end in ends
        ):
            return
        if len(self.relations) >= bounds.relations or len(self.names) + len(new) > bounds.entities:
            self.cut = True
            return
        self.names |= new
        self.relations[relation.fact_id] = relation


def expand(ctx: Context, seeds: Seeds, reach: Reach) -> Neighbourhood:
    """Follow relations from the seeds, in both directions, breadth first.

    Args:
        ctx: The call.
        seeds: Where to begin.
        reach: How far to go.
    """
    around = Neighbourhood({each.key: seeds.names[each.key] for each in seeds.found})
    reached = list(around.names)
    for hop in range(reach.bounds.hops):
        if not reached or reach.deadline.expired():
            break
        before = len(around.names)
        # The seeds are the best already, and have a bound of their own.
        most = reach.bounds.frontier if hop else len(reached)
        around.cut |= len(reached) > most
        _hop(ctx, around, reached[:most], reach)
        reached = list(around.names)[before:]
    return around


def _hop(ctx: Context, around: Neighbourhood, frontier: list[str], reach: Reach) -> None:
    most = reach.bounds.node_relations
    found = ctx.run(_FACTS, keys=frontier, user=reach.user, known=reach.known, most=most + 1)
    counts = [0] * len(frontier)
    relations = []
    for fact in found:
        counts[fact["place"]] += 1
        if counts[fact["place"]] <= most:
            relations.append(Relation(fact["factId"], fact["source"], fact["type"], fact["target"]))
    around.cut |= any(count > most for count in counts)
    ends = (end for each in relations for end in (each.source, each.target))
    names = names_of(ctx, (end for end in ends if end not in around.names), reach)
    for each in relations:
        around.add(each, names, reach.bounds)
