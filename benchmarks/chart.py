"""Picture of the figures in relation to their limits."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.figures import Result
from benchmarks.report import number

_WIDTH = 860
_LEFT = 250
_RIGHT = 190
_TOP = 64
_STEP = 30
_BAR = 18
_MOST = 2.0  # larger shares are cut off; the figure next to them shows the value

_STYLE = """
  svg { font: 14px system-ui, sans-serif; }
  .ground { fill: #ffffff; } .text { fill: #1f2328; } .soft { fill: #57606a; }
  .met { fill: #2da44e; } .missed { fill: #cf222e; } .line { stroke: #1f2328; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .text { fill: #e6edf3; } .soft { fill: #9198a1; }
    .met { fill: #3fb950; } .missed { fill: #f85149; } .line { stroke: #e6edf3; }
  }
"""


def write_chart(file: Path, results: Sequence[Result], facts: dict[str, Any]) -> None:
    """Draw a line for every figure that has a bar."""
    barred = [result for result in results if result.share is not None]
    height = _TOP + _STEP * len(barred) + 44
    limit = _LEFT + _scaled(1.0)
    bottom = _TOP + _STEP * len(barred)
    title = "What each figure takes of its bar; left of the line is met"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{title}</title><style>{_STYLE}</style>",
        f'<rect class="ground" width="{_WIDTH}" height="{height}" rx="6"/>',
        f'<text class="text" x="16" y="30" font-weight="600">{title}</text>',
        *(line for at, result in enumerate(barred) for line in _row(result, _TOP + _STEP * at)),
        f'<path class="line" d="M{limit:.0f} {_TOP - 14}V{bottom}" stroke-dasharray="4 3"/>',
        f'<text class="soft" x="16" y="{height - 16}" font-size="12">{_footer(facts)}</text>',
        "</svg>",
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _row(result: Result, top: int) -> list[str]:
    middle = top + _BAR / 2 + 5
    bar = result.figure.bar
    sign = "≥" if bar.at_least else "≤"
    figure = escape(f"{number(result.value)} {result.figure.unit} ({sign} {number(bar.limit)})")
    length = _scaled(result.share)
    kind = "met" if result.met else "missed"
    title = escape(result.figure.title)
    return [
        f'<text class="text" x="{_LEFT - 10}" y="{middle:.0f}" text-anchor="end">{title}</text>',
        f'<rect class="{kind}" x="{_LEFT}" y="{top}" width="{length:.0f}" height="{_BAR}" rx="2"/>',
        f'<text class="soft" x="{_WIDTH - 12}" y="{middle:.0f}" text-anchor="end">{figure}</text>',
    ]


def _scaled(share: float) -> float:
    return (_WIDTH - _LEFT - _RIGHT) * min(share, _MOST) / _MOST


def _footer(facts: dict[str, Any]) -> str:
    return escape(
        f"{facts['cores']} cores, {facts['python']}, Neo4j {facts['neo4j']}, {facts['taken']}"
    )
