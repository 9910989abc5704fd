"""The two names of events, and digests."""

from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.runs.digests import canonical, chained
from sidecypher_procedures.runs.inputs import EventInput
from sidecypher_procedures.runs.naming import EVENT_TYPES, to_application, to_storage

texts = st.none() | st.text()
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def events(draw):
    """An event as `runs.append` takes it, in the words of the graph."""
    kind = draw(st.sampled_from(EVENT_TYPES))
    event = {"type": kind.storage, "id": draw(st.text("abc", min_size=1))}
    if kind.body is not None:
        event[kind.body] = draw(texts)
    for name in kind.further:
        event[name] = "running" if name == "state" else draw(st.text("xyz", max_size=5))
    event["metadata"] = draw(st.dictionaries(st.text(), json_values, max_size=3))
    return event


@given(event=events())
def test_names_are_mapped_without_loss(event):
    """An event in the words of applications is the same event: there and back nothing changes."""
    assert to_storage(to_application(event)) == event


@given(event=events())
def test_both_forms_are_one_event(event):
    """Given in either form an event is the same: a retry may use the other one."""
    stored, told = EventInput.parse(event), EventInput.parse(to_application(event))

    assert stored == told
    assert stored.content_digest == told.content_digest


@given(one=events(), other=events())
def test_events_of_other_content_have_other_digests(one, other):
    """Two digests are equal only when type and payload are."""
    first, second = EventInput.parse(one), EventInput.parse(other)
    same = (first.stored, first.content) == (second.stored, second.content)

    assert (first.content_digest == second.content_digest) == same


@given(value=json_values)
def test_a_value_has_one_text(value):
    """The order in which a MAP was filled leaves no trace."""
    turned = dict(reversed(value.items())) if isinstance(value, dict) else value

    assert canonical(turned) == canonical(value)


@given(parents=st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), max_size=4))
def test_the_order_of_parents_does_not_matter(parents):
    """A digest is of a set of parents, and of the place."""
    assert chained("c", 1, parents) == chained("c", 1, reversed(parents))
    assert chained("c", 1, parents) != chained("c", 2, parents)
