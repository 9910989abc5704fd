"""Lines of the Py4J protocol in what a socket receives."""

import pytest

from sidecypher.errors import MessageTooLarge
from sidecypher.transport.py4j import LineReader


def reader(*chunks, limit=10):
    received = iter((*chunks, b""))
    return LineReader(lambda _size: next(received), limit)


def test_lines_are_those_of_all_chunks():
    """However they are cut; the last one without an end is none."""
    lines = reader(b"one\nt", b"w", b"o\n\nthr", b"ee\nrest")

    assert [lines.line() for _ in range(5)] == [b"one", b"two", b"", b"three", None]


def test_a_line_has_a_limit_behind_another_one_too():
    """What of it came with the end of the line before counts, and lines before it do not."""
    assert reader(b"0123456789\n01234", b"56789\n").line() == b"0123456789"
    lines = reader(b"0123456789\n01234", b"567890")

    assert lines.line() == b"0123456789"
    with pytest.raises(MessageTooLarge, match="more than 10 bytes"):
        lines.line()
