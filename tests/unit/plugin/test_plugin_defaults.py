"""Which texts Neo4j reads as a default value; every expectation here was tried on Neo4j 5.26."""

import pytest

from sidecypher_plugin.defaults import is_default

ACCEPTED = [
    *(("INTEGER", text) for text in ("0", "-1", "9223372036854775807", "-9223372036854775808")),
    *(("FLOAT", text) for text in ("0.5", "-1.0", "1e16", "1e+16", "1.5E-7")),
    *(("BOOLEAN", text) for text in ("true", "false")),
    *(("STRING", text) for text in ("", "null", " a'b\\u0022\n", "😀")),
    ("MAP", "{}"),
    ("MAP", "{a: 1, _b2: -0.5, c: 'x', d: \"y\", e: true, f: null, g: [1, 'x', {h: {}}]}"),
    ("MAP", "{`a b`: 1, `a``b`: 2, ``: 3, `\\n`: 4, null: 5, match: 6}"),
    ("MAP", r"""{a: 'it\'s \\u0027 \n', b: "\"", c: '\\'}"""),
    ("MAP", "{a: '// no comment /* here', b: 'two\nlines'}"),
    ("LIST<ANY>", "[1, 'x', null, [], {a: 1}]"),
    ("LIST<INTEGER>", "[]"),
    ("LIST<INTEGER>", "[1, null, -2]"),
    ("LIST<FLOAT>", "[1.0, 1e+16]"),
    ("LIST<STRING>", "['a']"),
    ("LIST<BOOLEAN>", "[true]"),
    ("LIST<MAP>", "[{a: 1}]"),
    ("LIST<LIST<INTEGER>>", "[[1], []]"),
    ("LIST<DATE>", "[]"),
]

REFUSED = [
    *(("INTEGER", text) for text in ("", "null", "1.0", " 1", "1 ", "1_0", "0x10", "01", "+1")),
    *(("INTEGER", text) for text in ("٣", "9223372036854775808", "-9223372036854775809", "1\n")),
    ("INTEGER", "1" * 5_000),
    *(("FLOAT", text) for text in ("", "null", "1", "NaN", "Infinity", "1d", ".5", "1.", " 1.0")),
    *(("BOOLEAN", text) for text in ("", "null", "TRUE", "1", "'true'")),
    ("STRING", " <[6795b15e-8693-4a21-b57a-4a7b87f09a5a]> "),
    *(("ANY", text) for text in ("null", "1", "{}")),
    *(("DATE", text) for text in ("null", "2024-02-29", "'2024-02-29'")),
    *(("MAP", text) for text in ("", "null", "[]", "{", "{}}", "{a}", "{a:}", "{a: 1,}", "{,}")),
    *(("MAP", text) for text in ("{1: 1}", "{'a': 1}", "{a b: 1}", "{é: 1}", "{a: 1 b: 2}")),
    *(("MAP", text) for text in ("{a: date()}", "{a: 1 + 1}", "{a: $p}", "{a: x}", "{a: -x}")),
    *(("MAP", text) for text in ("{a: 'x}", "{a: '''}", r"{a: '\u0027'}", r"{`\u0060`: 1}")),
    *(("MAP", text) for text in (r"{a: '\x'}", "{a: 1} // c", "{} RETURN 1", "{a: 1}, {}")),
    *(("LIST<INTEGER>", text) for text in ("null", "1", "[1", "[1.5]", "['a']", "[1,]", "[1 2]")),
    ("LIST<FLOAT>", "[1]"),
    ("LIST<DATE>", "['2024-02-29']"),
    ("LIST<LIST<INTEGER>>", "[1]"),
    ("LIST<ANY>", "[" * 33 + "]" * 33),
]


@pytest.mark.parametrize(("cypher_type", "text"), ACCEPTED)
def test_literals_of_the_type_are_defaults(cypher_type: str, text: str) -> None:
    """A literal of the parameter's type is a default."""
    assert is_default(text, cypher_type)


@pytest.mark.parametrize(("cypher_type", "text"), REFUSED)
def test_everything_else_is_refused(cypher_type: str, text: str) -> None:
    """Expressions, literals of other types, and texts that only look right are no defaults."""
    assert not is_default(text, cypher_type)
