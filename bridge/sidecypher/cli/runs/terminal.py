"""A run as lines of text, its branches as lanes beside each other."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from sidecypher.cli.runs.timeline import Line, Step, Timeline, span

MOST_LANES: Final = 30
"""More are drawn as one, since text needs room too."""

# What connects a place with those around it: above, below, left, right.
_CORNERS: Final = {
    (False, False, False, False): " ",
    (True, True, False, False): "│",
    (False, False, True, True): "─",
    (True, False, True, False): "╯",
    (False, True, True, False): "╮",
    (False, True, False, True): "╭",
    (True, True, True, False): "┤",
    (True, True, False, True): "├",
    (True, False, True, True): "┴",
    (False, True, True, True): "┬",
    (True, True, True, True): "┼",
}
_ASCII: Final = str.maketrans("●│─╯╮╭┤├┴┬┼…", "*|-'..+++++~")
_FOR_WORDS: Final = 50
"""Columns of a terminal that lanes leave to words."""


def print_timeline(console: Console, timeline: Timeline) -> None:
    """Draw a run in the width of a terminal, or whole where there is none, and in its signs."""
    width = console.width if console.is_terminal else None
    room = MOST_LANES if width is None else max(1, (width - _FOR_WORDS) // 2)
    for line in draw_lines(timeline, room):
        text = Text(line)
        if width is not None:
            text.truncate(width, overflow="ellipsis")
        console.print(Text(_encodable(text.plain, console.encoding)), soft_wrap=True)


def _encodable(line: str, encoding: str) -> str:
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return line.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return line


def draw_lines(timeline: Timeline, most_lanes: int = MOST_LANES) -> Iterator[str]:
    """Draw a run; every line of an event tells it in words, too.

    Args:
        timeline: The run.
        most_lanes: How many lanes there is room for; the last one stands for all that are beyond.
    """
    yield timeline.title
    yield ""
    lanes = _Lanes(min(timeline.lanes, most_lanes))
    ending, starting = _by_step(timeline)
    digits = len(str(timeline.steps[-1].seq)) if timeline.steps else 0
    times = ["" if step.since is None else span(step.since) for step in timeline.steps]
    room = max(map(len, times), default=0)
    margin = " " * (digits + 2)
    for index, (step, time) in enumerate(zip(timeline.steps, times, strict=True)):
        joined = lanes.end(step, ending[index])
        if joined:
            yield f"{margin}{joined}".rstrip()
        yield f"{step.seq:>{digits}}  {lanes.row(step)}  {time:>{room}}  {step.words}"
        parted = lanes.start(step, starting[index])
        if parted:
            yield f"{margin}{parted}".rstrip()
    if timeline.lanes > most_lanes:
        yield ""
        yield f"Lane {most_lanes} stands for lanes {most_lanes} to {timeline.lanes}."


def _by_step(timeline: Timeline) -> tuple[list[list[Line]], list[list[Line]]]:
    """Return the lines that end at each step, and those that start there."""
    ending: list[list[Line]] = [[] for _ in timeline.steps]
    starting: list[list[Line]] = [[] for _ in timeline.steps]
    for line in timeline.lines:
        ending[line.end].append(line)
        starting[line.start].append(line)
    return ending, starting


class _Lanes:
    """How many lines are in each lane, from one row of text to the next."""

    def __init__(self, count: int) -> None:
        self._lines = [0] * count

    def end(self, step: Step, lines: list[Line]) -> str | None:
        """End lines at a step; return the row above it, None if no other lane leads to it."""
        return self._change(step, lines, -1)

    def start(self, step: Step, lines: list[Line]) -> str | None:
        """Start lines at a step; return the row below it, None if it leads to no other lane."""
        return self._change(step, lines, 1)

    def row(self, step: Step) -> str:
        """Return the row of a step."""
        signs = ["│" if count else " " for count in self._lines]
        signs[self._drawn(step.lane)] = "●"
        return " ".join(signs)

    def _drawn(self, lane: int) -> int:
        return min(lane, len(self._lines) - 1)

    def _change(self, step: Step, lines: list[Line], by: int) -> str | None:
        above = [count > 0 for count in self._lines]
        for line in lines:
            self._lines[self._drawn(line.lane)] += by
        below = [count > 0 for count in self._lines]
        own = self._drawn(step.lane)
        above[own] = below[own] = True
        reached = {own, *(self._drawn(line.lane) for line in lines)}
        return _corners(above, below, min(reached), max(reached)) if len(reached) > 1 else None


def _corners(above: list[bool], below: list[bool], first: int, last: int) -> str:
    """Return the row that connects lanes, from one to another."""
    signs = []
    for lane, ends in enumerate(zip(above, below, strict=True)):
        to_right = first <= lane < last
        signs.append(_CORNERS[*ends, first < lane <= last, to_right] + ("─" if to_right else " "))
    return "".join(signs)
