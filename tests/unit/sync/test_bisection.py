"""Which entries are written, and which are held, around those that the graph refuses."""

import asyncio

from sidecypher_procedures.sync import bisection
from sidecypher_procedures.sync.bisection import parts_of, write_runs
from sidecypher_procedures.sync.streams import Entry
from sidecypher_procedures.sync.writing import Refused

REFUSED = Refused("SC-904", "refused")


def entries(run, count, size=1):
    return [Entry(f"{place}-0", run, {"id": f"{run}{place}"}, "." * size) for place in range(count)]


def written_and_held(runs, bad):
    """Write runs to a graph that refuses some ids; tell the ids it got, and those that are held."""
    written, held = [], {}

    async def append(some):
        ids = [each.event_id for members in some.values() for each in members]
        if bad & set(ids):
            raise REFUSED
        written.extend(ids)

    async def hold(run, rest, refused):
        assert refused is REFUSED
        held[run] = [each.event_id for each in rest]

    asyncio.run(write_runs(runs, append, hold))
    return written, held


def test_runs_without_a_refused_entry_are_written():
    """One refused entry keeps only what is behind it in its run."""
    runs = {name: entries(name, 4) for name in "abc"}

    written, held = written_and_held(runs, {"b2"})

    assert sorted(written) == sorted(["a0", "a1", "a2", "a3", "b0", "b1", "c0", "c1", "c2", "c3"])
    assert held == {"b": ["b2", "b3"]}


def test_every_entry_before_the_refused_one_is_written():
    """Wherever it is in its run."""
    for place in range(7):
        written, held = written_and_held({"a": entries("a", 7)}, {f"a{place}"})

        assert written == [f"a{number}" for number in range(place)]
        assert held["a"] == [f"a{number}" for number in range(place, 7)]


def test_a_run_stays_whole_in_parts(monkeypatch):
    """A part has as many runs as fit, and at least one."""
    monkeypatch.setattr(bisection, "_BATCH_BYTES", 10)
    runs = {"a": entries("a", 3, 5), "b": entries("b", 2, 2), "c": entries("c", 2, 3)}

    assert [{*part} for part in parts_of(runs)] == [{"a"}, {"b", "c"}]
