"""`algo.pagerank`, `algo.communities` and `algo.similarity`."""

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from sidecypher import Context, Description, Node, Options, Row, procedure
from sidecypher_procedures.algo.adjacency import PROJECT, Adjacency
from sidecypher_procedures.algo.settings import AlgoSettings

_EXECUTOR: Final = AlgoSettings.load().executor
_TIMEOUT: Final = 600.0

_MOST_ITERATIONS: Final = 1000
"""Each brings ranks nearer to their limit by the damping: 0.97 to the 1000th is 6e-14."""

_ROWS_AT_ONCE: Final = 512
"""Rows of the matrix of similarities that are in memory at a time."""

Labels = Annotated[list[str], Description("labels of the nodes; a node has one at least")]
Types = Annotated[list[str], Description("types of the relationships; [] for all")]
Weight = Annotated[
    str | None,
    Description("property of relationships that holds their weight; 1 where it is not a number"),
]
Most = Annotated[int | None, Description("of rows, those with the highest score; null for all")]


class PageRankOptions(Options):
    """How ranks are computed."""

    weight: Weight = None
    damping: Annotated[
        float, Description("probability to follow a relationship"), Field(gt=0, lt=1)
    ] = 0.85
    tolerance: Annotated[
        float, Description("sum of changes at which it ends"), Field(ge=1e-15, le=1)
    ] = 1e-8
    limit: Annotated[Most, Field(ge=1)] = None


class CommunityOptions(Options):
    """How communities are found."""

    weight: Weight = None
    resolution: Annotated[
        float, Description("higher for more and smaller communities"), Field(gt=0, le=1000)
    ] = 1.0


class SimilarityOptions(Options):
    """Which pairs are given."""

    least: Annotated[float, Description("least similarity of a pair"), Field(gt=0, le=1)] = 0.5
    most: Annotated[int, Description("pairs for each node"), Field(ge=1, le=1000)] = 10


class Rank(Row):
    """A node and its rank."""

    node: Node
    score: Annotated[float, Description("PageRank; all of them together are 1")]


class Member(Row):
    """A node and its community."""

    node: Node
    community: Annotated[int, Description("number of its community; 0 is the largest")]
    size: Annotated[int, Description("nodes of the community")]


class Pair(Row):
    """Two similar nodes."""

    first: Node
    second: Node
    similarity: Annotated[float, Description("from above 0 to 1")]


@procedure("algo.pagerank", executor=_EXECUTOR, project=PROJECT, timeout=_TIMEOUT, retryable=True)
def pagerank(
    ctx: Context,
    labels: Labels,
    types: Types = [],
    options: PageRankOptions = PageRankOptions(),
) -> Iterator[Rank]:
    """Rank nodes by the relationships that lead to them, the highest rank first."""
    adjacency = Adjacency.of(ctx.projection)
    if not adjacency.nodes:
        return
    import networkit  # noqa: PLC0415 - half a second, for those who call it

    algorithm = networkit.centrality.PageRank(
        adjacency.networkit(directed=True),
        options.damping,
        options.tolerance,
        distributeSinks=networkit.centrality.SinkHandling.DistributeSinks,
    )
    algorithm.maxIterations = _MOST_ITERATIONS
    algorithm.run()
    for position, score in algorithm.ranking()[: options.limit]:
        yield Rank(node=Node(adjacency.nodes[position]), score=score)


@procedure(
    "algo.communities", executor=_EXECUTOR, project=PROJECT, timeout=_TIMEOUT, retryable=True
)
def communities(
    ctx: Context,
    labels: Labels,
    types: Types = [],
    options: CommunityOptions = CommunityOptions(),
) -> Iterator[Member]:
    """Find groups of nodes with many relationships among them, whatever their direction."""
    adjacency = Adjacency.of(ctx.projection)
    if not adjacency.nodes:
        return
    import networkit  # noqa: PLC0415

    algorithm = networkit.community.PLM(
        adjacency.networkit(directed=False), refine=True, gamma=options.resolution, par="none"
    )
    algorithm.run()
    found = algorithm.getPartition().getVector()
    members: dict[int, list[int]] = {}
    for position, community in enumerate(found):
        members.setdefault(community, []).append(position)
    largest_first = sorted(members.values(), key=lambda each: (-len(each), each))
    for number, positions in enumerate(largest_first):
        for position in positions:
            yield Member(
                node=Node(adjacency.nodes[position]), community=number, size=len(positions)
            )


@procedure("algo.similarity", executor=_EXECUTOR, project=PROJECT, timeout=_TIMEOUT, retryable=True)
def similarity(
    ctx: Context,
    labels: Labels,
    types: Types = [],
    options: SimilarityOptions = SimilarityOptions(),
) -> Iterator[Pair]:
    """Find nodes whose relationships lead to the same nodes, by their Jaccard similarity."""
    adjacency = Adjacency.of(ctx.projection)
    if not adjacency.nodes:
        return
    import numpy as np  # noqa: PLC0415

    matrix = adjacency.matrix()
    degrees = matrix.sum(axis=1)
    others = matrix.T.tocsr()
    for start in range(0, len(adjacency.nodes), _ROWS_AT_ONCE):
        ctx.check()
        common = (matrix[start : start + _ROWS_AT_ONCE] @ others).tocsr()
        for offset in range(common.shape[0]):
            row = slice(common.indptr[offset], common.indptr[offset + 1])
            positions, shared = common.indices[row], common.data[row]
            first = start + offset
            scores = shared / (degrees[first] + degrees[positions] - shared)
            wanted = (scores >= options.least) & (positions != first)
            positions, scores = positions[wanted], scores[wanted]
            best = np.lexsort((positions, -scores))[: options.most]
            for each in best:
                yield Pair(
                    first=Node(adjacency.nodes[first]),
                    second=Node(adjacency.nodes[positions[each]]),
                    similarity=float(scores[each]),
                )
