"""What Java asks of names, types and texts."""

import json
import re
from typing import Final

from sidecypher.values.kinds import KINDS

MAX_TEXT_BYTES: Final = 60_000
"""A class file holds texts of up to 65 535 bytes of modified UTF-8; the rest is margin."""

_LIST: Final = re.compile(r"(?P<open>(?:LIST<)*)(?P<scalar>[A-Z ]+)(?P<close>>*)")
_BYTES_BELOW: Final = ((0x80, 1), (0x800, 2), (0x10000, 3), (0x110000, 6))
_MAX_NESTING: Final = 8
"""Deeper lists in 254 columns would not fit into the type of the row's constructor."""


def java_type(cypher_type: str) -> str:
    """Give the Java type that carries a Cypher type.

    Raises:
        ValueError: The bridge carries no such type.

    Example:
        >>> java_type("LIST<INTEGER>")
        'List<Long>'
    """
    parts = _LIST.fullmatch(cypher_type)
    depth = len(parts["close"]) if parts is not None else 0
    if (
        parts is None
        or parts["scalar"] not in KINDS
        or len(parts["open"]) != depth * len("LIST<")
        or depth > _MAX_NESTING
    ):
        raise ValueError(cypher_type)
    return "List<" * depth + KINDS[parts["scalar"]].java + ">" * depth


def cut(text: str) -> str:
    """Give the longest start of a text that fits into a class file, whole characters only.

    Example:
        >>> len(cut("é" * 40_000))
        30000
    """
    room = MAX_TEXT_BYTES
    for index, character in enumerate(text):
        room -= _modified_utf8_bytes(ord(character))
        if room < 0:
            return text[:index]
    return text


def _modified_utf8_bytes(point: int) -> int:
    """Count the bytes of a code point: NUL takes two, what lies above U+FFFF two times three."""
    if point == 0:
        return 2
    return next(size for limit, size in _BYTES_BELOW if point < limit)


def string_literal(text: str) -> str:
    r"""Write a text as a Java string literal in ASCII, cut to what a class file can hold.

    JSON escapes every quote, backslash and line end, and never writes one of them as a Unicode
    escape, which javac would read before it looks for the end of the literal.

    Example:
        >>> print(string_literal('say "\\u0022"'))
        "say \"\\u0022\""
    """
    return json.dumps(cut(text), ensure_ascii=True)


def expression(value: str | int) -> str:
    """Write a text, a truth or a whole number as Java does.

    Example:
        >>> expression("a"), expression(True), expression(5)
        ('"a"', 'true', '5L')
    """
    if isinstance(value, str):
        return string_literal(value)
    return str(value).lower() if isinstance(value, bool) else f"{value}L"


def annotation(kind: str, **elements: str) -> str:
    """Write an annotation whose elements have these expressions as values.

    Example:
        >>> annotation("Name", value=expression("limit"), defaultValue=expression("10"))
        '@Name(value = "limit", defaultValue = "10")'
    """
    if elements.keys() == {"value"}:
        return f"@{kind}({elements['value']})"
    return f"@{kind}({', '.join(f'{name} = {text}' for name, text in elements.items())})"
