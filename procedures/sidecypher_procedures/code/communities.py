"""Communities: groups of entities that have more to do with each other than with the rest."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import msgspec

from sidecypher_procedures.code.model import Algorithm, CodeGraph, Entity, RelationshipType

WEIGHTS: Final[Mapping[RelationshipType, float]] = {
    "calls": 1.0,
    "inherits": 1.0,
    "contains": 1.0,
    "imports": 0.5,
    "references": 0.5,
}
"""How much a relationship of which one is sure ties two entities."""

_USES: Final = frozenset({"calls", "inherits", "references"})
_SEED: Final = 1
_ITERATIONS: Final = 3
"""Ten take three times as long, for 0.1 % more modularity."""


@dataclass(frozen=True, slots=True)
class Community:
    """A group of entities.

    Attributes:
        id: Its number in the repository; it stays when a few members come and go.
        label: What a reader takes it for, such as ``shop.cart``.
        members: The ids of its entities, sorted.
    """

    id: int
    label: str
    members: list[str]


@dataclass(frozen=True, slots=True)
class Partition:
    """All communities of a repository.

    Attributes:
        digest: What it was made of: equal for equal relationships and the same algorithm.
    """

    algorithm: Algorithm
    digest: str
    communities: list[Community]


@dataclass(frozen=True, slots=True)
class Network:
    """What ties entities together, without directions.

    Attributes:
        names: The ids of all entities that are tied to others, sorted.
        ties: Both ends as indexes in `names`, the lower first, and the weight; sorted.
    """

    names: list[str]
    ties: list[tuple[int, int, float]]

    @classmethod
    def of(cls, graph: CodeGraph) -> "Network":
        """Take the definitions of a repository, without what it only imports."""
        own = {each.id for each in graph.entities if not each.external and each.type != "import"}
        weights: defaultdict[tuple[str, str], float] = defaultdict(float)
        for each in graph.relationships:
            ends = sorted((each.source, each.target))
            if own.issuperset(ends) and each.source != each.target:
                weights[ends[0], ends[1]] += WEIGHTS[each.type] * each.confidence
        names = sorted({name for ends in weights for name in ends})
        index = {name: number for number, name in enumerate(names)}
        return cls(
            names, sorted((index[one], index[other], tie) for (one, other), tie in weights.items())
        )

    def digest(self, algorithm: Algorithm) -> str:
        """Return a text that differs if the communities can differ."""
        content = msgspec.msgpack.encode((algorithm, self.names, self.ties))
        return hashlib.blake2b(content, digest_size=12).hexdigest()

    def groups(self, algorithm: Algorithm) -> list[list[str]]:
        """Return the communities: sorted members, in the order of the first ones."""
        members: defaultdict[int, list[str]] = defaultdict(list)
        if self.ties and algorithm != "none":
            for name, group in zip(self.names, _ALGORITHMS[algorithm](self), strict=True):
                members[group].append(name)
        return list(members.values())


def partition(
    graph: CodeGraph, algorithm: Algorithm, *, digest: str, stored: Mapping[int, Iterable[str]]
) -> Partition | None:
    """Return the communities of a repository; None if the stored ones are right.

    Args:
        graph: The repository's graph.
        algorithm: How they are found.
        digest: The digest of the stored ones.
        stored: The ids of the members of each stored community.
    """
    network = Network.of(graph)
    wanted = network.digest(algorithm)
    if wanted == digest:
        return None
    groups = network.groups(algorithm)
    labels = _labels(groups, graph)
    return Partition(
        algorithm,
        wanted,
        [
            Community(number, label, members)
            for number, label, members in zip(numbers(groups, stored), labels, groups, strict=True)
        ],
    )


def numbers(groups: Sequence[Sequence[str]], stored: Mapping[int, Iterable[str]]) -> list[int]:
    """Number communities: by the stored one that they share the most members with, or anew.

    Example:
        >>> numbers([["a", "b"], ["c", "d", "e"]], {7: ["b", "c", "d"]})
        [8, 7]
    """
    homes = {member: number for number, members in stored.items() for member in members}
    shared = Counter(
        (group, homes[member])
        for group, members in enumerate(groups)
        for member in members
        if member in homes
    )
    kept: dict[int, int] = {}
    taken: set[int] = set()
    for group, number in sorted(shared, key=lambda pair: (-shared[pair], pair)):
        if group not in kept and number not in taken:
            kept[group] = number
            taken.add(number)
    following = count(max(stored, default=-1) + 1)
    return [kept[group] if group in kept else next(following) for group in range(len(groups))]


def _labels(groups: Sequence[Sequence[str]], graph: CodeGraph) -> list[str]:
    """Name communities by what most names of members begin with; twins by a member, too."""
    entities = {each.id: each for each in graph.entities}
    uses = Counter(each.target for each in graph.relationships if each.type in _USES)
    named = [[entities[member] for member in members] for members in groups]
    central = [
        min(
            members,
            key=lambda each: (
                each.name.startswith("_"),
                -uses[each.id],
                each.qualified_name,
                each.id,
            ),
        )
        for members in named
    ]
    beginnings = [_beginning(members) for members in named]
    twins = Counter(beginnings)
    return [
        beginning if twins[beginning] == 1 else f"{beginning} ({first.name})"
        for beginning, first in zip(beginnings, central, strict=True)
    ]


def _beginning(members: Sequence[Entity]) -> str:
    """Return a dotted name that many names begin with; a longer one may be that of fewer."""
    counts: Counter[str] = Counter()
    for each in members:
        parts = each.qualified_name.split(".")
        counts.update(".".join(parts[:length]) for length in range(1, len(parts) + 1))
    # The name of the whole repository begins most names, and says least.
    return max(counts, key=lambda name: (counts[name] * (2 * name.count(".") + 1), name))


# The libraries take half a second to be loaded, so this waits until they are needed.


def _louvain(network: Network) -> Sequence[int]:
    import networkit  # noqa: PLC0415

    networkit.setNumberOfThreads(1)
    networkit.setSeed(_SEED, useThreadId=False)
    ties = _matrix(network)
    # As a matrix, they would lose their weights.
    coordinates = ties.data, (ties.row, ties.col)
    graph = networkit.GraphFromCoo(coordinates, n=len(network.names), weighted=True)
    # Without a random order, what is far from an edit stays as it was.
    plm = networkit.community.PLM(graph, refine=True, par="none")
    plm.run()
    found: list[int] = plm.getPartition().getVector()
    return found


def _leiden(network: Network) -> Sequence[int]:
    import graspologic_native  # noqa: PLC0415

    ties = _matrix(network).tocsr()
    both = ties + ties.T
    both.sort_indices()
    _, found = graspologic_native.leiden_csr(
        both.indptr.astype("int64"),
        both.indices.astype("int32"),
        both.data,
        len(network.names),
        iterations=_ITERATIONS,
        seed=_SEED,
    )
    return [found[number] for number in range(len(network.names))]


def _matrix(network: Network) -> Any:
    from scipy.sparse import coo_array  # noqa: PLC0415

    sources, targets, weights = zip(*network.ties, strict=True)
    size = len(network.names)
    return coo_array((weights, (sources, targets)), shape=(size, size))


def _label_propagation(network: Network) -> Sequence[int]:
    import networkx as nx  # noqa: PLC0415

    graph = nx.Graph()
    graph.add_weighted_edges_from(network.ties)
    groups = nx.community.fast_label_propagation_communities(graph, weight="weight", seed=_SEED)
    found = {number: group for group, members in enumerate(groups) for number in members}
    return [found[number] for number in range(len(network.names))]


_ALGORITHMS: Final[Mapping[str, Callable[[Network], Sequence[int]]]] = {
    "louvain": _louvain,
    "leiden": _leiden,
    "label_propagation": _label_propagation,
}
