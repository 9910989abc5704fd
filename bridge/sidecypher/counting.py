"""Counting what is in the graph, for `/metrics`.

Neo4j keeps the counts itself, so asking costs the same however large the graph is. It is asked when
a request with the token reads `/metrics`, in a thread of its own, and never in a call: who never
looks pays nothing, and who looks never waits.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, LiteralString

from sidecypher.address import bolt_address
from sidecypher.bolt import BoltConnection
from sidecypher.errors import SidecypherError
from sidecypher.metrics import GraphSize
from sidecypher.settings import Settings

REFRESH_SECONDS: Final = 15.0
"""The graph is counted no more often than this."""

PATIENCE_SECONDS: Final = 5.0
"""How long Neo4j may take to answer."""

MOST_NAMES: Final = 100
"""Labels, and types, that are told; the first by name. Each is a series of its own."""

_COUNTS: Final[LiteralString] = (
    "CALL db.stats.retrieve('GRAPH COUNTS') YIELD data "
    "RETURN data.nodes AS nodes, data.relationships AS relationships"
)


class GraphCounter:
    """Tells `/metrics` how many nodes and relationships there are.

    Args:
        settings: Where Neo4j is.
        size: Is told the counts; told nothing while Neo4j cannot be asked.
    """

    def __init__(self, settings: Settings, size: GraphSize) -> None:
        self._neo4j = BoltConnection(partial(bolt_address, settings))
        self._size = size
        self._lock = threading.Lock()
        self._asked = -REFRESH_SECONDS
        self._is_busy = False
        self._is_stopped = False

    def refresh(self) -> None:
        """Have the graph counted, unless that was done a moment ago or is being done."""
        with self._lock:
            now = time.monotonic()
            if self._is_stopped or self._is_busy or now - self._asked < REFRESH_SECONDS:
                return
            self._asked, self._is_busy = now, True
        threading.Thread(target=self._run, name="sidecypher-counter", daemon=True).start()

    def stop(self) -> None:
        """Close the connection, or have it closed after what is being asked; nobody waits."""
        with self._lock:
            self._is_stopped = True
            if self._is_busy:
                # The driver is not to be closed while it is used: it would open a connection again.
                return
        self._neo4j.close()

    def _run(self) -> None:
        try:
            self._count()
        finally:
            with self._lock:
                self._is_busy = False
                is_stopped = self._is_stopped
            if is_stopped:
                self._neo4j.close()

    def _count(self) -> None:
        try:
            [found] = self._neo4j.run(_COUNTS, {}, PATIENCE_SECONDS)
        except SidecypherError:
            self._size.forget()
            return
        self._size.tell(
            _by_name(found["nodes"], "label"), _by_name(found["relationships"], "relationshipType")
        )


def _by_name(counts: Iterable[Mapping[str, Any]], key: str) -> dict[str, int]:
    """Return the counts of one label or type each; those of patterns name an end as well."""
    ends = {"startLabel", "endLabel"}
    found = {each[key]: each["count"] for each in counts if key in each and not ends & each.keys()}
    return {name: found[name] for name in sorted(found)[:MOST_NAMES]}
