"""Drawings of a workflow with the way that a session has taken, as text or as SVG."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

from rich.cells import cell_len
from rich.console import Console

from sidecypher_procedures.session.people.charts import LONGEST, Chart, Edge, Step, cut
from sidecypher_procedures.session.people.terminal import ASCII
from sidecypher_procedures.terminal import print_lines

LEGEND: Final = "━▶ taken, ─▶ not taken, ↑ back"
"""Last line of a drawing as text."""


def print_chart(console: Console, chart: Chart) -> None:
    """Print a drawing within the terminal's width and character set; in full without a terminal."""
    print_lines(console, draw_lines(chart), ASCII)


def draw_lines(chart: Chart) -> Iterator[str]:
    """Yield the lines of a drawing: each step, and below it the edges that leave it."""
    yield chart.title
    yield ""
    room = max((cell_len(step.id) for step in chart.steps), default=0)
    for index, step in enumerate(chart.steps):
        yield f"{_sign(step)} {_padded(step.id, room)}  {step.words}"
        leaving = chart.leaving(index)
        for edge in leaving:
            corner = "└" if edge is leaving[-1] else "├"
            arrow = "━▶" if edge.is_taken else "─▶"
            back = " ↑" if edge.is_back else ""
            times = f", {edge.times}" if edge.times else ""
            words = f": {edge.words}" if edge.words else ""
            yield f"  {corner}{arrow} {chart.steps[edge.end].id}{back}{times}{words}"
    yield ""
    yield LEGEND


def _sign(step: Step) -> str:
    if step.error:
        return "✗"
    if step.state:
        return "?" if step.state == "awaits input" else "▶"
    return "●" if step.runs else "○"


def _padded(text: str, room: int) -> str:
    return text + " " * (room - cell_len(text))


_GAP: Final = 24
"""Space between boxes, and around the picture."""

_LINE: Final = 18
_TOP: Final = 80
_BETWEEN: Final = 56
"""Height between two layers, in which edges run."""

_LANE: Final = 12
"""Space between edges that run aside."""

_PORT: Final = 14
"""Space between the ends of edges at one box."""

_LETTER: Final = 7.5
"""Width of a letter in pixels; most fonts need less."""

_MOST_LAYERS: Final = 8
"""An edge over more layers runs aside, as those that lead back."""

_SWEEPS: Final = 4
_STYLE: Final = """
  svg { font: 13px system-ui, sans-serif; }
  .ground { fill: #ffffff; } .text { fill: #1f2328; } .soft { fill: #57606a; }
  .bad { fill: #a40e26; }
  .box { fill: #f6f8fa; stroke: #8c959f; } .run { stroke: #0a5fb4; }
  .now { stroke: #9a6700; stroke-width: 3; } .failed { stroke: #a40e26; stroke-width: 3; }
  .line { fill: none; stroke: #8c959f; stroke-width: 1.5; stroke-dasharray: 5 4; }
  .taken { stroke: #0a5fb4; stroke-width: 2; stroke-dasharray: none; }
  .head { fill: #8c959f; } .head-taken { fill: #0a5fb4; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .text { fill: #e6edf3; } .soft { fill: #9198a1; }
    .bad { fill: #ff8f8f; }
    .box { fill: #161b22; stroke: #6e7681; } .run { stroke: #79b8ff; }
    .now { stroke: #d29922; } .failed { stroke: #ff8f8f; }
    .line { stroke: #6e7681; } .taken { stroke: #79b8ff; }
    .head { fill: #6e7681; } .head-taken { fill: #79b8ff; }
  }
"""


@dataclass(slots=True)
class _Box:
    """A step in the picture, or the place where an edge crosses a layer.

    Attributes:
        lines: CSS class and text of each line; none if it is such a place.
        left, top: Its corner.
        end: Lower end of its layer, below which edges may turn.
    """

    layer: int
    lines: Sequence[tuple[str, str]] = ()
    left: float = 0.0
    top: float = 0.0
    end: float = 0.0

    @property
    def width(self) -> float:
        longest = max((cell_len(text) for _, text in self.lines), default=0)
        return _LETTER * longest + _GAP if self.lines else 2.0

    @property
    def height(self) -> float:
        return _LINE * len(self.lines) + _GAP / 2 if self.lines else self.end - self.top

    @property
    def middle(self) -> float:
        return self.left + self.width / 2


