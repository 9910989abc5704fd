"""How the workflow of a session is drawn: in a terminal, as SVG, and in words."""

import io
import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from sidecypher_procedures.session.people.charts import read_chart
from sidecypher_procedures.session.people.drawing import LEGEND, draw_lines, draw_svg, print_chart

SVG = "{http://www.w3.org/2000/svg}"


def condition(value, expected, op="equals"):
    return {"conditions": json.dumps([{"value": value, "op": op, "expected": expected}])}


def record(
    steps, edges=(), *, runs=(), errors=(), ways=None, next_steps=(), asked=(), claims=(), **session
):
    """A row of the statement `CHART`.

    Args:
        steps: Functions, or properties, by id.
        edges: Tuples of two ids, and properties.
        runs: Ids of steps in the order of their outputs; the number of an output is its place.
        errors: Tuples of an id, a number and a text.
        ways: How often one step has led to another, and whether by an error; by default once by
            each edge from a step to one that came later.
    """
    found = []
    for name, given_ in steps.items():
        properties = given_ if isinstance(given_, dict) else {"function": given_}
        leaving = [
            {"node": f"n-{to}", "to": to, "properties": more[0] if more else {}}
            for from_, to, *more in edges
            if from_ == name
        ]
        properties = {"function": "set", "join": None, "onError": None, **properties}
        found.append({"node": f"n-{name}", "id": name, "edges": leaving, **properties})
    if ways is None:
        ways = _later(edges, [*runs, *next_steps, *(name for name, _, _ in errors)], runs)
    outputs = {}
    for seq, name in enumerate(runs, start=1):
        each = outputs.setdefault(name, {"step": name, "runs": 0, "first": seq})
        each.update(runs=each["runs"] + 1, last=seq)
    return {
        "session": {
            "id": "s1", "workflow": "triage", "status": "active", "next_steps": [*next_steps],
            **session,
        },
        "steps": found,
        "runs": [*outputs.values()],
        "errors": [{"step": name, "seq": seq, "error": text} for name, seq, text in errors],
        "ways": [
            {"start": start, "end": end, "isError": bool(is_error), "count": count}
            for start, end, count, *is_error in ways
        ],
        "asked": [*asked],
        "claims": [{"step": name, "kind": kind} for name, kind in claims],
    }  # fmt: skip


def _later(edges, order, runs):
    """Yield the edges that a session has followed if it has followed each that it could."""
    for start, end, *_ in edges:
        if start in runs and end in order[order.index(start) + 1 :]:
            yield start, end, 1


def drawn(*arguments, **more):
    """The lines between title and legend."""
    lines = list(draw_lines(read_chart(record(*arguments, **more))))
    assert (lines[1], lines[-2:]) == ("", ["", LEGEND])
    return lines[2:-2]


def picture(*arguments, **more):
    return ET.fromstring(draw_svg(read_chart(record(*arguments, **more))))


BRANCHED = (
    {"root": "request", "left": "set", "right": "api", "done": {"join": "all"}},
    [
        ("root", "right", condition("@{SESSION_ID}.root.response", "no")),
        ("root", "left", {"order": 1, **condition("@{SESSION_ID}.root.response", "yes")}),
        ("left", "done"),
        ("right", "done"),
        ("done", "root"),
    ],
)


def test_a_step_has_its_edges_below_it():
    """Branches stand in the order of the edges, a join once, and a loop leads back."""
    assert drawn(*BRANCHED, runs=["root", "left", "done", "root", "left"], next_steps=["done"]) == [
        "● root   request, 2 runs",
        "  ├━▶ left: root.response = yes",
        "  └─▶ right: root.response = no",
        "● left   set, 2 runs",
        "  └━▶ done",
        "○ right  api, not run",
        "  └─▶ done",
        "▶ done   set, waits for all branches, 1 run, next",
        "  └━▶ root ↑",
    ]


def test_the_title_counts_runs():
    """It has the workflow, the session, its status and how many runs there were."""
    lines = [*draw_lines(read_chart(record({"root": "set"}, runs=["root"], status="completed")))]
    drawn_ = [*draw_lines(read_chart(record({"root": "set"}, workflow=None)))]

    assert lines[0] == "triage s1: completed, 1 run"
    assert drawn_[0] == "workflow s1: active, 0 runs"


