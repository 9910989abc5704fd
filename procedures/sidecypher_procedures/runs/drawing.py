"""Drawings of a run: its events in order with branches as lanes, as text or as SVG."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import Any, Final, Self

from rich.console import Console

from sidecypher_procedures.terminal import print_lines, printable

_SECOND: Final = 1000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


@dataclass(frozen=True, slots=True)
class Line:
    """Edge from an event to one of its children, by their indexes, and its lane."""

    start: int
    end: int
    lane: int


@dataclass(frozen=True, slots=True)
class Step:
    """An event.

    Attributes:
        lane: Its lane, from 0 on the left.
        follows: The places of its parents.
        since: Milliseconds since the first event; None if its time is unknown.
        duration: Milliseconds since its latest parent, None without parents.
    """

    seq: int
    label: str
    lane: int
    follows: tuple[int, ...]
    since: int | None
    duration: int | None

    @property
    def words(self) -> str:
        """Text of the event: label, parents unless it follows the one before, and duration."""
        text = self.label
        if self.follows not in {(self.seq - 1,), ()}:
            text += f", after {', '.join(map(str, self.follows))}"
        if self.duration is not None:
            text += f" (+{span(self.duration)})"
        return text


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run: its title, its events in order, the edges between them and the number of lanes."""

    title: str
    steps: tuple[Step, ...]
    lines: tuple[Line, ...]
    lanes: int


