"""Metrics of a process of `sync` for Prometheus, over HTTP on this machine."""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from sidecypher_procedures.sync.counts import Counts
from sidecypher_procedures.sync.errors import SyncSettingsError

_COUNTERS: Final = {
    "written": "Events that this process has written.",
    "duplicates": "Events that were in the graph before.",
    "dead": "Events that became dead letters.",
    "failures": "Tries while Neo4j or the sidecar was away.",
}


def count_metrics(prefix: str, counts: Counts) -> Iterator[Metric]:
    """Yield what a process has done, under names with a prefix."""
    for name, meaning in _COUNTERS.items():
        yield CounterMetricFamily(f"{prefix}_{name}", meaning, value=getattr(counts, name))


def serve_metrics(metrics: Collector, port: int, *, variable: str) -> int:
    """Serve metrics, and those of the process, at `/metrics` of the loopback interface.

    Args:
        metrics: What yields them.
        port: The port; 0 picks a free one.
        variable: The environment variable that has set it.

    Returns:
        The port.

    Raises:
        SyncSettingsError: The port cannot be used.
    """
    registry = CollectorRegistry()
    registry.register(metrics)
    ProcessCollector(registry=registry)
    try:
        server, _ = start_http_server(port, addr="127.0.0.1", registry=registry)
    except OSError as error:
        raise SyncSettingsError(
            f"Port {port} for metrics cannot be used: {error.strerror}",
            hint=f"Set {variable} to another one, or to 0.",
        ) from None
    return int(server.server_port)
