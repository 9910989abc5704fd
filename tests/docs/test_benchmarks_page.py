"""docs/benchmarks.md has every figure that is measured, with its bar and the command for it."""

import json
import re

import pytest
from benchmarks import (
    clusters,
    code,
    figures,
    first_rows,
    github,
    postgres,
    rules,
    runs,
    sessions,
    sync,
)
from benchmarks.report import number
from docs.pages import ROOT, blocks, page_named, rows, section

PAGE = "docs/benchmarks.md"
TABLES = {
    "What a call costs": ("make bench", figures.FIGURES),
    "Live data of GitHub": (".venv/bin/python -m benchmarks.github", github.FIGURES),
    "The memory of rules": (".venv/bin/python -m benchmarks.rules", rules.FIGURES),
    "Runs of workflows": (".venv/bin/python -m benchmarks.runs", runs.FIGURES),
    "Sessions of workflows": (".venv/bin/python -m benchmarks.sessions", sessions.FIGURES),
    "Functions on Ray": (".venv/bin/python -m benchmarks.clusters", clusters.FIGURES),
    "The graph of code": (".venv/bin/python -m benchmarks.code", code.FIGURES),
    "Redis": (".venv/bin/python -m benchmarks.sync", sync.FIGURES),
    "PostgreSQL": (".venv/bin/python -m benchmarks.postgres", postgres.FIGURES),
    "First rows": (".venv/bin/python -m benchmarks.first_rows", first_rows.FIGURES),
}


def measured(title):
    """Return the lines of a section's table; the first section's is in a part of its own."""
    return rows(section(PAGE, "A run" if title == "What a call costs" else title), "measure")


@pytest.mark.parametrize("title", TABLES)
def test_each_figure_has_a_line_with_its_bar(title):
    """A table has all figures of its benchmark, in their order, with the bars they are held to."""
    told = [(row[0], row[3]) for row in measured(title)]

    assert told == [(figure.title, limit(figure.bar)) for figure in TABLES[title][1]]


@pytest.mark.parametrize("title", TABLES)
def test_a_line_says_whether_its_bar_is_met(title):
    """A figure that misses its bar says NO, in every table and every time."""
    for name, figure, _, bar, met in measured(title):
        kind, _, allowed = bar.partition(" ")
        value = as_number(figure)
        held = {"<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b}.get(kind)
        expected = "" if held is None else "yes" if held(value, as_number(allowed)) else "NO"
        assert met == expected, name


@pytest.mark.parametrize("title", TABLES)
def test_the_command_stands_above_its_table(title):
    """Each benchmark can be run again by a command that its section shows."""
    command, _ = TABLES[title]
    [block] = [block for block in blocks("sh", pages=[ROOT / PAGE]) if command + " " in block.text]

    assert block.text in section(PAGE, title)


def test_the_first_table_is_the_run_that_is_kept():
    """The figures of a call are those of benchmarks/results/latest.json."""
    kept = json.loads(page_named("benchmarks/results/latest.json"))["figures"].values()

    assert [row[:2] for row in measured("What a call costs")] == [
        [each["title"], f"{number(each['median'])} {each['unit']}"] for each in kept
    ]


def limit(bar):
    return "" if bar is None else f"{'>=' if bar.at_least else '<='} {number(bar.limit)}"


def as_number(text):
    return float(re.match(r"[\d .]+", text)[0].replace(" ", ""))
