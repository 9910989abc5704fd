"""Whatever the value, it comes back; whatever the text, nothing but a named error comes out."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecypher import envelope
from sidecypher.codec import decoder, encoder
from sidecypher.errors import ProtocolError, ValueTypeError
from sidecypher.signature import CypherType
from sidecypher.transport.py4j import escape, unescape
from sidecypher.types import INTEGER_MAX, INTEGER_MIN, DateTime

ANY = CypherType("ANY", nullable=True)

ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"]

texts = st.text(st.characters(exclude_categories=["Cs"]))
integers = st.integers(INTEGER_MIN, INTEGER_MAX) | st.sampled_from(
    [INTEGER_MIN, INTEGER_MIN + 1, -1, 0, 1, 2**53, 2**53 + 1, INTEGER_MAX - 1, INTEGER_MAX]
)
floats = st.floats(allow_nan=False)
offsets = st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds)))
zones = offsets | st.sampled_from(ZONES).map(ZoneInfo) | st.just(UTC)
extras = st.integers(0, 999)


def with_nanoseconds(value, extra):
    return DateTime.of(value, extra) if extra else value


def exists(value):
    """Tell whether a local time is one that clocks of its zone have shown."""
    there = value.astimezone(UTC).astimezone(value.tzinfo)
    return there.replace(tzinfo=None) == value.replace(tzinfo=None)


locals_ = st.builds(with_nanoseconds, st.datetimes(), extras)
# A day from the ends, since a time in another zone must still be in the years 1 to 9999.
zoned = st.builds(
    with_nanoseconds,
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=zones).filter(exists),  # noqa: DTZ001
    extras,
)
keys = texts | st.sampled_from(
    ["$date", "$map", "$float", "$datetime", "$localdatetime", "$", "$x"]
)
scalars = (
    st.none() | st.booleans() | integers | floats | texts | st.dates() | locals_ | zoned
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=20,
)

BY_TYPE = [
    (CypherType("BOOLEAN"), st.booleans()),
    (CypherType("INTEGER"), integers),
    (CypherType("FLOAT"), floats),
    (CypherType("STRING"), texts),
    (CypherType("DATE"), st.dates()),
    (CypherType("LOCAL DATETIME"), locals_),
    (CypherType("ZONED DATETIME"), zoned),
    (CypherType("LIST", ANY), st.lists(values, max_size=4)),
    (CypherType("LIST", CypherType("INTEGER", None, True)), st.lists(st.none() | integers)),
    (CypherType("LIST", CypherType("LIST", CypherType("STRING"))), st.lists(st.lists(texts))),
    (CypherType("MAP", ANY), st.dictionaries(keys, values, max_size=3)),
    (CypherType("MAP", CypherType("FLOAT")), st.dictionaries(keys, floats, max_size=3)),
    (CypherType("STRING", nullable=True), st.none() | texts),
    (ANY, values),
]


def crossed(kind, value):
    """Send a value over the wire: encode, JSON, escape, and all of it back."""
    payload = escape(envelope.write(encoder(kind)(value)))
    assert b"\\" not in payload
    assert not any(byte < 0x20 and byte != 0x1A for byte in payload)
    return decoder(kind)(msgspec.json.decode(unescape(payload)))


def same(one, other):
    """Tell whether two values are equal in everything that Cypher would see."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, datetime):
        keys = (getattr(one, "key", None) for one in (one.tzinfo, other.tzinfo))
        return one == other and one.utcoffset() == other.utcoffset() and len(set(keys)) == 1
    return one == other


@pytest.mark.parametrize(("kind", "strategy"), BY_TYPE, ids=lambda part: str(part)[:40])
@given(data=st.data())
def test_a_value_of_each_type_comes_back_the_same(kind, strategy, data):
    """A value of a declared type comes back equal, of its type, with zone and nanoseconds."""
    value = data.draw(strategy)

    assert same(crossed(kind, value), value)


@given(value=values)
def test_a_declared_type_and_any_write_the_same(value):
    """ANY writes a value as its own type does, so that either side may know the type or not."""
    for kind in (CypherType("LIST", ANY), CypherType("MAP", CypherType("LIST", ANY))):
        wrapped = [value] if kind.name == "LIST" else {"a": [value]}

        assert encoder(kind)(wrapped) == encoder(ANY)(wrapped)


