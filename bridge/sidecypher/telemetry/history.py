"""Calls, errors and durations of the last hour, sampled from the counters of `/metrics`.

A call pays nothing for it: the counters that it changes anyway are read every ten seconds.
"""

import threading
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import add, sub
from typing import Final

from sidecypher.telemetry.metrics import BUCKET_SECONDS, CallMetrics, Counts

PERIOD_SECONDS: Final = 10
"""Length of a period; a person who looks at a chart sees no shorter ones."""

PERIODS: Final = 361
"""Periods that are kept: those of one hour, and the one that has not ended."""

_WIDTH: Final = 2 + len(BUCKET_SECONDS) + 1
"""Numbers of a period: calls, errors, and each bucket of the histogram of durations."""

_NOTHING: Final = (0,) * _WIDTH

_RING_BYTES: Final = PERIODS * _WIDTH * array("I").itemsize


@dataclass(frozen=True, slots=True)
class Period:
    """What one procedure, or all of them, did in a span of time.

    Attributes:
        calls: Calls that ended, or that were refused.
        errors: Those of them that ended in an error.
        buckets: Durations by the buckets of `BUCKET_SECONDS` and one above them.
    """

    calls: int
    errors: int
    buckets: tuple[int, ...]

    @classmethod
    def sum(cls, periods: "Sequence[Period]") -> "Period":
        """Return several periods as one.

        Example:
            >>> Period.sum([Period(1, 0, (0, 1)), Period(2, 1, (1, 1))])
            Period(calls=3, errors=1, buckets=(1, 2))
        """
        return cls(
            sum(each.calls for each in periods),
            sum(each.errors for each in periods),
            tuple(map(sum, zip(*(each.buckets for each in periods), strict=True))),
        )

    def quantile(self, share: float) -> float | None:
        """Return the seconds within which this share of the calls ended, None without calls.

        It is interpolated within a bucket, as `histogram_quantile` of Prometheus does. Above the
        last bucket it is the bound of that bucket.

        Example:
            >>> Period(4, 0, (0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0)).quantile(0.5)
            0.003
        """
        wanted = share * sum(self.buckets)
        if not wanted:
            return None
        below, passed = 0.0, 0
        for bound, count in zip(BUCKET_SECONDS, self.buckets, strict=False):
            if passed + count >= wanted:
                return below + (bound - below) * (wanted - passed) / count
            below, passed = bound, passed + count
        return BUCKET_SECONDS[-1]


class History:
    """The periods of each procedure and function over the last hour.

    Each one that has been called needs 20 kB of memory. Names come from the registry, which bounds
    their number: 124 shipped ones need 2.5 MB at most.

    Args:
        metrics: The counters.
        clock: Returns seconds that never go back.
    """

    def __init__(self, metrics: CallMetrics, clock: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._clock = clock
        self._lock = threading.Lock()
        self._rings: dict[str, array[int]] = {}
        self._before: dict[str, Counts] = {}
        self._period = self._now()

    def _now(self) -> int:
        return int(self._clock() // PERIOD_SECONDS)

    def sample(self) -> None:
        """Read the counters if a period has ended; call it several times a second."""
        if self._now() != self._period:
            with self._lock:
                self._read()

    def _read(self) -> None:
        """Add what was counted since the last time to the period of the last time."""
        for name, counts in self._metrics.counts().items():
            before = self._before.get(name, _NOTHING)
            if counts == before:
                continue
            ring = self._rings.setdefault(name, array("I", bytes(_RING_BYTES)))
            start = self._period % PERIODS * _WIDTH
            found = map(sub, counts, before)
            ring[start : start + _WIDTH] = array("I", map(add, ring[start : start + _WIDTH], found))
            self._before[name] = counts
        now = self._now()
        # A process that was frozen has periods without calls.
        for period in range(max(self._period, now - PERIODS) + 1, now + 1):
            start = period % PERIODS * _WIDTH
            for ring in self._rings.values():
                ring[start : start + _WIDTH] = array("I", bytes(_WIDTH * ring.itemsize))
        self._period = now

    def periods(
        self, count: int, merge: int = 1, name: str | None = None
    ) -> dict[str, list[Period]]:
        """Return the latest periods of each name that has been called, the earliest first.

        A last one, which has not ended, is added to them.

        Args:
            count: Number of periods that have ended.
            merge: Number of sampled periods that make one of them.
            name: The only name that is wanted, by default all.
        """
        with self._lock:
            self._read()
            now = self._period
            names = self._rings.keys() if name is None else self._rings.keys() & {name}
            rings = {each: self._rings[each][:] for each in names}
        starts = range(max(now - count * merge, now - PERIODS + 1), now, merge)
        return {
            each: [
                *(_merged(ring, range(start, min(start + merge, now))) for start in starts),
                _merged(ring, (now,)),
            ]
            for each, ring in rings.items()
        }


def _merged(ring: "array[int]", periods: Iterable[int]) -> Period:
    sums = [0] * _WIDTH
    for period in periods:
        start = period % PERIODS * _WIDTH
        # Most procedures are not called in most periods.
        if ring[start]:
            sums = list(map(add, sums, ring[start : start + _WIDTH]))
    return Period(sums[0], sums[1], tuple(sums[2:]))


def total(histories: Iterable[Sequence[Period]], count: int) -> list[Period]:
    """Return the sums of several histories of the same length, or `count` empty periods."""
    sums = [[0] * _WIDTH for _ in range(count)]
    for periods in histories:
        for index, each in enumerate(periods):
            if each.calls:
                sums[index] = list(map(add, sums[index], (each.calls, each.errors, *each.buckets)))
    return [Period(each[0], each[1], tuple(each[2:])) for each in sums]
