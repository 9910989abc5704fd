"""Entries of streams: their ids, their partition and their order."""

import json
import math
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.sync.streams import (
    Entry,
    in_order,
    new_event_id,
    partition_of,
    time_of,
)

FOREIGN = ({}, {"content": "\ud83d"}, {"metadata": {"n": math.nan}}, {"content": 2**64})


def entry(position, event_id, *parents):
    return Entry(f"{position}-0", "r", {"id": event_id, "parentIds": list(parents)})


def test_ids_are_of_version_7_and_grow_with_time():
    """An id holds the milliseconds of its time, and no two are equal."""
    before = datetime.now(UTC) - timedelta(milliseconds=2)
    ids = [new_event_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert {UUID(each).version for each in ids} == {7}
    assert {UUID(each).variant for each in ids} == {"specified in RFC 4122"}
    assert all(before <= time_of(each) <= datetime.now(UTC) for each in ids)


@pytest.mark.parametrize("event_id", ["", "e1", "d9428888-122b-11e1-b85c-61cd3cbb3210"])
def test_other_ids_hold_no_time(event_id):
    """Only a UUID of version 7 says when its event happened."""
    assert time_of(event_id) is None


@given(st.text(), st.integers(1, 1024))
def test_a_run_has_one_partition(run, partitions):
    """Any id of a run, also one that UTF-8 cannot carry, always has the same partition."""
    assert 0 <= partition_of(run, partitions) < partitions
    assert partition_of(run, partitions) == partition_of(run, partitions)


def test_processes_agree_on_partitions():
    """A run has the partition that it had in other processes, and in older versions."""
    assert [partition_of(f"triage-{number}", 8) for number in range(4)] == [4, 2, 0, 6]


@given(st.integers(1, 60), st.randoms(use_true_random=False))
def test_parents_come_first(count, chance):
    """However entries come, each is behind its parents; without parents they stay as they are."""
    events = [
        entry(number, str(number), *(str(each) for each in range(number) if chance.random() < 0.1))
        for number in range(count)
    ]
    shuffled = random.Random(chance.random()).sample(events, count)
    placed = [each.event_id for each in in_order(shuffled)]
    assert sorted(placed) == sorted(each.event_id for each in events)
    for each in events:
        for parent in each.parent_ids:
            assert placed.index(parent) < placed.index(each.event_id)
    alone = [entry(number, str(number)) for number in range(count)]
    assert in_order(alone) == alone


def test_a_circle_of_parents_ends():
    """Events that name each other as parents are all there, for Neo4j to refuse."""
    circle = [entry(0, "a", "b"), entry(1, "b", "a")]
    assert sorted(each.event_id for each in in_order(circle)) == ["a", "b"]


def test_a_long_chain_of_parents_is_no_recursion():
    """A thousand events that came in the opposite order are put right."""
    chain = [entry(number, str(number), str(number + 1)) for number in range(1000)]
    assert [each.event_id for each in in_order(chain)] == [str(n) for n in reversed(range(1000))]


def test_an_event_that_came_twice_stays_twice():
    """Both entries of one id are acknowledged, so both are there."""
    assert len(in_order([entry(0, "a"), entry(1, "a")])) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"run": "r"},
        {"event": "{}"},
        {"run": "r", "event": "["},
        {"run": "r", "event": "[" * 100_000},
        {"run": "r", "event": "[]"},
        {"run": "r", "event": '{"id": 7}'},
        {"run": "r", "event": '{"id": "e", "createdAt": "yesterday"}'},
    ],
    ids=["empty", "no event", "no run", "no JSON", "deep", "no object", "no id", "no time"],
)
def test_a_foreign_entry_is_told(fields):
    """What a publisher has not written is a ValueError, whatever it holds."""
    with pytest.raises(ValueError, match=r"^its? "):
        Entry.read("1-0", fields)


def test_an_entry_keeps_its_fields():
    """An entry that becomes a dead letter is the same when it is read again."""
    event = {"id": "e", "createdAt": "2026-01-02T03:04:05.678901+00:00", "content": "é"}
    # No publisher writes such values, but other programs do.
    for fields in ({"run": "r", "event": json.dumps(event | more)} for more in FOREIGN):
        assert Entry.read("1-0", fields).fields == fields


def test_a_parent_is_named_by_a_text():
    """Anything else in its place is for Neo4j to refuse."""
    strange = Entry("1-0", "r", {"id": "a", "parentIds": [["b"], {}, 7, "b"]})
    other = Entry("2-0", "r", {"id": "b", "parentIds": "a"})
    assert in_order([strange, other]) == [other, strange]