@given(value=st.sampled_from([math.nan, -math.nan, math.inf, -math.inf]))
def test_numbers_that_json_lacks_come_back(value):
    """NaN and the infinities cross as what they are."""
    for kind in (CypherType("FLOAT"), ANY):
        back = crossed(kind, value)

        assert math.isnan(back) if math.isnan(value) else back == value


@given(value=st.integers(max_value=INTEGER_MIN - 1) | st.integers(min_value=INTEGER_MAX + 1))
def test_integers_outside_64_bits_are_refused(value):
    """What no INTEGER holds is refused where it is written."""
    for kind in (CypherType("INTEGER"), ANY):
        with pytest.raises(ValueTypeError, match="outside 64 bits"):
            encoder(kind)(value)


@given(before=texts, half=st.characters(categories=["Cs"]), after=texts)
def test_half_a_surrogate_pair_is_refused(before, half, after):
    """A text that is no Unicode is refused, as a value and as a key."""
    text = before + half + after
    for value in (text, [text], {text: 1}, {"a": text}):
        with pytest.raises(ValueTypeError, match="surrogate"):
            encoder(ANY)(value)


tagged = st.dictionaries(
    st.sampled_from(["$date", "$datetime", "$localdatetime", "$float", "$map", "$x", "a"]),
    st.text()
    | st.from_regex(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?", fullmatch=True)
    | st.from_regex(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d(Z|[+-]\d\d:\d\d(:\d\d)?)(\[[A-Za-z/.]{1,12}\])?", fullmatch=True
    ),
    max_size=2,
)
any_json = st.recursive(
    st.none() | st.booleans() | integers | st.integers() | floats | st.text() | tagged,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=10,
)


@pytest.mark.parametrize("kind", [kind for kind, _ in BY_TYPE], ids=str)
@given(value=any_json)
@example(value={"$float": []})
@example(value={"$float": "NaN", "a": 1})
@example(value=10**400)
@example(value={"$datetime": "2024-01-01T00:00+99:99"})
@example(value={"$datetime": "2024-01-01T00:00Z[../../etc/passwd]"})
@example(value={"$datetime": "2024-01-01T00:00Z[a\0b]"})
@example(value={"$datetime": "0000-01-01T00:00Z"})
@example(value={"$localdatetime": "2023-02-29T00:00"})
@example(value={"$date": ""})
@example(value={"$map": []})
def test_reading_gives_a_value_or_a_named_error(kind, value):
    """Whatever JSON arrives, a decoder gives a value or raises `ValueTypeError`."""
    try:
        decoder(kind)(value)
    except ValueTypeError as error:
        assert error.message  # noqa: PT017 - any value may also be accepted


MESSAGES = [
    envelope.Hello,
    envelope.CallRequest,
    envelope.PageRequest,
    envelope.CloseRequest,
    envelope.CancelRequest,
    envelope.RunReply,
]
almost = st.fixed_dictionaries(
    {},
    optional={
        name: st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers())
        for name in [
            "v",
            "jvm",
            "role",
            "catalogue",
            "id",
            "args",
            "remaining_ms",
            "reason",
            "rows",
        ]
    },
).map(msgspec.json.encode)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
@given(payload=st.binary() | almost)
@example(payload=b'{"id":"\xff","remaining_ms":1}')
@example(payload=b'{"id":"\\ud800","remaining_ms":1}')
@example(payload=b"[" * 100_000)
@example(payload=b'{"id":' * 10_000)
@example(payload=b'{"id":"a","id":"b","remaining_ms":1}')
@example(payload=b'{"id":"a","remaining_ms":NaN}')
@example(payload=b"")
@example(payload=b"{}{}")
def test_a_message_is_read_or_is_a_protocol_error(kind, payload):
    """Whatever bytes arrive, reading gives the message or raises `ProtocolError`, telling none."""
    try:
        assert isinstance(envelope.read(payload, kind), kind)
    except ProtocolError as error:
        assert str(error) == f"The peer sent something that is no {kind.__name__}"  # noqa: PT017


@given(value=values)
def test_unescape_undoes_escape(value):
    """On JSON text, swapping backslashes is undone exactly, and leaves none."""
    text = envelope.write(encoder(ANY)(value))

    assert unescape(escape(text)) == text
    assert b"\\" not in escape(text)
    assert b"\n" not in escape(text)


@given(value=st.dates())
def test_dates_are_iso_8601(value):
    """A DATE is written as Java's `LocalDate` reads it."""
    assert encoder(CypherType("DATE"))(value) == {"$date": value.isoformat()}
    assert date.fromisoformat(value.isoformat()) == value
