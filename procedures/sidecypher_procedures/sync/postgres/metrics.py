"""Metrics of a worker."""

import asyncio
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from sidecypher_procedures.sync.counts import Counts
from sidecypher_procedures.sync.errors import SyncError
from sidecypher_procedures.sync.exposition import count_metrics
from sidecypher_procedures.sync.postgres.connection import connect, translating
from sidecypher_procedures.sync.postgres.status import OutboxStatus, read_status

_READ_SECONDS: Final = 5.0

_PREFIX: Final = "sidecypher_postgres"
_GAUGES: Final = {
    "waiting": "Events that are not in the graph yet, without those of parked runs.",
    "oldest_seconds": "Age of the oldest of these.",
    "dead": "Dead letters.",
    "behind": "Events that wait behind a dead letter of their run.",
    "parked": "Runs with a dead letter.",
    "workers": "Workers that are connected to this database.",
}


class WorkerMetrics(Collector):
    """What this worker has done, and what waits in the outbox.

    Args:
        url: The address of PostgreSQL.
        schema: The schema with the tables.
        counts: What the worker has done.
    """

    def __init__(self, url: str, schema: str, counts: Counts) -> None:
        self._url = url
        self._schema = schema
        self._counts = counts
        self._found: OutboxStatus | None = None

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, those of the outbox as it was read last."""
        yield from count_metrics(_PREFIX, self._counts)
        for name, meaning in _GAUGES.items():
            family = GaugeMetricFamily(f"{_PREFIX}_outbox_{name}", meaning)
            if self._found is not None:
                family.add_metric([], getattr(self._found, name))
            yield family

    async def keep_reading(self) -> None:
        """Read the state of the outbox again and again."""
        while True:
            try:
                async with await connect(self._url) as conn:
                    while True:
                        with translating():
                            self._found = await read_status(conn, self._schema)
                        await asyncio.sleep(_READ_SECONDS)
            except SyncError:
                # The worker logs that PostgreSQL is away; old numbers would look like new ones.
                self._found = None
            await asyncio.sleep(_READ_SECONDS)
