"""The two names of events, and digests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from sidecypher import DateTime
from sidecypher_procedures.runs.model import EVENT_TYPES, USAGE, canonical, chained, to_application
from sidecypher_procedures.runs.options import EventInput
from sidecypher_procedures.runs.store import event_of

texts = st.none() | st.text()
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
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
    if kind.usage:
        counts = st.none() | st.integers(0, 10**12)
        costs = st.none() | st.floats(0, 10**12)
        event |= dict(zip(USAGE, draw(st.tuples(counts, counts, costs)), strict=True))
    event["metadata"] = draw(st.dictionaries(st.text(), json_values, max_size=3))
    return event


def read(event):
    """Return the event that a MAP of `runs.append` is."""
    return EventInput.from_map(event).event


@given(event=events())
def test_both_forms_are_one_event(event):
    """Given in either form an event is the same: a retry may use the other one."""
    stored, told = read(event), read(to_application(event))

    assert stored == told
    assert stored.content_digest == told.content_digest


@given(event=events())
def test_an_event_is_told_as_it_was_given(event):
    """What is read of an event can be appended elsewhere, and is the same event in either form."""
    given = read(event)
    now = datetime(2026, 1, 2, tzinfo=UTC)
    # A property that is null is not stored.
    kept = {name: value for name, value in given.stored.items() if value is not None}
    stored = {**kept, "id": given.id, "createdAt": now, "content": given.content}

    told = event_of(stored, None, [], [])

    for form in (told, to_application(told)):
        again = read({name: form[name] for name in form if name != "createdAt"})
        assert again == given


@given(event=events(), data=st.data())
def test_another_content_has_another_digest(event, data):
    """Whatever of type, payload, parents or time is another one, the digest is another one."""
    given = read(event)
    change = data.draw(
        st.sampled_from(
            [
                {"content": (given.content or "") + "x"},
                {"content": None if given.content is not None else ""},
                {"state": "completed"},
                {"tool_name": (given.tool_name or "") + "x"},
                {"tool_call_id": (given.tool_call_id or "") + "x"},
                {"metadata": {"another": 1}},
                {"usage": {**given.usage, "cost": given.usage.get("cost", 0.0) + 1e6}},
                {"parent_ids": ("p",)},
                {"created_at": DateTime.of(datetime(2026, 1, 2, tzinfo=UTC), 1)},
            ]
        )
    )

    assert replace(given, **change).content_digest != given.content_digest


def test_nanoseconds_count():
    """Two instants that differ by a nanosecond are two, and the first years are instants too."""
    digests = {
        replace(read({"type": "status"}), created_at=moment).content_digest
        for moment in (
            DateTime.of(datetime(2026, 1, 2, tzinfo=UTC), 1),
            DateTime.of(datetime(2026, 1, 2, tzinfo=UTC), 2),
            datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        )
    }
    assert len(digests) == 3


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
