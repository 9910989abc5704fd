"""Scripts of invented statements are split into those statements."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from sidecypher_schema import split
from sidecypher_schema.checksum import checksum
from sidecypher_schema.errors import BadScript
from sidecypher_schema.lexer import line_breaks, tokens

ANY = st.text(st.characters(codec="utf-8"))
WORDS = st.sampled_from(["RETURN", "n.name", "1", "{a: 2}", "(n:Person)", "/", "*", "$p", "-->"])


def quoted(quote):
    escaped = ANY.map(lambda text: text.replace("\\", "\\\\").replace(quote, f"\\{quote}"))
    return escaped.map(lambda text: f"{quote}{text}{quote}")


NAMES = ANY.map(lambda text: "`" + text.replace("`", "``") + "`")
COMMENTS = st.one_of(
    ANY.map(lambda text: "//" + text.replace("\n", "").replace("\r", "") + "\n"),
    ANY.map(lambda text: "/*" + text.replace("*/", "").rstrip("*") + "*/"),
)
SOLID = st.one_of(WORDS, quoted("'"), quoted('"'), NAMES)
STATEMENTS = st.tuples(SOLID, st.lists(st.one_of(SOLID, COMMENTS)), SOLID).map(
    lambda parts: " ".join([parts[0], *parts[1], parts[2]])
)
GAPS = st.lists(st.one_of(st.sampled_from([" ", "\n", "\r\n", "\t", ";"]), COMMENTS)).map("".join)


@st.composite
def scripts(draw):
    """Statements, and a script of them with anything harmless between."""
    statements = draw(st.lists(STATEMENTS))
    parts = [draw(GAPS)]
    for statement in statements:
        parts += [statement, ";", draw(GAPS)]
    return statements, "".join(parts)


@given(scripts())
def test_splitting_undoes_joining(written):
    """Whatever strings, names and comments hold, statements come back as they were written."""
    statements, script = written

    assert [each.text for each in split(script).statements] == statements


@given(scripts())
def test_lines_are_where_statements_begin(written):
    """The line of a statement is one more than the line ends before it."""
    _, script = written
    found, position = split(script).statements, 0
    for statement in found:
        position = script.index(statement.text, position)

        assert statement.line <= 1 + line_breaks(script[:position])
        position += len(statement.text)


@given(ANY)
def test_any_text_is_split_or_refused(text):
    """Nothing but our own error comes of any text, and a checksum is there for all of it."""
    with contextlib.suppress(BadScript):
        assert "".join(token.text for token in tokens(text)) == text
        split(text)

    assert 0 <= int(checksum(text)) < 2**32
