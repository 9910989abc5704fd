"""How a run is drawn: in a terminal, as SVG, and in words."""

import io
import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from sidecypher_procedures.runs.drawing import draw_lines, draw_svg, print_timeline, read_timeline

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"


def row(seq, label, lane=0, parents=(), lanes=(), *, seconds=None):
    """A row of `runs.timeline`; its events are called as their places."""
    return {
        "seq": seq,
        "id": str(seq),
        "label": label,
        "lane": lane,
        "parentIds": [str(parent) for parent in parents],
        "parentLanes": list(lanes),
        "createdAt": None if seconds is None else NOON + timedelta(seconds=seconds),
        "durationMs": 10 if parents else None,
    }


def timeline(*rows, **run):
    return read_timeline({"id": "r7", "type": "triage", "state": "running", **run}, rows)


BRANCHED = (
    row(1, "userMessage", seconds=0),
    row(2, "toolCall search", 0, [1], [0], seconds=0.1),
    row(3, "toolCall read", 1, [1], [1], seconds=1.5),
    row(4, "toolCall ask", 2, [1], [2], seconds=3600),
    row(5, "llmResponse", 0, [2, 4], [0, 2], seconds=90_000),
    row(6, "status", 1, [3], [1]),
)


def test_branches_are_lanes_beside_each_other():
    """A line of text for each event; corners where lanes part and meet."""
    assert list(draw_lines(timeline(*BRANCHED))) == [
        "triage r7: running, 6 events",
        "",
        "1  ●           0 ms  userMessage",
        "   ├─┬─╮",
        "2  ● │ │     100 ms  toolCall search (+10 ms)",
        "3  │ ● │     1.50 s  toolCall read, after 1 (+10 ms)",
        "4  │ │ ●  1 h 0 min  toolCall ask, after 1 (+10 ms)",
        "   ├─┼─╯",
        "5  ● │      1 d 1 h  llmResponse, after 2, 4 (+10 ms)",
        "6    ●               status, after 3 (+10 ms)",
    ]


def test_a_branch_may_go_to_the_left():
    """A lane on the left that is free again is taken, across what is between."""
    drawn = draw_lines(
        timeline(
            row(1, "a"),
            row(2, "b", 0, [1], [0]),
            row(3, "c", 1, [1], [1]),
            row(4, "d", 2, [1], [2]),
            row(5, "e", 2, [4], [2]),
            row(6, "f", 0, [4], [0]),
            row(7, "g", 1, [3], [1]),
        )
    )

    assert [line[3:8].rstrip() for line in drawn][2:] == [
        "●",
        "├─┬─╮",
        "● │ │",
        "  ● │",
        "  │ ●",
        "╭─┼─┤",
        "│ │ ●",
        "● │",
        "  ●",
    ]


def test_lanes_that_have_no_room_are_drawn_as_one():
    """The last lane stands for all beyond, and a line says so."""
    drawn = list(draw_lines(timeline(*BRANCHED), most_lanes=2))

    assert [line[3:6] for line in drawn[2:10]] == [
        "●  ",
        "├─╮",
        "● │",
        "│ ●",
        "│ ●",
        "├─┤",
        "● │",
        "  ●",
    ]
    assert drawn[-1] == "Lane 2 stands for lanes 2 to 3."


def test_a_run_without_events_has_a_title():
    """Nothing else is drawn."""
    empty = timeline(type=None)

    assert list(draw_lines(empty)) == ["run r7: running, 0 events", ""]
    assert ET.fromstring(draw_svg(empty)).find(f"{SVG}title").text == "run r7: running, 0 events"


def test_a_picture_has_its_events_in_words():
    """The description tells all that the picture shows; nothing of it breaks the XML."""
    odd = timeline(row(1, "toolCall <a&b>"), row(2, 'x"', 0, [1], [0]), id="<r>")
    picture = ET.fromstring(draw_svg(odd))

    assert picture.get("role") == "img"
    assert picture.get("aria-labelledby") == "title desc"
    assert picture.find(f"{SVG}title").text == "triage <r>: running, 2 events"
    assert picture.find(f"{SVG}desc").text == '1: toolCall <a&b>. 2: x" (+10 ms).'
    assert "prefers-color-scheme: dark" in picture.find(f"{SVG}style").text


def test_a_picture_has_a_dot_for_each_event_and_a_path_for_each_line():
    """A line leaves its event within a row, keeps to its lane, and ends within a row."""
    picture = ET.fromstring(draw_svg(timeline(*BRANCHED)))
    dots = [dot.attrib for dot in picture.findall(f"{SVG}circle")]
    lines = [line.get("d") for line in picture.findall(f"{SVG}path")]

    assert len(dots) == len(lines) == 6
    first, second, third = (float(dots[index]["cx"]) for index in (0, 2, 3))
    assert third - second == second - first
    assert f"M{first:g} 64V88" in lines
    assert f"M{first:g} 64C{first:g} 76 {third:g} 76 {third:g} 88V136" in lines
    assert f"M{third:g} 136V136C{third:g} 148 {first:g} 148 {first:g} 160" in lines
    assert all(0 < float(dot["cy"]) < float(picture.get("viewBox").split()[3]) for dot in dots)


def test_what_callers_write_cannot_command_a_terminal():
    """Whatever is not a letter of a line is replaced."""
    drawn = list(draw_lines(timeline(row(1, "a\x1b[2J\nb"), id="r\x07")))

    assert drawn[0].startswith("triage r?:")
    assert drawn[2].endswith("a?[2J?b")


@pytest.fixture
def printed():
    """Print a run to a terminal of some width, or to a file."""

    def printed(encoding="utf-8", width=None):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding=encoding)
        console = Console(file=stream, force_terminal=width is not None, width=width)
        print_timeline(console, timeline(*BRANCHED))
        stream.flush()
        return raw.getvalue().decode(encoding).splitlines()

    return printed


def test_a_terminal_has_a_width_and_a_file_has_none(printed):
    """Lines end at the edge of a terminal; elsewhere they are whole."""
    assert printed() == list(draw_lines(timeline(*BRANCHED)))

    cut = printed(width=30)
    assert max(map(len, cut)) == 30
    assert cut[3].endswith("…")
    assert cut[-1].startswith("Lane 1 stands for lanes 1 to ")


def test_a_terminal_without_the_signs_gets_plain_ones(printed):
    """Where they cannot be written, others stand for corners and dots."""
    assert printed("ascii")[2:5] == [
        "1  *           0 ms  userMessage",
        "   +-+-.",
        "2  * | |     100 ms  toolCall search (+10 ms)",
    ]
    cut = printed("ascii", width=30)
    assert max(map(len, cut)) == 30
    assert cut[3].endswith("~")
