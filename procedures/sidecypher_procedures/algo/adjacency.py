"""The projected part of the graph as arrays and as graphs of libraries."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sidecypher_procedures.algo.errors import LibrariesMissing, WrongWeight

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

PROJECT: Final = """
MATCH (n:$any($labels))
CALL (n) {
    MATCH (n)-[r]->(m:$any($labels))
    WHERE size($types) = 0 OR type(r) IN $types
    RETURN collect(id(m)) AS targets,
           CASE WHEN $options.weight IS NULL THEN []
                ELSE collect(coalesce(toFloatOrNull(r[$options.weight]), 1.0)) END AS weights
}
RETURN elementId(n) AS node, id(n) AS id, targets, weights
"""
"""A row for each node, and not for each relationship: an element id is a long text."""


@dataclass(frozen=True)
class Adjacency:
    """Nodes and their relationships, by positions in the list of nodes.

    Attributes:
        nodes: Element ids, in the order of the nodes' numbers: results do not depend on the order
            in which Neo4j has given them.
        sources: The position of the source of each relationship.
        targets: The position of its target.
        weights: Its weight; None if all are 1.
    """

    nodes: list[str]
    sources: "np.ndarray[Any, Any]"
    targets: "np.ndarray[Any, Any]"
    weights: "np.ndarray[Any, Any] | None"

    @classmethod
    def of(cls, table: "pa.Table") -> "Adjacency":
        """Return the graph in the table of a projection.

        Raises:
            LibrariesMissing: The extra `algo` is not installed.
            WrongWeight: A weight is negative, or not finite.
        """
        try:
            import networkit  # noqa: F401, PLC0415 - half a second, for those who call it
            import numpy as np  # noqa: PLC0415
            import pyarrow as pa  # noqa: PLC0415
        except ImportError as error:
            raise LibrariesMissing(f"`{error.name}` is not installed") from None
        table = table.sort_by("id").combine_chunks()
        ids = table["id"].to_numpy()
        lists = _lists(table, "targets", pa.int64())
        ends = lists.flatten().to_numpy()
        targets = np.searchsorted(ids, ends)
        # Another transaction may have added a node while the statement ran.
        known = targets < len(ids)
        known[known] = ids[targets[known]] == ends[known]
        sources = np.repeat(np.arange(len(ids)), lists.value_lengths().to_numpy())
        weights = _lists(table, "weights", pa.float64()).flatten().to_numpy()
        if not len(weights):
            return cls(table["node"].to_pylist(), sources[known], targets[known], None)
        if not np.isfinite(weights).all() or weights.min() < 0:
            raise WrongWeight("A relationship has a negative or infinite weight")
        # Without weight there is no way; a node that has only such relationships has none.
        known &= weights > 0
        nodes = table["node"].to_pylist()
        return cls(nodes, sources[known], targets[known], weights[known])

    def networkit(self, *, directed: bool) -> Any:
        """Return the graph as one of networkit, which then uses one thread.

        Args:
            directed: If not, relationships between two nodes become one, with their weights added.
        """
        import networkit  # noqa: PLC0415
        import numpy as np  # noqa: PLC0415

        networkit.setNumberOfThreads(1)
        networkit.setSeed(1, useThreadId=False)
        count = len(self.nodes)
        weights = np.ones(len(self.sources)) if self.weights is None else self.weights
        sources, targets = self.sources, self.targets
        if not directed:
            sources, targets = np.minimum(sources, targets), np.maximum(sources, targets)
        pairs, which = np.unique(sources * count + targets, return_inverse=True)
        merged = np.bincount(which, weights, len(pairs)) if len(pairs) else weights
        return networkit.GraphFromCoo(
            (merged, (pairs // max(1, count), pairs % max(1, count))),
            n=count,
            weighted=True,
            directed=directed,
        )

    def matrix(self) -> Any:
        """Return a sparse matrix of scipy: 1 where a node has a relationship to another."""
        import numpy as np  # noqa: PLC0415
        from scipy import sparse  # noqa: PLC0415

        count = len(self.nodes)
        ones = np.ones(len(self.sources), dtype=np.int32)
        found = sparse.csr_array((ones, (self.sources, self.targets)), shape=(count, count))
        found.sum_duplicates()
        found.data[:] = 1
        return found


def _lists(table: "pa.Table", column: str, kind: "pa.DataType") -> Any:
    """Return a column of lists; of lists that are all empty Arrow does not know the type."""
    import pyarrow as pa  # noqa: PLC0415

    found = table[column].combine_chunks()
    if pa.types.is_null(found.type):
        return pa.array([[]] * len(found), pa.list_(kind))
    return found.cast(pa.list_(kind))
