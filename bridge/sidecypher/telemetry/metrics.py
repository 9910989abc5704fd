"""Metrics of calls for Prometheus.

One collector instead of six metric objects: a call pays for one lock, not for six.
"""

import math
import threading
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Self

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from sidecypher.protocol.envelope import FailuresRequest

BUCKET_SECONDS: Final = (0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds of the buckets of all histograms of seconds."""

_LABELS: Final = ("procedure",)

_SUCCESSFUL: Final = ("ok", "closed")
"""Outcomes that are not errors."""


Counts = tuple[int, ...]
"""Calls, errors, and each bucket of the histogram of durations, since the sidecar has started."""


class Seconds:
    """A histogram of seconds; its owner holds the lock."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKET_SECONDS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(BUCKET_SECONDS, seconds)] += 1
        self.total += seconds

    def buckets(self) -> list[tuple[str, float]]:
        """Return the cumulative buckets in the form of Prometheus."""
        bounds = [*(repr(bound) for bound in BUCKET_SECONDS), "+Inf"]
        return list(zip(bounds, map(float, accumulate(self.counts)), strict=True))

    def mean(self) -> float | None:
        """Return the mean, None without any duration."""
        count = sum(self.counts)
        return self.total / count if count else None

    def quantile_bound(self, share: float) -> float | None:
        """Return the upper bound of this share of all durations; infinity above the last bucket.

        Example:
            >>> seconds = Seconds()
            >>> for each in (0.0001, 0.003, 0.004, 60.0):
            ...     seconds.observe(each)
            >>> seconds.quantile_bound(0.5), seconds.quantile_bound(1.0)
            (0.005, inf)
        """
        wanted = share * sum(self.counts)
        bounds = zip((*BUCKET_SECONDS, math.inf), accumulate(self.counts), strict=True)
        return next((bound for bound, count in bounds if count >= wanted), None) if wanted else None


class Series:
    """The numbers of one procedure or function."""

    __slots__ = ("lock", "outcomes", "pages", "queued", "received", "rows", "sent", "taken")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.outcomes: dict[str, int] = {}
        self.taken = Seconds()
        self.queued = Seconds()
        self.pages = self.rows = self.received = self.sent = 0

    def page(self, rows: int, received: int, sent: int) -> None:
        """Count a message that was answered; the caller holds the lock."""
        self.pages += 1
        self.rows += rows
        self.received += received
        self.sent += sent

    def end(self, outcome: str, seconds: float) -> None:
        """Count a call that is over; the caller holds the lock."""
        self.count(outcome)
        self.taken.observe(seconds)

    def count(self, outcome: str) -> None:
        """Count a call that is over or was never started; the caller holds the lock."""
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def ended(self) -> tuple[int, int]:
        """Return the calls that are over and those in error; the caller holds the lock."""
        calls = sum(self.outcomes.values())
        return calls, calls - sum(self.outcomes.get(each, 0) for each in _SUCCESSFUL)


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of one procedure or function for a person.

    Attributes:
        calls: Calls that are over or were never started.
        errors: Those of them that ended in an error.
        mean: Seconds that a call took, None before the first one.
        median: Seconds within which half of the calls were over, as a bucket's bound.
        p95: The same for 95 % of the calls.
    """

    calls: int
    errors: int
    mean: float | None
    median: float | None
    p95: float | None

    @classmethod
    def of(cls, series: Series) -> Self:
        """Summarize a series."""
        with series.lock:
            calls, errors = series.ended()
            taken = series.taken
            median, p95 = taken.quantile_bound(0.5), taken.quantile_bound(0.95)
            return cls(calls, errors, taken.mean(), median, p95)


class CallMetrics(Collector):
    """The series of all procedures; a function that shares a procedure's name shares its series.

    Names come from the registry, never from a caller, which limits the number of series.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._series: dict[str, Series] = {}

    def series(self, name: str) -> Series:
        """Return the series of a procedure or function, made at its first use."""
        found = self._series.get(name)
        if found is None:
            with self._lock:
                found = self._series.setdefault(name, Series())
        return found

    def summaries(self) -> dict[str, Summary]:
        """Return the summaries by the name of procedure or function."""
        with self._lock:
            found = list(self._series.items())
        return {name: Summary.of(series) for name, series in found}

    def counts(self) -> dict[str, Counts]:
        """Return the counts of all that was ever called, by name."""
        with self._lock:
            found = list(self._series.items())
        counted = {}
        for name, series in found:
            with series.lock:
                counted[name] = (*series.ended(), *series.taken.counts)
        return counted

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics as they are now."""
        calls = CounterMetricFamily(
            "sidecypher_calls", "Calls that are over", labels=(*_LABELS, "outcome")
        )
        taken = HistogramMetricFamily(
            "sidecypher_call_seconds",
            "Seconds a call took in Python, callbacks included",
            labels=_LABELS,
        )
        queued = HistogramMetricFamily(
            "sidecypher_queue_seconds",
            "Seconds a call waited for a worker process or an HTTP thread",
            labels=_LABELS,
        )
        counters = {
            attribute: CounterMetricFamily(f"sidecypher_{metric}", text, labels=_LABELS)
            for attribute, metric, text in _COUNTERS
        }
        with self._lock:
            found = list(self._series.items())
        for name, series in found:
            with series.lock:
                for outcome, count in series.outcomes.items():
                    calls.add_metric((name, outcome), count)
                _add(taken, name, series.taken)
                # Most procedures never wait; their empty histograms would be half of the text.
                if any(series.queued.counts):
                    _add(queued, name, series.queued)
                for attribute, family in counters.items():
                    family.add_metric((name,), getattr(series, attribute))
        yield from (calls, taken, queued, *counters.values())


class PluginReports(Collector):
    """The latest reports of connected JVMs about calls that did not reach the sidecar."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reports: dict[int, tuple[str, FailuresRequest]] = {}

    def update(self, source: object, jvm: str, report: FailuresRequest) -> None:
        """Replace the report of a source.

        Args:
            source: The connection.
            jvm: Identity of the JVM, new at each of its starts.
            report: All that it has counted so far.
        """
        with self._lock:
            self._reports[id(source)] = (jvm, report)

    def forget(self, source: object) -> None:
        """Remove the report of a closed connection."""
        with self._lock:
            self._reports.pop(id(source), None)

    def latest(self) -> dict[str, FailuresRequest]:
        """Return the reports by the identity of their JVM."""
        with self._lock:
            # A JVM that connects again may be here twice for a moment; the later report counts.
            return dict(self._reports.values())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now."""
        failures = CounterMetricFamily(
            "sidecypher_plugin_failures",
            "Calls that plugins have ended by themselves since their JVM started",
            labels=("jvm", "procedure", "code", "result"),
        )
        cached = CounterMetricFamily(
            "sidecypher_cached_calls",
            "Calls of procedures with a cache since their JVM started",
            labels=("jvm", "procedure", "result"),
        )
        size = GaugeMetricFamily(
            "sidecypher_cache_bytes", "Size of the rows kept", labels=("jvm", "procedure")
        )
        for jvm, report in self.latest().items():
            for failed in report.failures:
                labels = (jvm, failed.procedure, failed.code, failed.result)
                failures.add_metric(labels, failed.count)
            for each in report.cache:
                alone = each.hits_without_sidecar
                cached.add_metric((jvm, each.procedure, "hit"), each.hits - alone)
                cached.add_metric((jvm, each.procedure, "hit without sidecar"), alone)
                cached.add_metric((jvm, each.procedure, "miss"), each.misses)
                size.add_metric((jvm, each.procedure), each.bytes)
        yield from (failures, cached, size)


_COUNTERS: Final = (
    ("pages", "pages", "Messages of calls that were answered: first and further pages"),
    ("rows", "rows", "Rows sent"),
    ("received", "received_bytes", "Bytes of the requests that begin calls"),
    ("sent", "sent_bytes", "Bytes of replies; those of `ctx.run` are not counted"),
)


def _add(family: HistogramMetricFamily, name: str, seconds: Seconds) -> None:
    family.add_metric((name,), seconds.buckets(), seconds.total)
