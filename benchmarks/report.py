"""The table, and the JSON."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from benchmarks.figures import Result
from benchmarks.installation import Installation
from benchmarks.measures import Samples, Scale

_HEADER = ("measure", "figure", "least to most", "bar", "met")


_NEAR: Final = 0.05


def number(value: float) -> str:
    """Return a number with three significant digits, or four within 5 % of 1, a common bar.

    Example:
        >>> number(1.0019), number(2.807), number(12345.6)
        ('1.002', '2.81', '12 346')
    """
    if value < 1000:
        return f"{value:.4g}" if abs(value - 1) < _NEAR else f"{value:.3g}"
    return f"{value:,.0f}".replace(",", " ")


def table(results: Sequence[Result]) -> str:
    """Return the results as a Markdown table."""
    return aligned([_HEADER, *map(_line, results)])


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first line is its head."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "| " + " | ".join(map(str.ljust, line, widths)) + " |"
        for line in (lines[0], ["-" * width for width in widths], *lines[1:])
    ]
    return "\n".join(rows)


def _line(result: Result) -> tuple[str, ...]:
    bar = result.figure.bar
    met = {True: "yes", False: "NO", None: ""}[result.met]
    limit = "" if bar is None else f"{'>=' if bar.at_least else '<='} {number(bar.limit)}"
    unit = result.figure.unit
    return (
        result.figure.title,
        f"{number(result.value)} {unit}",
        f"{number(result.least)} to {number(result.most)}",
        limit,
        met,
    )


def machine(installation: Installation) -> dict[str, Any]:
    """Return the facts that the figures depend on, without names of machines or folders."""
    (component,) = installation.rows("CALL dbms.components() YIELD versions, edition")
    (java,) = installation.rows("CALL bench.machine()")
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "jvm": java["jvm"],
        "neo4j": f"{component['versions'][0]} {component['edition']}",
        "py4j": version("py4j"),
        "sidecypher": version("sidecypher"),
    }


def write_json(
    file: Path,
    *,
    facts: dict[str, Any],
    scale: Scale,
    results: Sequence[Result],
    runs: Sequence[Samples],
) -> None:
    """Write the figures, their samples, and the facts that they depend on."""
    document = {
        "machine": facts,
        "scale": asdict(scale),
        "figures": {
            result.figure.name: {
                "title": result.figure.title,
                "unit": result.figure.unit,
                "median": round(result.value, 4),
                "least": round(result.least, 4),
                "most": round(result.most, 4),
                "bar": None if result.figure.bar is None else asdict(result.figure.bar),
                "met": result.met,
            }
            for result in results
        },
        "runs": [{name: round(value, 9) for name, value in run.items()} for run in runs],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
