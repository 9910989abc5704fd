"""Columns of an index as bytes of a line, if the index was made of that line."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from sidecypher_procedures.code.scip.format import Encoding

_MOST_LINES: Final = 1_000
_BEYOND: Final = 0xFFFF
"""The last character that is one unit in UTF-16."""

_WORD: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def word_at(line: bytes, start: int, end: int, encoding: Encoding) -> tuple[int, bytes] | None:
    """Return the first byte and the text of some columns.

    None says that the index was made of another text: the columns are not in the line, or begin or
    end within a word.
    """
    if not line.isascii() and encoding != "utf-8":
        offsets = _offsets(line, encoding)
        if not 0 <= start < end < len(offsets):
            return None
        start, end = offsets[start], offsets[end]
    if not 0 <= start < end <= len(line) or _splits(line, start) or _splits(line, end):
        return None
    return start, line[start:end]


@lru_cache(maxsize=_MOST_LINES)
def _offsets(line: bytes, encoding: Encoding) -> Sequence[int]:
    """Return the byte that each column of a line begins at, and its end; -1 within a character."""
    offsets, offset = [], 0
    for character in line.decode("utf-8", "surrogateescape"):
        offsets.append(offset)
        if encoding == "utf-16" and ord(character) > _BEYOND:
            offsets.append(-1)
        offset += len(character.encode("utf-8", "surrogateescape"))
    return [*offsets, offset]


def _splits(line: bytes, place: int) -> bool:
    return 0 < place < len(line) and line[place - 1] in _WORD and line[place] in _WORD