def read_timeline(run: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Timeline:
    """Return the timeline from the map of `runs.get` and the rows of `runs.timeline`."""
    steps: list[Step] = []
    lines: list[Line] = []
    indexes: dict[str, int] = {}
    begun = None
    for row in rows:
        index = indexes[row["id"]] = len(steps)
        parents = [indexes[name] for name in row["parentIds"]]
        lines += map(Line, parents, [index] * len(parents), row["parentLanes"])
        begun = begun or row["createdAt"]
        steps.append(
            Step(
                seq=row["seq"],
                label=printable(row["label"]),
                lane=row["lane"],
                follows=tuple(steps[parent].seq for parent in parents),
                since=_since(begun, row["createdAt"]),
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


def span(milliseconds: int) -> str:
    """Return a duration as text.

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


MOST_LANES: Final = 30
"""The most lanes of a drawing as text. Further lanes share the last one."""

# Characters by the neighbours that they connect to: above, below, left, right.
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
"""Columns of a terminal that are reserved for text."""


def print_timeline(console: Console, timeline: Timeline) -> None:
    """Print a run within the terminal's width and character set; in full without a terminal."""
    room = max(1, (console.width - _FOR_WORDS) // 2) if console.is_terminal else MOST_LANES
    print_lines(console, draw_lines(timeline, room), _ASCII)


def draw_lines(timeline: Timeline, most_lanes: int = MOST_LANES) -> Iterator[str]:
    """Yield the lines of a drawing; each line of an event also describes it in words.

    If there are more lanes than `most_lanes`, the last one stands for the others.
    """
    yield timeline.title
    yield ""
    lanes = _Lanes(min(timeline.lanes, most_lanes))
    ending, starting = _by_step(timeline)
    digits = len(str(timeline.steps[-1].seq)) if timeline.steps else 0
    times = [_time(step) for step in timeline.steps]
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
    """Number of edges in each lane, from one row of text to the next."""

    def __init__(self, count: int) -> None:
        self._lines = [0] * count

    def end(self, step: Step, lines: list[Line]) -> str | None:
        """End edges at a step; return the row above it, None if no other lane leads to it."""
        return self._change(step, lines, -1)

    def start(self, step: Step, lines: list[Line]) -> str | None:
        """Start edges at a step; return the row below it, None if it leads to no other lane."""
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


_ROW: Final = 24
_LANE: Final = 20
_TOP: Final = 64
_GAP: Final = 16
_LETTER: Final = 7.5
"""Width of a letter in pixels; most fonts need less."""

_STYLE: Final = """
  svg { font: 13px system-ui, sans-serif; }
  .ground { fill: #ffffff; } .text { fill: #1f2328; } .soft { fill: #57606a; }
  .line { fill: none; stroke: #57606a; stroke-width: 1.5; } .event { fill: #0a5fb4; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .text { fill: #e6edf3; } .soft { fill: #9198a1; }
    .line { stroke: #9198a1; } .event { fill: #79b8ff; }
  }
"""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Horizontal positions in the picture.

    Attributes:
        seq: Right edge of the places.
        lanes: The first lane.
        time: Right edge of the times.
        words: Left edge of the texts.
        end: Width of the picture.
    """

    seq: float
    lanes: float
    time: float
    words: float
    end: float

    @classmethod
    def of(cls, timeline: Timeline) -> Self:
        steps = timeline.steps
        seq = _GAP + _LETTER * max((len(str(step.seq)) for step in steps), default=0)
        lanes = seq + _GAP
        time = lanes + _LANE * timeline.lanes
        time += _LETTER * max((len(_time(step)) for step in steps), default=0)
        words = time + _GAP
        longest = max((len(step.words) for step in steps), default=0)
        # The title has larger letters.
        title = _GAP + _LETTER * 1.25 * len(timeline.title)
        return cls(seq, lanes, time, words, max(words + _LETTER * longest, title) + _GAP)

    def lane(self, number: int) -> float:
        return self.lanes + _LANE * number


def draw_svg(timeline: Timeline) -> str:
    """Return a drawing as SVG, for light and dark pages; its description has all event texts."""
    columns = _Columns.of(timeline)
    width, height = round(columns.end), _TOP + _ROW * len(timeline.steps)
    title = escape(timeline.title)
    described = escape(" ".join(f"{step.seq}: {step.words}." for step in timeline.steps))
    box = f'viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="title desc">',
        f'<title id="title">{title}</title>',
        f'<desc id="desc">{described}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="6"/>',
        f'<text class="text" x="{_GAP}" y="30" font-size="16" font-weight="600">{title}</text>',
        *(_line(timeline, line, columns) for line in timeline.lines),
    ]
    for index, step in enumerate(timeline.steps):
        lines += _step(index, step, columns)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _time(step: Step) -> str:
    return "" if step.since is None else span(step.since)


def _line(timeline: Timeline, line: Line, columns: _Columns) -> str:
    """Return the path of an edge: to its lane within a row, along the lane, to its end in a row."""
    start, lane, end = (
        columns.lane(number)
        for number in (timeline.steps[line.start].lane, line.lane, timeline.steps[line.end].lane)
    )
    top, bottom = _middle(line.start), _middle(line.end)
    path = f"M{start:g} {top}"
    if start != lane:
        path += _curve(start, lane, top)
    if lane != end:
        path += f"V{bottom - _ROW}" + _curve(lane, end, bottom - _ROW)
    else:
        path += f"V{bottom}"
    return f'<path class="line" d="{path}"/>'


def _curve(left: float, right: float, top: int) -> str:
    half, bottom = top + _ROW // 2, top + _ROW
    return f"C{left:g} {half} {right:g} {half} {right:g} {bottom}"


def _middle(index: int) -> int:
    return _TOP + _ROW * index


def _step(index: int, step: Step, columns: _Columns) -> Iterator[str]:
    middle = _middle(index)
    baseline = middle + 4
    yield f'<circle class="event" cx="{columns.lane(step.lane):g}" cy="{middle}" r="5"/>'
    yield (
        f'<text class="soft" x="{columns.seq:g}" y="{baseline}" text-anchor="end">{step.seq}</text>'
    )
    yield (
        f'<text class="soft" x="{columns.time:g}" y="{baseline}" text-anchor="end">'
        f"{_time(step)}</text>"
    )
    yield f'<text class="text" x="{columns.words:g}" y="{baseline}">{escape(step.words)}</text>'
