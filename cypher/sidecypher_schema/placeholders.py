"""Placeholders in scripts, `${name}`, and the values they get.

A value becomes a string literal, or, between back-ticks, a name: ``:`${label}` ``. So no value can
be more of a statement than that. In strings and comments nothing is replaced. A value may be a
password, so what Neo4j says of a statement is shown without it. The Java tool
neo4j-migrations has none for scripts, so a script with placeholders is for this runner only.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sidecypher_schema.errors import BadPlaceholder
from sidecypher_schema.lexer import Statement, tokens

WITHIN_NAME: Final = re.compile(r"\$\{(\w+)\}")
"""A placeholder in a name that stands between back-ticks."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def fill(statement: Statement, values: Mapping[str, str], file: str) -> Statement:
    """Return a statement with values in place of its placeholders.

    Args:
        statement: A statement of a script.
        values: By name.
        file: Name of the script, for errors.

    Raises:
        BadPlaceholder: A value is missing, or cannot be a name.

    Example:
        >>> fill(Statement("CREATE (:`${label}` {by: ${by}})", 1), {"label": "A", "by": "O'B"}, "")
        Statement(text="CREATE (:`A` {by: 'O\\\\'B'})", line=1, database=None)
    """
    where = f"`{file}`, line {statement.line}"

    def value_of(name: str) -> str:
        if name not in values:
            raise BadPlaceholder(
                f"The placeholder `{name}` in {where}, has no value",
                hint=f"Give it by `--set {name}=VALUE`.",
            )
        return values[name]

    def name_of(found: re.Match[str]) -> str:
        value = value_of(found[1])
        if not _NAME.fullmatch(value):
            raise BadPlaceholder(
                f"The value of `{found[1]}` stands for a name in {where}, and cannot be one",
                hint="Use letters, digits and underscores only.",
            )
        return value

    parts = []
    for token in tokens(statement.text, file=file, line=statement.line):
        if token.kind == "placeholder":
            parts.append(literal(value_of(token.text[2:-1])))
        elif token.kind == "name":
            parts.append(WITHIN_NAME.sub(name_of, token.text))
        else:
            parts.append(token.text)
    return replace(statement, text="".join(parts))


def has_placeholder(text: str) -> bool:
    """Return whether a statement has a placeholder.

    Example:
        >>> has_placeholder("CREATE (:`${label}`)"), has_placeholder("RETURN '${label}'")
        (True, False)
    """
    return any(
        token.kind in {"placeholder", "name"} and WITHIN_NAME.search(token.text)
        for token in tokens(text)
    )


def mask(text: str, values: Mapping[str, str]) -> str:
    """Return what Neo4j says of a statement, with placeholders in place of their values.

    Neo4j quotes one line of the statement that was sent, or a value as it was stored. So each line
    of a value is replaced, with and without the marks of a literal, but not parts of other words.

    Example:
        >>> mask("SET PASSWORD 'abc' CHANGE", {"pw": "abc"})
        'SET PASSWORD ${pw} CHANGE'
    """
    names = {
        piece: name
        for name, value in values.items()
        if value
        for whole in (value, literal(value))
        for piece in (whole, *filter(str.strip, whole.splitlines()))
    }
    if not names:
        return text
    pieces = "|".join(map(_bounded, sorted(names, key=len, reverse=True)))
    return re.sub(pieces, lambda found: f"${{{names[found[0]]}}}", text)


def _bounded(piece: str) -> str:
    """Return a pattern that finds a text, but not within a longer word."""
    before = r"(?<!\w)" if re.match(r"\w", piece) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", piece) else ""
    return f"{before}{re.escape(piece)}{after}"


def literal(value: str) -> str:
    r"""Return a Cypher string literal of a text.

    Example:
        >>> print(literal("it's \\ here"))
        'it\'s \\ here'
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
