"""Files of archived runs: what was written is read, and nothing else is."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecypher import DateTime, Duration, Point
from sidecypher_procedures.runs.archive_format import (
    FORMAT,
    Head,
    Node,
    Payload,
    Relationship,
    RunArchives,
    decode_line,
    encode_line,
    with_tail,
)
from sidecypher_procedures.runs.errors import ArchiveDamaged

texts = st.text(st.characters(exclude_categories=["Cs"]))
moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
scalars = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    texts,
    st.binary(),
    st.dates(),
    st.builds(DateTime.of, moments, st.integers(1, 999)),
    st.builds(Duration, st.integers(-99, 99), st.integers(-99, 99), st.integers(-99, 99)),
    st.builds(Point, st.just(7203), st.floats(-9, 9), st.floats(-9, 9)),
)
properties = st.dictionaries(texts, scalars | st.lists(texts), max_size=4)
ends = st.tuples(st.sampled_from(["Event", "User"]), texts).map(list)
lines = st.one_of(
    st.builds(Payload, sha256=texts, content=st.none() | texts),
    st.builds(Node, labels=st.lists(texts), properties=properties),
    st.builds(Relationship, type=texts, start=ends, end=ends, properties=properties),
)


@given(line=lines)
def test_a_line_is_read_as_it_was_written(line):
    """No value loses anything, and a line has no end but its own."""
    text = encode_line(line)

    assert decode_line(text) == line
    assert text.index(b"\n") == len(text) - 1


@settings(max_examples=40)
@given(st.lists(lines, max_size=5), st.data())
def test_every_change_of_a_file_is_found(body, data):
    """Wherever a byte is another one, is missing or is too much, the file is refused."""
    with tempfile.TemporaryDirectory() as folder:
        archives = RunArchives.of(Path(folder), "neo4j", "r1")
        head = Head(format=FORMAT, run_id="r1", created_at=None)
        file = archives.write(with_tail([head, *body]))
        assert [*file.lines()] == [head, *body, file.check()]

        path = Path(folder) / file.name
        whole = path.read_bytes()
        place = data.draw(st.integers(0, len(whole) - 1))
        instead = data.draw(
            st.binary(max_size=2).filter(lambda found: found != whole[place : place + 1])
        )
        path.write_bytes(whole[:place] + instead + whole[place + 1 :])
        with pytest.raises(ArchiveDamaged):
            file.check()
