"""Counting what is in the graph, for `/metrics`.

Neo4j keeps the counts itself, so asking costs the same however large the graph is. It is asked when
somebody reads `/metrics`, in a thread of its own, and never in a call: who never looks pays
nothing, and who looks never waits.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, LiteralString

from sidecypher.address import Address, bolt_address
from sidecypher.metrics import GraphSize
from sidecypher.settings import Settings

if TYPE_CHECKING:
    import neo4j

REFRESH_SECONDS: Final = 15.0
"""The graph is counted no more often than this."""

PATIENCE_SECONDS: Final = 5.0
"""How long Neo4j may take to accept a connection, or to answer."""

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
        self._settings = settings
        self._size = size
        self._lock = threading.Lock()
        self._asked = -REFRESH_SECONDS
        self._thread: threading.Thread | None = None
        self._driver: neo4j.Driver | None = None
        self._address: Address | None = None
        self._refused: Address | None = None

    def refresh(self) -> None:
        """Have the graph counted, unless that was done a moment ago or is being done."""
        with self._lock:
            now = time.monotonic()
            is_busy = self._thread is not None and self._thread.is_alive()
            if is_busy or now - self._asked < REFRESH_SECONDS:
                return
            self._asked = now
            self._thread = threading.Thread(
                target=self._count, name="sidecypher-counter", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Close the connection, once nothing is being asked."""
        with self._lock:
            self._asked = float("inf")
            thread = self._thread
        if thread is not None:
            thread.join(PATIENCE_SECONDS)
        self._close()

    def _count(self) -> None:
        # 30 MB and 0.2 s that a sidecar without anybody who looks is spared.
        import neo4j  # noqa: PLC0415
        from neo4j.exceptions import AuthError, DriverError, Neo4jError  # noqa: PLC0415

        address = bolt_address(self._settings)
        if address is None or address == self._refused:
            # Wrong passwords, again and again, would lock the user out of Neo4j.
            self._size.forget()
            return
        try:
            if self._driver is None or address != self._address:
                self._close()
                self._driver = _connect(neo4j, address)
                self._address = address
            with self._driver.session() as session:
                found = session.run(neo4j.Query(_COUNTS, timeout=PATIENCE_SECONDS)).single()
        except (DriverError, Neo4jError, OSError) as error:
            if isinstance(error, AuthError):
                self._refused = address
            self._size.forget()
            self._close()
            return
        if found is not None:
            self._size.tell(
                _by_name(found["nodes"], "label"),
                _by_name(found["relationships"], "relationshipType"),
            )

    def _close(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()


def _connect(driver: Any, address: Address) -> "neo4j.Driver":
    uri, auth = address
    made: neo4j.Driver = driver.GraphDatabase.driver(
        uri,
        auth=auth,
        max_connection_pool_size=1,
        connection_timeout=PATIENCE_SECONDS,
        connection_acquisition_timeout=PATIENCE_SECONDS,
        notifications_min_severity="OFF",
    )
    return made


def _by_name(counts: Iterable[Mapping[str, Any]], key: str) -> dict[str, int]:
    """Return the counts of one label or type each; those of patterns name an end as well."""
    ends = {"startLabel", "endLabel"}
    found = {each[key]: each["count"] for each in counts if key in each and not ends & each.keys()}
    return {name: found[name] for name in sorted(found)[:MOST_NAMES]}
