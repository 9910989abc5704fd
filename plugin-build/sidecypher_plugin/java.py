"""Java types, literals and annotations."""

import json
import re
from typing import Final

from sidecypher.values.kinds import KINDS

MAX_TEXT_BYTES: Final = 60_000
"""Longest text of a class file, with a margin: the limit is 65 535 bytes of modified UTF-8."""

_LIST: Final = re.compile(r"(?P<open>(?:LIST<)*)(?P<scalar>[A-Z ]+)(?P<close>>*)")
_BYTES_BELOW: Final = ((0x80, 1), (0x800, 2), (0x10000, 3), (0x110000, 6))
_MAX_NESTING: Final = 8
"""Most levels of lists: deeper ones in 254 columns do not fit into a constructor's descriptor."""


def java_type(cypher_type: str) -> str:
    """Return the Java type of a Cypher type.

    Raises:
        ValueError: The bridge does not support the type.

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
    """Return the longest prefix of a text that fits into a class file, in whole characters.

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
    """Return the size of a code point: NUL has two bytes, and one above U+FFFF has six."""
    if point == 0:
        return 2
    return next(size for limit, size in _BYTES_BELOW if point < limit)


def string_literal(text: str) -> str:
    r"""Write a text as a Java string literal in ASCII, cut to fit into a class file.

    JSON escapes every quote, backslash and line end, and never as a Unicode escape. javac would
    decode a Unicode escape before it looks for the end of the literal.

    Example:
        >>> print(string_literal('say "\\u0022"'))
        "say \"\\u0022\""
    """
    return json.dumps(cut(text), ensure_ascii=True)


def expression(value: str | int) -> str:
    """Write a string, boolean or integer as a Java expression.

    Example:
        >>> expression("a"), expression(True), expression(5)
        ('"a"', 'true', '5L')
    """
    if isinstance(value, str):
        return string_literal(value)
    return str(value).lower() if isinstance(value, bool) else f"{value}L"


def annotation(kind: str, **elements: str) -> str:
    """Write an annotation with Java expressions as its elements.

    Example:
        >>> annotation("Name", value=expression("limit"), defaultValue=expression("10"))
        '@Name(value = "limit", defaultValue = "10")'
    """
    if elements.keys() == {"value"}:
        return f"@{kind}({elements['value']})"
    return f"@{kind}({', '.join(f'{name} = {text}' for name, text in elements.items())})"
