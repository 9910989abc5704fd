"""Graph algorithms of networkx, in a process of their own."""

from collections.abc import Iterator

import networkx as nx

from sidecypher import ProcedureError, Row, procedure


class Ranked(Row):
    """A node and how important it is."""

    node_id: str
    score: float


@procedure("ranking.pageRank", executor="process", timeout=120.0)
def page_rank(links: list[list[str]], damping: float = 0.85) -> Iterator[Ranked]:
    """Rank nodes by the links between them, the most important first."""
    if not 0 < damping < 1:
        raise ProcedureError("`damping` must be between 0 and 1", code="ranking.damping")
    if any(len(link) != 2 for link in links):
        raise ProcedureError("A link is a list of two ids: from, to", code="ranking.link")
    graph = nx.DiGraph(links)
    scores = nx.pagerank(graph, alpha=damping)
    for node_id in sorted(scores, key=scores.__getitem__, reverse=True):
        yield Ranked(node_id=node_id, score=scores[node_id])
