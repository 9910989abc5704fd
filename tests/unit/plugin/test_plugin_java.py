"""Names, types and texts in Java."""

import json

import pytest

from sidecypher_plugin.java import (
    MAX_TEXT_BYTES,
    annotation,
    cut,
    expression,
    java_type,
    string_literal,
)


@pytest.mark.parametrize(
    ("cypher", "java"),
    [
        ("BOOLEAN", "Boolean"),
        ("INTEGER", "Long"),
        ("FLOAT", "Double"),
        ("STRING", "String"),
        ("MAP", "java.util.Map<String, Object>"),
        ("DATE", "java.time.LocalDate"),
        ("LOCAL DATETIME", "java.time.LocalDateTime"),
        ("ZONED DATETIME", "java.time.ZonedDateTime"),
        ("LOCAL TIME", "java.time.LocalTime"),
        ("ZONED TIME", "java.time.OffsetTime"),
        ("DURATION", "java.time.temporal.TemporalAmount"),
        ("POINT", "org.neo4j.graphdb.spatial.Point"),
        ("NODE", "org.neo4j.graphdb.Node"),
        ("RELATIONSHIP", "org.neo4j.graphdb.Relationship"),
        ("PATH", "org.neo4j.graphdb.Path"),
        ("BYTES", "byte[]"),
        ("LIST<BYTES>", "List<byte[]>"),
        ("ANY", "Object"),
        ("LIST<ANY>", "List<Object>"),
        ("LIST<LIST<MAP>>", "List<List<java.util.Map<String, Object>>>"),
    ],
)
def test_each_cypher_type_has_its_java_type(cypher: str, java: str) -> None:
    """The types are those that Neo4j maps to the same Cypher types."""
    assert java_type(cypher) == java


@pytest.mark.parametrize(
    "unknown",
    [
        *("", "integer", "Long", "LIST", "LIST<", "LIST<>", "LIST<INTEGER", "INTEGER>"),
        *("LIST<LIST<INTEGER>", "LIST<INTEGER>>", "MAP<STRING>", "BYTEARRAY", "TIME", " INTEGER"),
        *("INTEGER\n", "LIST< INTEGER>", "LIST<" * 9 + "INTEGER" + ">" * 9),
    ],
)
def test_unknown_types_are_refused(unknown: str) -> None:
    """What is not a type, or none that the bridge carries, is refused."""
    with pytest.raises(ValueError):
        java_type(unknown)


@pytest.mark.parametrize(
    "text", ["", "plain", 'a "b" \\ c', "*/ // \\u002a\\u002f \\u0022;", "\n\r\t\0\x1a\x7f", "é😀"]
)
def test_a_literal_is_one_line_of_ascii(text: str) -> None:
    """A literal holds its text, in ASCII and on one line."""
    literal = string_literal(text)

    assert json.loads(literal) == text
    assert literal.isascii()
    assert literal.isprintable() or "\x7f" in text


def test_truths_and_numbers_are_written_as_java_does() -> None:
    """Whole numbers are longs, since every number of a stub's facts is one."""
    assert [expression(value) for value in (True, False, 0, -(2**63))] == [
        *("true", "false", "0L", "-9223372036854775808L")
    ]


def test_annotations_name_their_elements() -> None:
    """Java lets the name of an only element be left out when it is `value`."""
    assert annotation("Name", value='"a"') == '@Name("a")'
    assert annotation("Procedure", name='"a.b"', eager="true") == (
        '@Procedure(name = "a.b", eager = true)'
    )


@pytest.mark.parametrize("character", ["a", "é", "\0", "€", "😀"])
def test_long_texts_are_cut_between_characters(character: str) -> None:
    """A text is cut where a class file has no more room, and never inside a character."""
    bytes_each = {"a": 1, "é": 2, "\0": 2, "€": 3, "😀": 6}[character]

    assert cut(character * MAX_TEXT_BYTES) == character * (MAX_TEXT_BYTES // bytes_each)
    assert cut("x" + character * MAX_TEXT_BYTES) == "x" + character * (
        (MAX_TEXT_BYTES - 1) // bytes_each
    )