class _Layout:
    """The places of steps and edges in a picture.

    Attributes:
        boxes: Those of the steps, in their order.
        width, height: Size of the picture.
    """

    def __init__(self, chart: Chart) -> None:
        self.boxes = [_Box(step.layer, _lines(chart, i)) for i, step in enumerate(chart.steps)]
        self._edges = chart.edges
        self._places = [*self.boxes]
        self._routes = [self._route(edge) for edge in chart.edges]
        self._arrange()
        right = max((box.left + box.width for box in self._places), default=0.0)
        aside = [number for number, route in enumerate(self._routes) if route is None]
        self._lanes = {number: right + _LANE * (index + 1) for index, number in enumerate(aside)}
        self._starts = self._ports(lambda edge: edge.start, 1)
        self._ends = self._ports(lambda edge: edge.end, -2)
        title = _LETTER * 1.25 * cell_len(chart.title)
        self.width = max(right + _LANE * len(aside), _GAP + title) + _GAP
        bottom = max((box.end for box in self._places), default=float(_TOP))
        self.height = bottom + (_BETWEEN if aside else _GAP)

    def _route(self, edge: Edge) -> list[_Box] | None:
        """Return the boxes that an edge passes, or None if it runs aside."""
        start, end = self.boxes[edge.start], self.boxes[edge.end]
        if edge.is_back or end.layer - start.layer > _MOST_LAYERS:
            return None
        crossed = [_Box(layer) for layer in range(start.layer + 1, end.layer)]
        self._places += crossed
        return [start, *crossed, end]

    def _arrange(self) -> None:
        layers: list[list[_Box]] = [
            [] for _ in range(max((b.layer for b in self.boxes), default=-1) + 1)
        ]
        for box in self._places:
            layers[box.layer].append(box)
        self._untangle(layers)
        widths = [sum(box.width + _GAP for box in layer) - _GAP for layer in layers]
        top = float(_TOP)
        for layer, width in zip(layers, widths, strict=True):
            left = _GAP + (max(widths) - width) / 2
            end = top + max(box.height for box in layer)
            for box in layer:
                box.left, box.top, box.end = left, top, end
                left += box.width + _GAP
            top = end + _BETWEEN

    def _untangle(self, layers: list[list[_Box]]) -> None:
        """Order the boxes of each layer by the middle of those that they are connected with."""
        above: dict[int, list[_Box]] = {}
        below: dict[int, list[_Box]] = {}
        for upper, lower in (pair for route in self._routes if route for pair in pairwise(route)):
            below.setdefault(id(upper), []).append(lower)
            above.setdefault(id(lower), []).append(upper)
        for sweep in range(_SWEEPS):
            near, ordered = (above, layers) if sweep % 2 == 0 else (below, layers[::-1])
            for other, layer in pairwise(ordered):
                places = {id(box): index for index, box in enumerate(other)}
                wanted = {}
                for index, box in enumerate(layer):
                    found = [places[id(each)] for each in near.get(id(box), ())]
                    wanted[id(box)] = sum(found) / len(found) if found else float(index)
                layer.sort(key=lambda box: wanted[id(box)])

    def _ports(self, of: Callable[[Edge], int], neighbour: int) -> list[float]:
        """Return where each edge touches its box: side by side, in the order of their ways."""
        touching: dict[int, list[int]] = {}
        for number, edge in enumerate(self._edges):
            touching.setdefault(of(edge), []).append(number)
        ports = [0.0] * len(self._edges)
        for index, numbers in touching.items():
            numbers.sort(key=lambda number: self._middle(number, neighbour))
            box = self.boxes[index]
            space = min(_PORT, box.width / (len(numbers) + 1))
            for place, number in enumerate(numbers):
                ports[number] = box.middle + space * (place - (len(numbers) - 1) / 2)
        return ports

    def _middle(self, number: int, neighbour: int) -> float:
        route = self._routes[number]
        return self._lanes[number] if route is None else route[neighbour].middle

    def path(self, number: int) -> tuple[str, float, float]:
        """Return the path of an edge, and the place of its arrow head."""
        edge, route = self._edges[number], self._routes[number]
        start, end = self.boxes[edge.start], self.boxes[edge.end]
        left, right = self._starts[number], self._ends[number]
        path = f"M{left:g} {start.top + start.height:g}"
        if route is None:
            lane = self._lanes[number]
            apart = 5 * (number % 4)
            path += f"V{start.end + 12 + apart:g}H{lane:g}V{end.top - 16 - apart:g}H{right:g}"
            return f"{path}V{end.top:g}", right, end.top
        x = left
        for upper, lower in pairwise(route):
            to = right if lower is end else lower.middle
            half = (upper.end + lower.top) / 2
            path += f"V{upper.end:g}C{x:g} {half:g} {to:g} {half:g} {to:g} {lower.top:g}"
            x = to
        return path, right, end.top


