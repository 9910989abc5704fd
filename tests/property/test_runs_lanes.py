"""Lanes of events side by side."""

from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.runs.views.lanes import children_of, lanes_of


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
def test_a_branch_goes_to_the_right_and_a_join_to_the_left(parents):
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
            assert lane >= places[parent].lane
