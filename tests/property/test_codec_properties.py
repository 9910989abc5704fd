"""Whatever the value, it comes back; whatever the text, nothing but a named error comes out."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import msgspec
import pytest
from conformance.cases import same
from hypothesis import example, given
from hypothesis import strategies as st

from sidecypher import DateTime, Duration, Node, OpaqueTemporal, Path, Point, Relationship, Time
from sidecypher.errors import ProtocolError, ValueTypeError
from sidecypher.protocol import envelope
from sidecypher.transport.py4j import escape, unescape
from sidecypher.values.annotations import INTEGER_MAX, INTEGER_MIN
from sidecypher.values.coders import decoder, encoder
from sidecypher.values.cypher import CypherType
from sidecypher.values.kinds import TAGS

ANY = CypherType("ANY", nullable=True)

ZONES = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"]

texts = st.text(st.characters(exclude_categories=["Cs"]))
integers = st.integers(INTEGER_MIN, INTEGER_MAX) | st.sampled_from(
    [INTEGER_MIN, INTEGER_MIN + 1, -1, 0, 1, 2**53, 2**53 + 1, INTEGER_MAX - 1, INTEGER_MAX]
)
floats = st.floats(allow_nan=False)
offsets = st.integers(-64_800, 64_800).map(lambda seconds: timezone(timedelta(seconds=seconds)))
zones = offsets | st.sampled_from(ZONES).map(ZoneInfo) | st.just(UTC)
extras = st.integers(0, 999)


def with_nanoseconds(value, extra):
    kept = DateTime if isinstance(value, datetime) else Time
    return kept.of(value, extra) if extra else value


def exists(value):
    """Tell whether a local time is one that clocks of its zone have shown."""
    there = value.astimezone(UTC).astimezone(value.tzinfo)
    return there.replace(tzinfo=None) == value.replace(tzinfo=None)


local_times = st.builds(with_nanoseconds, st.times(), extras)
zoned_times = st.builds(with_nanoseconds, st.times(timezones=offsets | st.just(UTC)), extras)
locals_ = st.builds(with_nanoseconds, st.datetimes(), extras)
# A day from the ends, since a time in another zone must still be in the years 1 to 9999.
zoned = st.builds(
    with_nanoseconds,
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=zones).filter(exists),  # noqa: DTZ001
    extras,
)
years = st.integers(10_000, 999_999_999).map("+{}".format) | st.integers(0, 999_999_999).map(
    lambda year: f"-{year:04d}" if year else "0000"
)
opaque = st.builds(
    OpaqueTemporal,
    st.just("DATE"),
    st.builds("{}-{:02d}-{:02d}".format, years, st.integers(1, 12), st.integers(1, 28)),
)
bounded = st.integers(-(2**40), 2**40)
durations = st.builds(Duration, bounded, bounded, integers, st.integers(-(10**12), 10**12)).filter(
    lambda value: abs(value.seconds) < 2**62
)
coordinates = st.floats(allow_nan=False, allow_infinity=False)
latitudes = st.floats(-90, 90)
points = st.one_of(
    st.builds(Point, st.just(7203), coordinates, coordinates),
    st.builds(Point, st.just(9157), coordinates, coordinates, coordinates),
    st.builds(Point, st.just(4326), coordinates, latitudes),
    st.builds(Point, st.just(4979), coordinates, latitudes, coordinates),
)
keys = texts | st.sampled_from([*TAGS, "$", "$x"])
scalars = st.one_of(
    st.none(), st.booleans(), integers, floats, texts, st.binary(), st.dates(), local_times,
    zoned_times, locals_, zoned, opaque, durations, points,
)  # fmt: skip
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=20,
)
names = texts.filter(bool)
properties = st.dictionaries(keys, scalars | st.lists(scalars, max_size=2), max_size=2)
nodes = st.builds(Node, names, st.frozensets(texts, max_size=3), properties)
relationships = st.builds(Relationship, names, texts, properties, texts, texts)


def joined(first, steps):
    """Return the path that begins at a node and goes on by steps of relationship and node."""
    return Path((first, *(node for _, node in steps)), tuple(each for each, _ in steps))


paths = st.builds(joined, nodes, st.lists(st.tuples(relationships, nodes), max_size=2))
entities = nodes | relationships | paths

BY_TYPE = [
    (CypherType("BOOLEAN"), st.booleans()),
    (CypherType("INTEGER"), integers),
    (CypherType("FLOAT"), floats),
    (CypherType("STRING"), texts),
    (CypherType("BYTES"), st.binary()),
    (CypherType("DATE"), st.dates() | opaque),
    (CypherType("LOCAL TIME"), local_times),
    (CypherType("ZONED TIME"), zoned_times),
    (CypherType("LOCAL DATETIME"), locals_),
    (CypherType("ZONED DATETIME"), zoned),
    (CypherType("DURATION"), durations),
    (CypherType("POINT"), points),
    (CypherType("NODE"), nodes),
    (CypherType("RELATIONSHIP"), relationships),
    (CypherType("PATH"), paths),
    (CypherType("LIST", ANY), st.lists(values, max_size=4)),
    (CypherType("LIST", CypherType("INTEGER", None, True)), st.lists(st.none() | integers)),
    (CypherType("LIST", CypherType("LIST", CypherType("STRING"))), st.lists(st.lists(texts))),
    (CypherType("MAP", ANY), st.dictionaries(keys, values | entities, max_size=3)),
    (CypherType("MAP", CypherType("FLOAT")), st.dictionaries(keys, floats, max_size=3)),
    (CypherType("STRING", nullable=True), st.none() | texts),
    (ANY, values | entities),
]


def crossed(kind, value):
    """Send a value over the wire: encode, JSON, escape, and all of it back."""
    payload = escape(envelope.write(encoder(kind)(value)))
    assert b"\\" not in payload
    assert not any(byte < 0x20 and byte != 0x1A for byte in payload)
    return decoder(kind)(msgspec.json.decode(unescape(payload)))


@pytest.mark.parametrize(("kind", "strategy"), BY_TYPE, ids=[str(kind) for kind, _ in BY_TYPE])
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


clock = r"\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
offset = r"(Z|[+-]\d\d:\d\d(:\d\d)?)"
tagged = st.dictionaries(
    st.sampled_from([*TAGS, "$x", "a"]),
    st.text()
    | st.from_regex(rf"[+-]?\d{{4,9}}-\d\d-\d\d(T{clock})?", fullmatch=True)
    | st.from_regex(rf"(\d{{4}}-\d\d-\d\dT)?{clock}{offset}?", fullmatch=True)
    | st.from_regex(rf"\d{{4}}-\d\d-\d\dT{clock}{offset}\[[A-Za-z/.]{{1,12}}\]", fullmatch=True)
    | st.lists(st.integers() | floats | texts | st.lists(texts, max_size=2), max_size=5),
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
    """Whatever JSON arrives, a decoder raises `ValueTypeError` or gives a value that goes back."""
    try:
        read = decoder(kind)(value)
    except ValueTypeError as error:
        assert error.message  # noqa: PT017 - any value may also be accepted
        return
    assert same(crossed(kind, read), read)


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
        assert str(error) == f"The peer sent something that is not a {kind.__name__}"  # noqa: PT017


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


@given(value=st.datetimes(timezones=st.just(UTC)))
def test_utc_is_written_as_any_zone_without_an_offset(value):
    """The short way that a time in UTC takes gives the text that the long one gives."""
    write = encoder(CypherType("ZONED DATETIME"))
    nameless = timezone(timedelta(0), "no offset")

    assert write(value) == write(value.replace(tzinfo=nameless))