def test_what_happens_at_a_step_is_marked():
    """A step that awaits input, runs, waits, is next or has failed says so, with its own sign."""
    names = ["root", "ask", "slow", "nap", "soon", "bad"]
    lines = drawn(
        dict.fromkeys(names, "set"),
        [("root", name, {"order": order}) for order, name in enumerate(names[1:])],
        runs=["root"],
        next_steps=["ask", "slow", "nap", "soon"],
        asked=["ask"],
        claims=[("slow", "run"), ("nap", "wait")],
        errors=[("bad", 2, "`a.b` is\x1b not there")],
    )

    assert [line for line in lines if line[0] != " "] == [
        "● root  set, 1 run",
        "? ask   set, not run, awaits input",
        "▶ slow  set, not run, runs now",
        "▶ nap   set, not run, waits",
        "▶ soon  set, not run, next",
        "✗ bad   set, not run, failed: `a.b` is? not there",
    ]
    assert lines[1:6] == [
        *(f"  ├━▶ {name}" for name in ("ask", "slow", "nap", "soon")),
        "  └━▶ bad",
    ]


def test_an_error_is_over_when_the_step_has_run():
    """An error is shown until the step has an output that is later."""
    errors = [("root", 1, "no")]

    assert drawn({"root": "set"}, errors=errors, runs=["x", "root"])[0] == "● root  set, 1 run"
    assert drawn({"root": "set"}, errors=[("root", 2, "no")], runs=["root"]) == [
        "✗ root  set, 1 run, failed: no"
    ]


def test_an_edge_is_taken_if_its_end_comes_after_its_start():
    """What has run before its source, or never, was not reached over this edge."""
    steps, edges = {"root": "set", "a": "set", "b": "set"}, [("root", "a"), ("a", "b"), ("b", "a")]

    assert drawn(steps, edges, runs=["root", "a"])[1::2] == ["  └━▶ a", "  └─▶ b", "  └─▶ a ↑"]
    assert drawn(steps, edges, runs=["root", "a", "b"])[5] == "  └─▶ a ↑"
    assert drawn(steps, edges, runs=["root", "a", "b", "a"])[5] == "  └━▶ a ↑"
    assert drawn(steps, edges, runs=["root", "a", "b"], next_steps=["a"])[5] == "  └━▶ a ↑"


def test_an_error_leads_only_where_it_may():
    """A failed step has not followed its edges, except by `onError`."""
    edges = [("root", "next")]

    def lines(on_error, *ways):
        steps = {"root": {"onError": on_error}, "next": "set", "mend": "set"}
        found = drawn(steps, edges, errors=[("root", 1, "no")], ways=ways)
        return [line.strip("├└ ") for line in found if line[0] == " "]

    assert lines(None) == ["─▶ next"]
    assert lines("continue", ("root", "next", 1, True)) == ["━▶ next"]
    assert lines("step:mend", ("root", "mend", 1, True)) == ["─▶ next", "━▶ mend: on error"]


def test_an_edge_says_how_often_it_was_followed():
    """What an output led to is counted for each edge, also in the words of the picture."""
    steps = {"root": "set", "a": "set", "b": "set"}
    found = record(
        steps, [("root", "a"), ("root", "b")], runs=["root"] * 3, ways=[("root", "a", 3)]
    )

    lines = [*draw_lines(read_chart(found))]
    assert "  ├━▶ a, 3 times" in lines
    assert "  └─▶ b" in lines
    assert "root leads to a, taken 3 times." in draw_svg(read_chart(found))


def test_steps_follow_by_their_distance_from_the_first_that_ran():
    """The longest way counts; a step that nothing leads to is drawn, too."""
    steps = dict.fromkeys(["a", "begin", "end", "lonely"], "set")
    edges = [("begin", "end"), ("begin", "a"), ("a", "end")]

    lines = drawn(steps, edges, runs=["begin"])

    assert [line.split()[1] for line in lines if line[0] != " "] == ["begin", "lonely", "a", "end"]


