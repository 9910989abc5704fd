"""Lanes of events side by side."""

from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.runs.drawing import draw_lines, draw_svg, read_timeline
from sidecypher_procedures.runs.timeline import children_of, lanes_of


@st.composite
def runs(draw):
    """The parents of each event of a run, by its place."""
    parents = {0: ()}
    for name in range(1, draw(st.integers(1, 25))):
        some = st.sets(st.integers(0, name - 1), min_size=1, max_size=4)
        parents[name] = tuple(sorted(draw(some)))
    return parents


@given(parents=runs())
def test_no_line_passes_through_another_event_or_line(parents):
    """Between two events their lane belongs to the line between them alone."""
    places = lanes_of(parents, children_of(parents))
    lines = [
        (lane, parent, name)
        for name, above in parents.items()
        for parent, lane in zip(above, places[name].parent_lanes, strict=True)
    ]

    for lane, start, end in lines:
        assert all(places[name].lane != lane for name in range(start + 1, end))
    for index, (lane, start, end) in enumerate(lines):
        for other, other_start, other_end in lines[index + 1 :]:
            assert lane != other or end <= other_start or other_end <= start


@given(parents=runs())
def test_a_branch_has_a_lane_of_its_own_and_a_join_the_leftmost(parents):
    """The first child stays in the lane; a join is in the leftmost lane that leads to it."""
    children = children_of(parents)
    places = lanes_of(parents, children)

    for name, above in parents.items():
        place = places[name]
        assert len(place.parent_lanes) == len(above)
        assert place.lane == min(place.parent_lanes, default=0)
        for parent, lane in zip(above, place.parent_lanes, strict=True):
            first = children[parent][0] == name
            assert (lane == places[parent].lane) is first


def test_a_line_that_always_leaves_side_branches_takes_two_lanes():
    """A lane is free again where its branch has ended, so that a long run does not drift away."""
    parents = {0: ()}
    for name in range(3, 300, 3):
        parents |= {name - 2: (name - 3,), name - 1: (name - 2,), name: (name - 3,)}

    lanes = {place.lane for place in lanes_of(parents, children_of(parents)).values()}
    assert lanes == {0, 1}


@given(parents=runs(), most_lanes=st.integers(1, 30))
def test_every_run_can_be_drawn(parents, most_lanes):
    """Each event has a row and a dot, however many lanes there is room for."""
    places = lanes_of(parents, children_of(parents))
    rows = [
        {
            "id": name,
            "seq": name + 1,
            "label": "x",
            "createdAt": None,
            "durationMs": None,
            "lane": places[name].lane,
            "parentLanes": places[name].parent_lanes,
            "parentIds": above,
        }
        for name, above in parents.items()
    ]
    timeline = read_timeline({"id": "r", "state": "running"}, rows)
    drawn = list(draw_lines(timeline, most_lanes))

    assert sum("●" in line for line in drawn) == len(parents)
    assert draw_svg(timeline).count("<circle") == len(parents)
    room = min(timeline.lanes, most_lanes)
    graphs = [line[4:].split("  x")[0] for line in drawn if "●" in line]
    assert all(len(graph.rstrip()) <= 2 * room for graph in graphs)
