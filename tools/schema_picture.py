"""Write docs/schema.svg: a card for each label, and a line for each relationship between two.

All of it is read from the files of the migrations: constraints and indexes from their statements,
relationships from comments such as ``// (:Issue)-[:BELONGS_TO]->(:Repository)``.

Example:
    >>> [card.label for card in read_cards()][:2]
    ['Repository', 'Issue']
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Final

from sidecypher_schema.catalog import Declared, declared
from sidecypher_schema.scripts import shipped_scripts

_PAGE: Final = Path(__file__).parents[1] / "docs/schema.svg"
_WIDTH: Final = 330
_GAP: Final = 14
_BETWEEN: Final = 110
"""Pixels between two columns, where the lines are."""
_LINE: Final = 18
_HEAD: Final = 26
_TOP: Final = 96
_STYLE: Final = """
  svg { font: 12px system-ui, sans-serif; }
  .ground { fill: #ffffff; } .card { fill: #f6f8fa; stroke: #d0d7de; }
  .text { fill: #1f2328; } .soft { fill: #57606a; } .key { fill: #0a5fb4; }
  .line { fill: none; stroke: #57606a; stroke-opacity: 0.55; } .tip { fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .card { fill: #161b22; stroke: #30363d; }
    .text { fill: #e6edf3; } .soft { fill: #9198a1; } .key { fill: #79b8ff; }
    .line { stroke: #9198a1; } .tip { fill: #9198a1; }
  }
"""
_TIP: Final = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" '
    'orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker>'
)
_RELATIONSHIP: Final = re.compile(
    r"// \(:(?P<start>\w+)\)-\[:(?P<type>\w+)\]->\(:(?P<end>\w+(?:\|\w+)*)\)"
)


@dataclass(slots=True)
class Card:
    """Keys, indexes and relationships of a label.

    Attributes:
        label: The label.
        area: Words of the first migration that has the label.
        keys: Properties, or lists of them, that are unique.
        indexes: Properties, or lists of them, that have an index.
        relationships: Types and labels of relationships that begin here.
        ends: The labels where these end, in the same order.
    """

    label: str
    area: str
    keys: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    relationships: list[str] = field(default_factory=list)
    ends: list[list[str]] = field(default_factory=list)

    @property
    def height(self) -> int:
        """Height of the card, in pixels."""
        lines = len(self.keys) + len(self.indexes) + len(self.relationships)
        return _HEAD + _LINE * lines + 8


def read_cards() -> list[Card]:
    """Return the cards of all labels, in the order of the files."""
    cards: dict[str, Card] = {}
    indexes: dict[str, list[str]] = {}
    scripts = shipped_scripts().migrations
    for each in declared(scripts):
        text = _properties(each)
        for label in each.item.labels:
            if "()-[" in each.statement.text:
                indexes.setdefault(label, []).append(text)
                continue
            card = cards.setdefault(label, Card(label, each.script.description))
            (card.keys if each.item.kind == "constraint" else card.indexes).append(text)
    for script in scripts:
        for start, kind, end in _relationships(script.source):
            card = cards.setdefault(start, Card(start, script.description))
            known = f", index: {', '.join(indexes[kind])}" if kind in indexes else ""
            card.relationships.append(f"{kind} → {end.replace('|', ' or ')}{known}")
            card.ends.append(end.split("|"))
            for label in card.ends[-1]:
                cards.setdefault(label, Card(label, script.description))
    return list(cards.values())


def _properties(declared: Declared) -> str:
    text = ", ".join(declared.item.properties)
    return f"{text} (full text)" if declared.item.type == "FULLTEXT" else text


def _relationships(source: str) -> Iterator[tuple[str, str, str]]:
    file = files("sidecypher_schema") / "migrations" / source
    for found in _RELATIONSHIP.finditer(file.read_text(encoding="utf-8")):
        yield found["start"], found["type"], found["end"]


def draw(cards: Iterable[Card]) -> str:
    """Return the picture, as SVG: a column for each area, and lines behind the cards."""
    columns: dict[str, list[Card]] = {}
    for card in cards:
        columns.setdefault(card.area, []).append(card)
    heights = [sum(card.height + _GAP for card in column) for column in columns.values()]
    width = 2 * _GAP + (_WIDTH + _BETWEEN) * len(columns)
    height = _TOP + max(heights) + _GAP
    places = dict(_places(columns.values()))
    title = "Labels of the graph, their keys and relationships"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{title}</title><style>{_STYLE}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="6"/>',
        f'<text class="text" x="{_GAP}" y="30" font-size="16" font-weight="600">{title}</text>',
        _TIP,
        _text("soft", _GAP, 52, "Blue: unique   Grey: index   Arrow: relationship to that label"),
    ]
    for column in columns.values():
        for card in column:
            lines += _lines(card, places)
    for area, column in columns.items():
        lines.append(_text("soft", places[column[0].label][0], _TOP - 12, area))
        for card in column:
            lines += _card(card, *places[card.label])
    return "\n".join([*lines, "</svg>"]) + "\n"


def _places(columns: Iterable[list[Card]]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield each label with the left and the top of its card."""
    for number, column in enumerate(columns):
        top = _TOP
        for card in column:
            yield card.label, (_GAP + (_WIDTH + _BETWEEN) * number, top)
            top += card.height + _GAP


def _lines(card: Card, places: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """Yield a line from each relationship of a card to the cards where it ends."""
    left, top = places[card.label]
    first = len(card.keys) + len(card.indexes)
    for number, labels in enumerate(card.ends, start=first):
        y = top + _HEAD + 8 + _LINE * number
        for label in labels:
            end_left, end_top = places[label]
            # On the side where the other card is; within a column around the right side.
            x = left if end_left < left else left + _WIDTH
            end_x = end_left if end_left > left else end_left + _WIDTH
            bend = -_BETWEEN // 2 if end_left < left else _BETWEEN // 2
            end_bend = -_BETWEEN // 2 if end_left > left else _BETWEEN // 2
            yield (
                f'<path class="line" marker-end="url(#tip)" d="M{x} {y} '
                f"C{x + bend} {y} {end_x + end_bend} {end_top + _HEAD // 2} "
                f'{end_x} {end_top + _HEAD // 2}"/>'
            )


def _card(card: Card, left: int, top: int) -> Iterator[str]:
    yield (
        f'<rect class="card" x="{left}" y="{top}" width="{_WIDTH}" height="{card.height}" rx="5"/>'
    )
    yield (
        f'<text class="text" x="{left + 10}" y="{top + 18}" font-weight="600">'
        f"{escape(card.label)}</text>"
    )
    rows = [
        *(("key", text) for text in card.keys),
        *(("soft", text) for text in card.indexes),
        *(("text", text) for text in card.relationships),
    ]
    for number, (kind, text) in enumerate(rows):
        yield _text(kind, left + 10, top + _HEAD + 12 + _LINE * number, text)


def _text(kind: str, left: int, top: int, text: str) -> str:
    return f'<text class="{kind}" x="{left}" y="{top}">{escape(text)}</text>'


if __name__ == "__main__":
    _PAGE.write_text(draw(read_cards()), encoding="utf-8")
