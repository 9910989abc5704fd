"""Default values, checked before Neo4j reads them: one that it cannot read stops the DBMS."""

import re
from collections.abc import Iterator
from typing import Final

__all__ = ["is_default"]

_TOKEN: Final = re.compile(
    r"""(?P<space>[ ]+)
    |(?P<FLOAT>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][+-]?[0-9]+)?|[eE][+-]?[0-9]+))
    |(?P<INTEGER>-?(?:0|[1-9][0-9]{0,18}))
    |(?P<STRING>'(?:[^'\\]|\\[\\'"bfnrt])*'|"(?:[^"\\]|\\[\\'"bfnrt])*")
    |(?P<KEY>`(?:[^`\\]|``|\\(?!u))*`)
    |(?P<WORD>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>[\[\]{},:])""",
    re.VERBOSE,
)
_NO_DEFAULT: Final = " <[6795b15e-8693-4a21-b57a-4a7b87f09a5a]> "
"""Neo4j's own mark of a parameter without a default."""

_LONG: Final = range(-(2**63), 2**63)
_MAX_NESTING: Final = 32


def is_default(text: str, cypher_type: str) -> bool:
    """Tell whether Neo4j takes a text as the default value of a parameter of this type.

    The text of a STRING is taken as it stands; the others are literals, those of a LIST and a MAP
    in Cypher. Temporal types and ANY have no literal.

    Example:
        >>> is_default("[1, 2]", "LIST<INTEGER>"), is_default("[1.5]", "LIST<INTEGER>")
        (True, False)
    """
    if cypher_type == "STRING":
        return text != _NO_DEFAULT
    if cypher_type == "ANY" or text != text.strip():
        return False
    try:
        literal = _Literal(text)
        literal.read(cypher_type, _MAX_NESTING)
        return literal.at_end()
    except _NotALiteralError:
        return False


class _NotALiteralError(Exception):
    """The text is no literal of the wanted type."""


class _Literal:
    """Reads one Cypher literal token by token; any other expression is refused."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next()

    def _next(self) -> None:
        self._kind, self._text = next(self._tokens, ("end", ""))

    def at_end(self) -> bool:
        return self._kind == "end"

    def read(self, wanted: str, depth: int, *, item: bool = False) -> None:
        """Read one value of the wanted type; as an item of a list or map it may be null."""
        if depth == 0:
            raise _NotALiteralError
        if item and self._text == "null":
            self._next()
        elif self._text == "[" and (wanted == "ANY" or wanted.startswith("LIST<")):
            self._read_list(wanted[len("LIST<") : -1] or "ANY", depth)
        elif self._text == "{" and wanted in {"ANY", "MAP"}:
            self._read_map(depth)
        else:
            self._read_scalar(wanted)

    def _read_list(self, wanted: str, depth: int) -> None:
        for _ in self._items(until="]"):
            self.read(wanted, depth - 1, item=True)

    def _read_map(self, depth: int) -> None:
        for _ in self._items(until="}"):
            if self._kind not in {"KEY", "WORD"}:
                raise _NotALiteralError
            self._next()
            self._skip(":")
            self.read("ANY", depth - 1, item=True)

    def _items(self, *, until: str) -> Iterator[None]:
        self._next()
        if self._text != until:
            yield
            while self._text != until:
                self._skip(",")
                yield
        self._next()

    def _skip(self, mark: str) -> None:
        if self._text != mark:
            raise _NotALiteralError
        self._next()

    def _read_scalar(self, wanted: str) -> None:
        kind = "BOOLEAN" if self._text in {"true", "false"} else self._kind
        if kind not in {"BOOLEAN", "INTEGER", "FLOAT", "STRING"} or wanted not in {kind, "ANY"}:
            raise _NotALiteralError
        if kind == "INTEGER" and int(self._text) not in _LONG:
            raise _NotALiteralError
        self._next()


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None or token.lastgroup is None:
            raise _NotALiteralError
        position = token.end()
        if token.lastgroup != "space":
            yield token.lastgroup, token[0]
