"""Names, types and texts in Java."""

import json

import pytest

from sidecypher_plugin.java import MAX_TEXT_BYTES, cut, java_type, string_literal


@pytest.mark.parametrize(
    ("cypher", "java"),
    [
        ("BOOLEAN", "Boolean"),
        ("INTEGER", "Long"),
        ("FLOAT", "Double"),
        ("STRING", "String"),
        ("MAP", "Map<String, Object>"),
        ("DATE", "LocalDate"),
        ("LOCAL DATETIME", "LocalDateTime"),
        ("ZONED DATETIME", "ZonedDateTime"),
        ("ANY", "Object"),
        ("LIST<ANY>", "List<Object>"),
        ("LIST<LIST<MAP>>", "List<List<Map<String, Object>>>"),
    ],
)
def test_each_cypher_type_has_its_java_type(cypher: str, java: str) -> None:
    """The types are those that Neo4j maps to the same Cypher types."""
    assert java_type(cypher) == java


@pytest.mark.parametrize(
    "unknown",
    [
        *("", "integer", "Long", "LIST", "LIST<", "LIST<>", "LIST<INTEGER", "INTEGER>"),
        *("LIST<LIST<INTEGER>", "LIST<INTEGER>>", "MAP<STRING>", "NODE", "TIME", " INTEGER"),
        *("INTEGER\n", "LIST< INTEGER>", "LIST<" * 9 + "INTEGER" + ">" * 9),
    ],
)
def test_unknown_types_are_refused(unknown: str) -> None:
    """What is no type, or none that the bridge carries, is refused."""
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


@pytest.mark.parametrize("character", ["a", "é", "\0", "€", "😀"])
def test_long_texts_are_cut_between_characters(character: str) -> None:
    """A text is cut where a class file has no more room, and never inside a character."""
    bytes_each = {"a": 1, "é": 2, "\0": 2, "€": 3, "😀": 6}[character]

    assert cut(character * MAX_TEXT_BYTES) == character * (MAX_TEXT_BYTES // bytes_each)
    assert cut("x" + character * MAX_TEXT_BYTES) == "x" + character * (
        (MAX_TEXT_BYTES - 1) // bytes_each
    )