def test_what_is_not_in_the_workflow_is_drawn():
    """A node of another workflow, and a step that was deleted since, have their own lines."""
    lines = drawn(
        {"root": "set"},
        [("root", "else")],
        runs=["input", "root", "gone"],
        errors=[("lost", 4, "It is not in the workflow")],
    )

    assert lines == [
        "● root  set, 1 run",
        "  └─▶ else",
        "● gone  not a step of this workflow, 1 run",
        "✗ lost  not a step of this workflow, not run, failed: It is not in the workflow",
        "○ else  not a step of this workflow, not run",
    ]


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        (condition("@{SESSION_ID}.a.n", 3, "greater_than"), "a.n > 3"),
        (condition("@{SESSION_ID}.a.n", None, "exists"), "a.n exists"),
        (condition("@{s2}.a.n", "x", "not_equals"), "@{s2}.a.n ≠ x"),
        ({"conditions": '[{"any": ["@{SESSION_ID}.a", {"not": "@{SESSION_ID}.b"}]}]'},
         "(a or not (b))"),
        ({"conditions": '["@{SESSION_ID}.a", "@{SESSION_ID}.b"]'}, "a and b"),
        ({"conditions": "{"}, "a condition that cannot be read"),
        (condition("@{SESSION_ID}.a", "x" * 80), "a = " + "x" * 55 + "…"),
    ],
)  # fmt: skip
def test_conditions_are_short_words(properties, words):
    """Conditions of all forms become one line of at most 60 characters."""
    assert drawn({"root": "set"}, [("root", "root", properties)])[1] == f"  └─▶ root ↑: {words}"


def test_a_picture_is_escaped_and_described():
    """Markup in ids, functions and errors is text; the description has all that text."""
    root = picture(
        {"<r&>": '"f"'}, runs=["<r&>"], errors=[("<r&>", 9, "</svg>\x00")], id="<s>", workflow="a&b"
    )

    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "title desc"
    assert [root.get("width"), root.get("height")] == root.get("viewBox").split()[2:]
    assert root.find(f"{SVG}title").text == "a&b <s>: active, 1 run"
    assert root.find(f"{SVG}desc").text == '<r&>: "f", 1 run, failed: </svg>?.'
    assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text
    texts = [text.text for text in root.findall(f"{SVG}text")]
    assert texts == ["a&b <s>: active, 1 run", "<r&>", '"f"', "1 run", "failed: </svg>?"]


def test_a_picture_has_its_edges_in_words():
    """The description says which edges there are, when they fire and which were taken."""
    told = picture(*BRANCHED, runs=["root", "left"]).find(f"{SVG}desc").text

    assert "root leads to left if root.response = yes, taken." in told
    assert "root leads to right if root.response = no. " in told
    assert "done leads to root. " in told + " "


def boxes(root):
    """Each box as left, top, right and bottom."""
    found = [each for each in root.findall(f"{SVG}rect") if each.get("class") != "ground"]
    numbers = [[float(each.get(key)) for key in ("x", "y", "width", "height")] for each in found]
    return [(x, y, x + width, y + height) for x, y, width, height in numbers]


def size(root):
    return [float(each) for each in root.get("viewBox").split()[2:]]


def test_boxes_do_not_overlap():
    """Steps of a layer stand next to each other, and all of them are in the picture."""
    names = [f"step-{number}" for number in range(9)]
    root = picture(dict.fromkeys(["root", *names], "set"), [("root", name) for name in names])
    found = boxes(root)
    width, height = size(root)

    assert len(found) == 10
    assert all(x > 0 and right < width and y > 0 and b < height for x, y, right, b in found)
    layer = sorted(found[1:])
    assert {top for _, top, _, _ in layer} == {layer[0][1]}
    assert all(one[2] < other[0] for one, other in pairwise(layer))


def test_an_edge_ends_at_the_boxes_of_its_steps():
    """Each edge is a path from the lower side of its source to the upper side of its target."""
    root = picture(*BRANCHED, runs=["root", "left"])
    found = boxes(root)
    lines = [each for each in root.findall(f"{SVG}path") if each.get("class").startswith("line")]

    assert len(lines) == 5
    assert sum(each.get("class") == "line taken" for each in lines) == 1
    for line in lines:
        numbers = [float(each) for each in re.findall(r"-?[\d.]+", line.get("d"))]
        assert any(box[3] == numbers[1] and box[0] < numbers[0] < box[2] for box in found)
        assert any(box[1] == numbers[-1] for box in found)


