"""A run as it is drawn: its events in order, and the lanes between them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import neo4j

_SECOND: Final = 1000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


@dataclass(frozen=True, slots=True)
class Line:
    """What leads from an event to one of its children.

    Attributes:
        start: The index of the event.
        end: The index of the child.
        lane: The lane between the two.
    """

    start: int
    end: int
    lane: int


@dataclass(frozen=True, slots=True)
class Step:
    """An event.

    Attributes:
        seq: Its place in the run.
        label: What it is.
        lane: Its lane, from 0.
        follows: The places of its parents.
        since: Milliseconds since the first event; None if nobody knows when it happened.
        duration: Milliseconds since the latest of its parents, None without any.
    """

    seq: int
    label: str
    lane: int
    follows: tuple[int, ...]
    since: int | None
    duration: int | None

    @property
    def words(self) -> str:
        """What it is, what it comes after unless that is the one before it, and how long after."""
        text = self.label
        if self.follows not in {(self.seq - 1,), ()}:
            text += f", after {', '.join(map(str, self.follows))}"
        if self.duration is not None:
            text += f" (+{span(self.duration)})"
        return text


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run.

    Attributes:
        title: Its type and id, how it stands, and how many events it has.
        steps: Its events, in order.
        lines: What leads from one to another.
        lanes: How many lanes it has.
    """

    title: str
    steps: tuple[Step, ...]
    lines: tuple[Line, ...]
    lanes: int


def read_row(record: neo4j.Record) -> dict[str, Any]:
    """Return a row of `runs.timeline` with Python's own kind of time."""
    at = record["at"]
    return {**record, "at": None if at is None else at.to_native()}


def read_timeline(run: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Timeline:
    """Read what `runs.get` tells of a run, and rows as `read_row` gives them."""
    steps: list[Step] = []
    lines: list[Line] = []
    indexes: dict[str, int] = {}
    begun = None
    for row in rows:
        index = indexes[row["id"]] = len(steps)
        parents = [indexes[name] for name in row["parentIds"]]
        lines += map(Line, parents, [index] * len(parents), row["parentLanes"])
        begun = begun or row["at"]
        steps.append(
            Step(
                seq=row["seq"],
                label=printable(row["label"]),
                lane=row["lane"],
                follows=tuple(steps[parent].seq for parent in parents),
                since=_since(begun, row["at"]),
                duration=row["durationMs"],
            )
        )
    count = f"{len(steps)} event{'s' * (len(steps) != 1)}"
    return Timeline(
        title=printable(f"{run.get('type') or 'run'} {run['id']}: {run['state']}, {count}"),
        steps=tuple(steps),
        lines=tuple(lines),
        lanes=1 + max([step.lane for step in steps] + [line.lane for line in lines], default=0),
    )


def _since(begun: datetime | None, at: datetime | None) -> int | None:
    return None if begun is None or at is None else (at - begun) // timedelta(milliseconds=1)


def printable(text: str) -> str:
    """Return a text that cannot command a terminal: ids and names of tools are their callers' own.

    Example:
        >>> printable("a" + chr(27) + "[2J")
        'a?[2J'
    """
    return "".join(each if each.isprintable() else "?" for each in text)


def span(milliseconds: int) -> str:
    """Return a length of time in words.

    Example:
        >>> [span(each) for each in (7, 1_230, 200_000, 90_000_000, -2_000)]
        ['7 ms', '1.23 s', '3 min 20 s', '1 d 1 h', '-2.00 s']
    """
    if milliseconds < 0:
        return f"-{span(-milliseconds)}"
    if milliseconds < _SECOND:
        return f"{milliseconds} ms"
    if milliseconds < _MINUTE:
        return f"{milliseconds // 10 / 100:.2f} s"
    if milliseconds < _HOUR:
        return f"{milliseconds // _MINUTE} min {milliseconds % _MINUTE // _SECOND} s"
    if milliseconds < _DAY:
        return f"{milliseconds // _HOUR} h {milliseconds % _HOUR // _MINUTE} min"
    return f"{milliseconds // _DAY} d {milliseconds % _DAY // _HOUR} h"
