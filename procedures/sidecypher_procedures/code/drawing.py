"""Maps of the communities of a repository, as SVG."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

_SMALLEST: Final = 56.0
"""Radius of the smallest circle, in pixels: its name has room."""

_LARGEST: Final = 150.0
_GAP: Final = 26.0
"""Space between circles, in which ties are seen."""

_TOP: Final = 96.0
_MARGIN: Final = 24.0
_LINE: Final = 17.0
_LETTER: Final = 7.4
"""Width of a letter in pixels; most fonts need less."""

_DIRECTIONS: Final = 24
"""How many places around each circle are tried for the next one."""

_TIES: Final = 3
"""The most ties that are drawn for the sake of one area: its strongest."""

_HUES: Final = 8
_ROLE: Final = 'role="img" aria-labelledby="title desc"'
_LEGEND: Final = "circle: a community, by its size · line: relationships between two"
_STYLE: Final = """
  svg { font: 13px system-ui, sans-serif; }
  .head { font-size: 18px; font-weight: 600; } .name { font-weight: 600; }
  .ground { fill: #ffffff; } .text { fill: #1f2328; } .soft { fill: #57606a; }
  .tie { stroke: #8c959f; stroke-linecap: round; } .area { stroke: #57606a; }
  .hue0 { fill: #ddf4ff; } .hue1 { fill: #dafbe1; } .hue2 { fill: #fff8c5; }
  .hue3 { fill: #ffebe9; } .hue4 { fill: #fbefff; } .hue5 { fill: #ffeff7; }
  .hue6 { fill: #fff1e5; } .hue7 { fill: #eaeef2; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .text { fill: #e6edf3; } .soft { fill: #a5adb6; }
    .tie { stroke: #6e7681; } .area { stroke: #9198a1; }
    .hue0 { fill: #0c2d6b; } .hue1 { fill: #033a16; } .hue2 { fill: #4b2900; }
    .hue3 { fill: #67060c; } .hue4 { fill: #3c1e70; } .hue5 { fill: #611347; }
    .hue6 { fill: #5a1e02; } .hue7 { fill: #2a313c; }
  }
"""


@dataclass(frozen=True, slots=True)
class Area:
    """A community in a map.

    Attributes:
        size: How many entities belong to it.
        members: The names of the entities that are used most.
    """

    label: str
    size: int
    members: Sequence[str]


@dataclass(frozen=True, slots=True)
class CodeMap:
    """What a map shows.

    Attributes:
        areas: The communities, the largest first.
        ties: How many relationships lead from one area to another, by the places of both.
    """

    title: str
    areas: Sequence[Area]
    ties: Mapping[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class _Circle:
    x: float
    y: float
    radius: float

    def distance(self, other: "_Circle") -> float:
        """Return the space between the edges of two circles; negative if they overlap."""
        return math.hypot(self.x - other.x, self.y - other.y) - self.radius - other.radius


def draw_map(code_map: CodeMap) -> str:
    """Return a map as SVG, for light and dark pages; its description has all texts.

    The larger a community, the larger its circle. Communities with many relationships between them
    are near each other. Equal maps give equal drawings.

    Example:
        >>> draw_map(CodeMap("shop", [Area("shop.cart", 12, ["Cart"])], {})).startswith("<svg ")
        True
    """
    between = _undirected(code_map.ties)
    circles = _arranged(code_map.areas, between)
    left = min((each.x - each.radius for each in circles), default=0) - _MARGIN
    top = min((each.y - each.radius for each in circles), default=0) - _TOP
    right = max((each.x + each.radius for each in circles), default=0) + _MARGIN
    bottom = max((each.y + each.radius for each in circles), default=0) + _MARGIN
    width = max(right - left, _LETTER * 1.3 * len(code_map.title) + 2 * _MARGIN)
    title = escape(code_map.title)
    size = f'width="{width:.0f}" height="{bottom - top:.0f}"'
    box = f'viewBox="{left:.0f} {top:.0f} {width:.0f} {bottom - top:.0f}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} {_ROLE}>',
        f'<title id="title">{title}</title>',
        f'<desc id="desc">{escape(describe(code_map))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" x="{left:.0f}" y="{top:.0f}" {size} rx="6"/>',
        f'<text class="text head" x="{left + _MARGIN:.0f}" y="{top + 38:.0f}">{title}</text>',
        f'<text class="soft" x="{left + _MARGIN:.0f}" y="{top + 60:.0f}">{_LEGEND}</text>',
        *_drawn_ties(circles, between),
    ]
    hues = _hues(code_map.areas)
    for area, circle, hue in zip(code_map.areas, circles, hues, strict=True):
        lines += _drawn_area(area, circle, hue)
    return "\n".join([*lines, "</svg>"]) + "\n"


def describe(code_map: CodeMap) -> str:
    """Return all areas and ties of a map in sentences."""
    sentences = [
        f"{area.label} has {area.size} entities"
        + (f", most used {', '.join(area.members)}." if area.members else ".")
        for area in code_map.areas
    ]
    for (first, second), count in sorted(code_map.ties.items()):
        names = code_map.areas[first].label, code_map.areas[second].label
        sentences.append(f"{names[0]} uses {names[1]}: {count}.")
    return " ".join(sentences)


def _undirected(ties: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    between: dict[tuple[int, int], int] = {}
    for (first, second), count in sorted(ties.items()):
        ends = min(first, second), max(first, second)
        between[ends] = between.get(ends, 0) + count
    return between


def _arranged(areas: Sequence[Area], between: Mapping[tuple[int, int], int]) -> list[_Circle]:
    """Place circles one after the other, each as near as it can be to those it is tied with."""
    largest = max((area.size for area in areas), default=1)
    circles: list[_Circle] = []
    for index, area in enumerate(areas):
        radius = _SMALLEST + (_LARGEST - _SMALLEST) * math.sqrt(area.size / largest)
        pull = [between.get((other, index), 0) for other in range(index)]
        free = [each for each in _places(circles, radius) if _is_free(each, circles)]
        circles.append(min(free, key=lambda each: _strain(each, circles, pull)))
    return circles


def _places(circles: Sequence[_Circle], radius: float) -> Iterator[_Circle]:
    if not circles:
        yield _Circle(0, 0, radius)
    for circle in circles:
        apart = circle.radius + _GAP + radius
        for step in range(_DIRECTIONS):
            angle = 2 * math.pi * step / _DIRECTIONS
            x, y = circle.x + apart * math.cos(angle), circle.y + apart * math.sin(angle)
            yield _Circle(round(x, 2), round(y, 2), radius)


def _is_free(place: _Circle, circles: Sequence[_Circle]) -> bool:
    # Places that touch a circle are a little too near by rounding.
    return all(place.distance(each) >= _GAP - 0.1 for each in circles)


def _strain(place: _Circle, circles: Sequence[_Circle], pull: Sequence[int]) -> float:
    """Return how badly a place fits: far from the middle, or from what the circle is tied with."""
    middle = math.hypot(place.x / 1.5, place.y)  # pages are wide
    far = sum(
        math.sqrt(each) * place.distance(circle) for each, circle in zip(pull, circles, strict=True)
    )
    return round(middle + far / max(1.0, math.sqrt(sum(pull))), 3)


def _drawn_ties(
    circles: Sequence[_Circle], between: Mapping[tuple[int, int], int]
) -> Iterator[str]:
    """Yield the lines between circles, below them."""
    strongest = max(between.values(), default=1)
    for (first, second), count in sorted(_shown(between).items()):
        one, other = circles[first], circles[second]
        width = 1.5 + 8 * math.sqrt(count / strongest)
        yield (
            f'<line class="tie" x1="{one.x:g}" y1="{one.y:g}" x2="{other.x:g}" y2="{other.y:g}" '
            f'stroke-width="{width:.1f}"/>'
        )


def _shown(between: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """Return the ties that are among the strongest of one of their ends."""
    shown: dict[tuple[int, int], int] = {}
    drawn: dict[int, int] = {}
    for ends, count in sorted(between.items(), key=lambda each: (-each[1], each[0])):
        if any(drawn.get(end, 0) < _TIES for end in ends):
            shown[ends] = count
            for end in ends:
                drawn[end] = drawn.get(end, 0) + 1
    return shown


def _hues(areas: Sequence[Area]) -> list[int]:
    """Return a colour for each area: the same for those whose names begin with the same package."""
    packages = [".".join(area.label.split(".")[:2]) for area in areas]
    numbers = {package: number for number, package in enumerate(dict.fromkeys(packages))}
    return [numbers[package] % _HUES for package in packages]


def _drawn_area(area: Area, circle: _Circle, hue: int) -> Iterator[str]:
    yield (
        f'<circle class="area hue{hue}" cx="{circle.x:g}" cy="{circle.y:g}" '
        f'r="{circle.radius:.1f}"/>'
    )
    room = int(circle.radius * 1.5 / _LETTER)
    entities = f"{area.size} {'entity' if area.size == 1 else 'entities'}"
    names = [each.rpartition(".")[2] for each in area.members]
    most = int(circle.radius * 1.3 / _LINE)
    lines = [("text name", area.label), ("soft", entities), *(("text", name) for name in names)]
    texts = lines[:most]
    begin = circle.y - _LINE * (len(texts) - 1) / 2 + _LINE / 3
    for index, (name, text) in enumerate(texts):
        yield (
            f'<text class="{name}" text-anchor="middle" x="{circle.x:g}" '
            f'y="{begin + _LINE * index:.1f}">{escape(_cut(text, room))}</text>'
        )


def _cut(text: str, room: int) -> str:
    """Cut the beginning of a name: its end says more."""
    return text if len(text) <= room else f"…{text[-(room - 1) :]}"
