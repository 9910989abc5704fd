"""Metrics of a consumer."""

import asyncio
from collections.abc import Iterator
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from sidecypher_procedures.sync.changes.publisher import ChangePublisher
from sidecypher_procedures.sync.consumer import Consumer
from sidecypher_procedures.sync.errors import SyncError
from sidecypher_procedures.sync.exposition import count_metrics
from sidecypher_procedures.sync.status import PartitionStatus, read_status

_READ_SECONDS: Final = 5.0

_GAUGES: Final = {
    "lag": "Entries that no consumer has read.",
    "pending": "Entries that were read and are not in the graph yet.",
    "oldest_seconds": "Age of the oldest entry that is not in the graph.",
    "dead": "Dead letters.",
    "parked": "Runs whose events become dead letters.",
}


class ConsumerMetrics(Collector):
    """What this process has done, and what waits in all partitions and in the outbox."""

    def __init__(self, consumer: Consumer, changes: ChangePublisher) -> None:
        self._consumer = consumer
        self._changes = changes
        self._found: list[PartitionStatus] = []

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, those of partitions as they were read last."""
        yield from count_metrics("sidecypher_sync", self._consumer.counts)
        yield GaugeMetricFamily(
            "sidecypher_sync_partitions",
            "Partitions that this consumer has.",
            value=len(self._consumer.partitions),
        )
        yield CounterMetricFamily(
            "sidecypher_sync_changes",
            "Changes that this process has published.",
            value=self._changes.published,
        )
        yield GaugeMetricFamily(
            "sidecypher_sync_changes_waiting",
            "Changes that wait in the outbox; 0 while another process publishes.",
            value=self._changes.waiting,
        )
        for name, meaning in _GAUGES.items():
            family = GaugeMetricFamily(
                f"sidecypher_sync_partition_{name}", meaning, labels=["partition"]
            )
            for each in self._found:
                family.add_metric([str(each.partition)], getattr(each, name))
            yield family

    async def keep_reading(self, redis: Any, partitions: int) -> None:
        """Read the state of the partitions again and again."""
        while True:
            try:
                self._found = await read_status(redis, partitions)
            except SyncError:
                # The consumer logs that Redis is away; old numbers would look like new ones.
                self._found = []
            await asyncio.sleep(_READ_SECONDS)