def test_a_long_edge_passes_beside_the_boxes_between():
    """An edge over a layer bends around the step in it."""
    root = picture(
        {"root": "set", "middle": "set", "end": "set"},
        [("root", "end"), ("root", "middle"), ("middle", "end")],
    )
    _, middle, _ = boxes(root)
    paths = [each.get("d") for each in root.findall(f"{SVG}path")]

    crossings = re.findall(rf"([\d.]+) {middle[1]:g}V{middle[3]:g}", " ".join(paths))
    assert crossings
    assert all(not middle[0] <= float(x) <= middle[2] for x in crossings)


def test_a_large_workflow_is_drawn():
    """A thousand steps in a row, with edges over all of them, are drawn within seconds."""
    names = [f"s{number}" for number in range(1000)]
    edges = [*pairwise(names), *(("s0", name) for name in names[500:]), ("s999", "s0")]
    root = picture(dict.fromkeys(names, "set"), edges)

    assert len(boxes(root)) == 1000
    assert len(root.findall(f"{SVG}path")) == 2 * len(edges)


NAMES = st.sampled_from("abcdef")


@given(
    st.dictionaries(NAMES, st.sampled_from(["set", "request", ""]), min_size=1),
    st.lists(st.tuples(NAMES, NAMES), max_size=20),
    st.lists(NAMES, max_size=12),
    st.lists(NAMES, max_size=3),
)
def test_nothing_is_lost(steps, edges, runs, next_steps):
    """Whatever the graph: each step and each edge is once in the text, and once in the picture."""
    edges = [(start, end) for start, end in edges if start in steps]
    chart = read_chart(record(steps, edges, runs=runs, next_steps=next_steps))
    lines = [*draw_lines(chart)][2:-2]
    root = ET.fromstring(draw_svg(chart))
    names = {*steps, *(end for _, end in edges), *runs, *next_steps}

    heads = [line.split()[1] for line in lines if line[0] != " "]
    assert sorted(heads) == sorted(names)
    drawn_, start = [], ""
    for line in lines:
        if line[0] == " ":
            drawn_.append((start, line.split("▶ ")[1][0]))
        else:
            start = line.split()[1]
    assert sorted(drawn_) == sorted(edges)
    assert len(boxes(root)) == len(names)
    assert len(root.findall(f"{SVG}path")) == 2 * len(edges)


@pytest.fixture
def printed():
    """Print a chart to a terminal of some width, or to a file."""

    def printed(chart, encoding="utf-8", width=None):
        raw = io.BytesIO()
        stream = io.TextIOWrapper(raw, encoding=encoding)
        print_chart(Console(file=stream, force_terminal=width is not None, width=width), chart)
        stream.flush()
        return raw.getvalue().decode(encoding).splitlines()

    return printed


def test_a_terminal_without_the_signs_gets_plain_ones(printed):
    """Where they cannot be written, others stand for arrows and marks."""
    chart = read_chart(record(*BRANCHED, runs=["root", "left"], next_steps=["done"]))

    assert printed(chart, "ascii") == [
        "triage s1: active, 2 runs",
        "",
        "* root   request, 1 run",
        "  |=> left: root.response = yes",
        "  `-> right: root.response = no",
        "* left   set, 1 run",
        "  `=> done",
        "o right  api, not run",
        "  `-> done",
        "> done   set, waits for all branches, not run, next",
        "  `-> root ^",
        "",
        "=> taken, -> not taken, ^ back",
    ]


def test_a_terminal_has_a_width_and_a_file_has_none(printed):
    """Lines end at the edge of a terminal; elsewhere they are whole."""
    chart = read_chart(record(*BRANCHED))

    assert printed(chart) == list(draw_lines(chart))
    cut = printed(chart, width=20)
    assert max(map(len, cut)) == 20
    assert cut[2].endswith("…")


def test_wide_letters_keep_the_columns():
    """Words begin below each other, also behind letters of two columns."""
    lines = drawn({"問": "set", "root": "set"}, [("root", "問")])

    assert [line for line in lines if line[0] != " "] == [
        "○ root  set, not run",
        "○ 問    set, not run",
    ]


def test_a_workflow_without_steps_has_a_title():
    """A session whose steps were all deleted can be drawn."""
    assert drawn({}) == []
    assert picture({}).find(f"{SVG}title").text == "triage s1: active, 0 runs"