def _lines(chart: Chart, index: int) -> list[tuple[str, str]]:
    """Return the CSS class and the text of each line of a box."""
    step = chart.steps[index]
    lines = [
        ("text", step.id),
        ("soft", step.kind),
        ("soft", step.progress),
        ("bad", f"failed: {step.error}" if step.error else ""),
        *(
            ("soft", _leading(edge, cut(chart.steps[edge.end].id)))
            for edge in chart.leaving(index)
            if edge.words or edge.times
        ),
    ]
    return [(name, cut(text, LONGEST + 20)) for name, text in lines if text]


def _leading(edge: Edge, end: str) -> str:
    """Return what a box says of an edge that leaves it."""
    condition = f" if {edge.words}" if edge.words else ""
    times = f", {edge.times}" if edge.times else ""
    return f"to {end}{condition}{times}"


def draw_svg(chart: Chart) -> str:
    """Return a drawing as SVG, for light and dark pages; its description has all texts."""
    layout = _Layout(chart)
    width, height = f"{layout.width:g}", f"{layout.height:g}"
    title = escape(chart.title)
    # With its own size, since a page would otherwise stretch it to its width.
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-labelledby="title desc">',
        f'<title id="title">{title}</title>',
        f'<desc id="desc">{escape(describe(chart))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="6"/>',
        f'<text class="text" x="{_GAP}" y="34" font-size="16" font-weight="600">{title}</text>',
    ]
    # Taken edges last, so that they are on top.
    for number in sorted(range(len(chart.edges)), key=lambda each: chart.edges[each].is_taken):
        taken = chart.edges[number].is_taken
        path, x, y = layout.path(number)
        lines.append(f'<path class="line{" taken" * taken}" d="{path}"/>')
        head = f"M{x:g} {y:g}l-5 -8h10z"
        lines.append(f'<path class="head{"-taken" * taken}" d="{head}"/>')
    for step, place in zip(chart.steps, layout.boxes, strict=True):
        lines += _drawn(step, place)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _drawn(step: Step, box: _Box) -> Iterator[str]:
    """Yield the elements of a step."""
    kind = " failed" if step.error else " now" if step.state else " run" if step.runs else ""
    yield (
        f'<rect class="box{kind}" x="{box.left:g}" y="{box.top:g}" '
        f'width="{box.width:g}" height="{box.height:g}" rx="5"/>'
    )
    for index, (name, text) in enumerate(box.lines):
        weight = ' font-weight="600"' if index == 0 else ""
        yield (
            f'<text class="{name}" x="{box.left + _GAP / 2:g}" '
            f'y="{box.top + _LINE * (index + 1):g}"{weight}>{escape(text)}</text>'
        )


def describe(chart: Chart) -> str:
    """Return all steps and edges in sentences."""
    sentences = []
    for index, step in enumerate(chart.steps):
        sentences.append(f"{step.id}: {step.words}.")
        for edge in chart.leaving(index):
            condition = f" if {edge.words}" if edge.words else ""
            taken = f", taken {edge.times}".rstrip() if edge.is_taken else ""
            sentences.append(f"{step.id} leads to {chart.steps[edge.end].id}{condition}{taken}.")
    return " ".join(sentences)
