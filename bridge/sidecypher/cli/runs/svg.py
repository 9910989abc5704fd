"""A run as a picture, its branches as lanes beside each other."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final, Self

from sidecypher.cli.runs.timeline import Line, Step, Timeline, span

_ROW: Final = 24
_LANE: Final = 20
_TOP: Final = 64
_GAP: Final = 16
_LETTER: Final = 7.5
"""Room for a letter; most fonts need less."""

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
    """Where things are from left to right.

    Attributes:
        seq: The right end of places.
        lanes: The first lane.
        time: The right end of times.
        words: The left end of what an event is.
        end: The width of the picture.
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
    """Draw a run as SVG, for light and dark pages; its description tells each event in words."""
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
    """Draw a line: to its lane within a row, along the lane, and to its end within a row."""
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
