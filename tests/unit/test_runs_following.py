"""How often `runs.follow` looks for events, by a clock that only its waiting moves."""

import asyncio
from types import SimpleNamespace

import pytest

from sidecypher.protocol.deadline import Deadline
from sidecypher_procedures.runs import store
from sidecypher_procedures.runs.options import FollowOptions


class Stand:
    """A graph with a run, or without one, for which the clock goes on while a call waits.

    Args:
        seconds: Seconds until the deadline of the call.
        runs: What each look finds of the run; the last one is found again.
    """

    def __init__(self, seconds, *runs):
        self.now = 0.0
        self.deadline = Deadline.after(seconds, lambda: self.now)
        self.looks = []
        self.reads = 0
        self._runs = runs

    async def sleep(self, seconds):
        # Rounded, so that ten tenths are one.
        self.now = round(self.now + seconds, 6)

    def run(self, statement, **_parameters):
        if statement is store._PROGRESS:
            self.looks.append(round(self.now, 3))
            return self._found(self._runs[min(len(self.looks), len(self._runs)) - 1])
        self.reads += 1
        return self._none()

    async def _found(self, run):
        return [] if run is None else [run]

    async def _none(self):
        for record in ():
            yield record

    def follow(self, monkeypatch, **options):
        monkeypatch.setattr(store, "asyncio", SimpleNamespace(sleep=self.sleep))

        async def rows():
            return [row async for row in store.follow(self, "r", FollowOptions(**options))]

        assert asyncio.run(rows()) == []
        return self


def run(last_seq=0, state="running"):
    return {"lastSeq": last_seq, "state": state, "lineage": None, "seqs": None}


def test_it_looks_ten_times_a_second(monkeypatch):
    """Each look is one statement; events are only read if there may be any, and at the end."""
    stand = Stand(90, run()).follow(monkeypatch, wait_ms=1000)

    assert stand.looks == [each / 10 for each in range(11)]
    assert stand.reads == 1


@pytest.mark.parametrize(("seconds", "last"), [(2, 1.5), (0.4, 0.0)])
def test_it_ends_half_a_second_before_its_deadline(monkeypatch, seconds, last):
    """Whatever was asked for, so that the caller gets no error."""
    assert Stand(seconds, run()).follow(monkeypatch, wait_ms=30_000).looks[-1] == last


@pytest.mark.parametrize("state", ["completed", "error", "failed"])
def test_it_ends_with_the_run(monkeypatch, state):
    """Events are read once more after the run was seen to have ended."""
    stand = Stand(90, run(), run(state=state)).follow(monkeypatch)

    assert (stand.looks, stand.reads) == ([0.0, 0.1], 1)


def test_it_ends_without_a_run(monkeypatch):
    """A run that was deleted has no more events."""
    assert Stand(90, run(), None).follow(monkeypatch).looks == [0.0, 0.1]


def test_events_that_are_not_wanted_are_read_once(monkeypatch):
    """The next look reads only what is behind them."""
    stand = Stand(90, run(), run(last_seq=5)).follow(monkeypatch, wait_ms=1000)

    assert stand.reads == 2
