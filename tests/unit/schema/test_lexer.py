"""Scripts are split where Neo4j sees the end of a statement."""

import pytest

from sidecypher_schema import split
from sidecypher_schema.errors import BadScript


def texts(script):
    return [statement.text for statement in split(script).statements]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("", []),
        (" ;; ; ", []),
        ("RETURN 1", ["RETURN 1"]),
        ("RETURN 1;RETURN 2;", ["RETURN 1", "RETURN 2"]),
        ("RETURN ';' AS a;\nRETURN \";\"", ["RETURN ';' AS a", 'RETURN ";"']),
        (r"RETURN 'it\'s; \\'; RETURN 2", [r"RETURN 'it\'s; \\'", "RETURN 2"]),
        (r'RETURN "say \";\""; RETURN 2', [r'RETURN "say \";\""', "RETURN 2"]),
        ("RETURN `a;``b` ; RETURN 2", ["RETURN `a;``b`", "RETURN 2"]),
        ("RETURN 1 // one; two\n, 2;", ["RETURN 1 // one; two\n, 2"]),
        ("/* ; */ RETURN /* 'a; */ 1 /* // */;", ["RETURN /* 'a; */ 1"]),
        ("// it's nothing\n/* `*/\n", []),
        ("RETURN '//', '/*', `*/`; RETURN 2", ["RETURN '//', '/*', `*/`", "RETURN 2"]),
        ("\ufeffRETURN 1;\r\nRETURN 'a\r\nb';\r\n", ["RETURN 1", "RETURN 'a\r\nb'"]),
        ("RETURN 1 // old Macintosh\r, 2;", ["RETURN 1 // old Macintosh\r, 2"]),
        ("RETURN 'ö\U0001f600;', `日本;`;", ["RETURN 'ö\U0001f600;', `日本;`"]),
        ("RETURN 6 / 2 AS half; RETURN {a: 1}", ["RETURN 6 / 2 AS half", "RETURN {a: 1}"]),
    ],
)
def test_statements(script, expected):
    """A semicolon ends a statement, but not in a string, a name or a comment."""
    assert texts(script) == expected


def test_lines():
    """Each statement tells the line where it begins, whatever ends lines."""
    script = "// head\r\nRETURN 1;\rRETURN\n'a\n;';\n\n/* two\nlines */ RETURN 3"

    assert [each.line for each in split(script).statements] == [2, 3, 8]


def test_databases():
    """`:use` names the database of what follows, until the next one."""
    script = "RETURN 1;\n:use system\nSHOW USERS;\n  :USE Neo4j;  // back\nRETURN 2; RETURN 3"

    assert [(each.text, each.database) for each in split(script).statements] == [
        ("RETURN 1", None),
        ("SHOW USERS", "system"),
        ("RETURN 2", "neo4j"),
        ("RETURN 3", "neo4j"),
    ]


def test_a_colon_within_a_statement_is_no_command():
    """Only what begins where a statement would is for the client."""
    assert texts("MATCH (n\n:param {a: 1}) RETURN n") == ["MATCH (n\n:param {a: 1}) RETURN n"]


@pytest.mark.parametrize(
    ("script", "where", "what"),
    [
        ("RETURN 1;\nRETURN 'a\n;", "line 2", "A string"),
        ('RETURN "\\";', "line 1", "A string"),
        ("\n\nRETURN `a``;", "line 3", "A back-ticked name"),
        ("RETURN 1;\n/* *\n/", "line 2", "A comment"),
        ("RETURN 1;\n:param x => 1", "line 2", "`:param`"),
        (":source other.cypher", "line 1", "`:source`"),
        (":use", "line 1", "`:use`"),
        (":use a b", "line 1", "`:use`"),
        (":use `system`", "line 1", "`:use`"),
    ],
)
def test_what_cannot_be_split_is_refused(script, where, what):
    """What is not closed, or is for another client, is refused with file and line."""
    with pytest.raises(BadScript, match=rf"`V1__a.cypher`, {where}") as refused:
        split(script, "V1__a.cypher")

    assert what in refused.value.message
    assert refused.value.code == "SC-701"


def test_a_semicolon_may_not_hide_in_a_command():
    """Statements behind a command on its line are not lost: the line is refused."""
    with pytest.raises(BadScript, match="does not name a database"):
        split(":use system; DROP DATABASE neo4j")


def test_the_header():
    """Comment lines before the first statement are the header; later ones are not."""
    script = "//one\n/* two */\n// three: 3\nRETURN 1; // four\n// five\nRETURN 2"

    assert split(script).header == ((1, "one"), (3, "three: 3"))


def test_a_long_script_takes_a_moment():
    """A megabyte of statements, and one string of a megabyte, are split."""
    long = "x" * 1_000_000

    assert len(texts("RETURN 'it';\n" * 80_000)) == 80_000
    assert texts(f"RETURN '{long}';") == [f"RETURN '{long}'"]
