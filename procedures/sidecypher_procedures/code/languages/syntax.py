"""The matches of a language's query in a source file, by what they mean."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from inspect import cleandoc
from typing import Final, NamedTuple, TypeAlias

import tree_sitter
from tree_sitter import Node

from sidecypher_procedures.code.languages.grammars import Grammar
from sidecypher_procedures.code.model import EntityType

LONGEST_TEXT: Final = 500
"""The most bytes of a name, receiver or signature: a chain of calls has each as a receiver."""

DEEPEST_NODE: Final = 50_000
"""The depth below which nodes are not read: tree-sitter counts depth in 16 bits."""

MOST_OPEN_MATCHES: Final = 1_000
"""The most matches that are looked for at a time: each is compared with each node."""


class _Loaded(NamedTuple):
    """A grammar that is loaded.

    Attributes:
        query: The query of its language.
        settings: The settings of each pattern of the query.
    """

    language: tree_sitter.Language
    query: tree_sitter.Query
    settings: tuple[Mapping[str, str | None], ...]


@cache
def _loaded(grammar: Grammar) -> _Loaded:
    language = tree_sitter.Language(getattr(import_module(grammar.package), grammar.function)())
    folder = files(__package__)
    text = "\n".join(
        folder.joinpath(f"{name}.scm").read_text(encoding="utf-8") for name in grammar.queries
    )
    query = tree_sitter.Query(language, text)
    return _Loaded(
        language,
        query,
        tuple(query.pattern_settings(index) for index in range(query.pattern_count)),
    )


Captures: TypeAlias = Mapping[str, Sequence[Node]]
Settings: TypeAlias = Mapping[str, str | None]


class Match(NamedTuple):
    """A match of a query.

    Attributes:
        kind: The capture that says what it is.
        node: The node of that capture.
    """

    kind: str
    node: Node
    captures: Captures
    settings: Settings


class _Above(NamedTuple):
    """A comment or a decorator that begins its line.

    Attributes:
        row: Its first row.
        comment: Its text; "" for a decorator.
    """

    row: int
    comment: str


TYPES: Final[Mapping[str, EntityType]] = {
    "function": "function",
    "class": "class",
    "variable": "variable",
    "member": "variable",
}
# What names something other than a variable.
_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "function": ("name",),
    "class": ("name",),
    "import": ("imported", "alias"),
}
# Of matches with the same node, the one with most captures counts. Calls are first, as most
# matches are calls.
_MERGED: Final = ("call", *TYPES)
_KINDS: Final = (
    *(*_MERGED, "import", "base", "docstring", "scope", "outer", "comment", "decorator"),
    *("local", "other", "use", "renamed"),
)
# What a match names or calls, which is no use of it.
_NO_USES: Final = ("name", "callee", "base", "local")


class Syntax:
    """The syntax of a file.

    Attributes:
        source: The content of the file.
        root: The node of the file.
        matches: The definitions, calls, imports, bases, docstrings and scopes, in no order.
    """

    def __init__(self, source: bytes, grammar: Grammar) -> None:
        loaded = _loaded(grammar)
        self.source = source
        self.root = tree_sitter.Parser(loaded.language).parse(source).root_node
        self._outer: dict[int, Node] = {}
        self._above: dict[int, _Above] = {}
        self._merged: dict[int, Match] = {}
        self._others: list[Match] = []
        for match in _matches(loaded, self.root):
            self._note(match)
        matches = _without_taken_names([*self._merged.values(), *self._others])
        self.matches = _without_taken_uses(matches)

    def _note(self, match: Match) -> None:
        if match.kind in _MERGED:
            other = self._merged.get(match.node.id)
            if other is None or len(other.captures) < len(match.captures):
                self._merged[match.node.id] = match
        elif match.kind == "outer":
            self._outer[match.captures["inner"][0].id] = match.node
        elif match.kind in {"comment", "decorator"}:
            self._note_above(match)
        else:
            self._others.append(match)

    def _note_above(self, match: Match) -> None:
        if self._begins_line(match.node):
            comment = self.text(match.node, match.node.end_byte) if match.kind == "comment" else ""
            self._above[last_row(match.node)] = _Above(match.node.start_point.row, comment)

    def _begins_line(self, node: Node) -> bool:
        start, column = node.start_byte, node.start_point.column
        return column <= LONGEST_TEXT and not self.source[start - column : start].strip()

    def text(self, node: Node, longest: int = LONGEST_TEXT) -> str:
        """Return the text of a node, cut off after so many bytes."""
        return self.between(node.start_byte, min(node.end_byte, node.start_byte + longest))

    def between(self, start: int, end: int) -> str:
        """Return the text between two bytes."""
        return self.source[start:end].decode(errors="replace")

    def start_of(self, node: Node) -> tuple[int, str]:
        """Return the first row of a definition and the comments above it.

        Each comment is returned once: else each of many definitions in a line would have it.
        """
        while (outer := self._outer.get(node.id)) is not None:
            node = outer
        first = row = node.start_point.row
        if row in self._above:
            row += 1
        elif not self._begins_line(node):
            return first, ""
        comments: list[str] = []
        while (above := self._above.pop(row - 1, None)) is not None:
            row = above.row
            if above.comment:
                comments.append(above.comment.rstrip())
            else:
                first = row
        return first, _without_marks("\n".join(reversed(comments)))

    def error(self) -> str:
        """Return where the first syntax error is, "" if there is none."""
        node: Node | None = self.root if self.root.has_error else None
        inner = node
        while inner is not None:
            node = inner
            inner = next((child for child in node.children if child.has_error), None)
        return f"syntax error in line {node.start_point.row + 1}" if node else ""


def _matches(loaded: _Loaded, root: Node) -> Iterator[Match]:
    cursor = tree_sitter.QueryCursor(loaded.query, match_limit=MOST_OPEN_MATCHES)
    cursor.set_max_start_depth(DEEPEST_NODE)
    for pattern, captures in cursor.matches(root):
        for kind in _KINDS:
            if kind in captures:
                yield Match(kind, captures[kind][0], captures, loaded.settings[pattern])
                break


def _without_taken_names(matches: Sequence[Match]) -> list[Match]:
    """Remove variables that are the name of something else, such as of an arrow function."""
    taken = {
        match.captures[capture][0].start_byte
        for match in matches
        for capture in _NAMES.get(match.kind, ())
        if capture in match.captures
    }
    return [
        match
        for match in matches
        if TYPES.get(match.kind) != "variable" or match.captures["name"][0].start_byte not in taken
    ]


def _without_taken_uses(matches: Sequence[Match]) -> list[Match]:
    """Remove uses of what another match names or calls."""
    taken = {
        match.captures[capture][0].id
        for match in matches
        if match.kind != "use"
        for capture in _NO_USES
        if capture in match.captures
    }
    return [match for match in matches if match.kind != "use" or match.node.id not in taken]


def last_row(node: Node) -> int:
    """Return the last row of a node, which may contain the line feed at its end."""
    row, column = node.end_point
    return row if column or row == node.start_point.row else row - 1


_MARKS: Final = re.compile(r"^[ \t]*(?:/\*[*!]?|\*/|\*|//[/!]?|#+|=begin\b|=end\b)?", re.MULTILINE)


def _without_marks(comment: str) -> str:
    r"""Return the text of a comment.

    Example:
        >>> _without_marks("/** Adds.\n *  And more. */")
        'Adds.\nAnd more.'
    """
    lines = _MARKS.sub("", comment.replace("*/", "")).splitlines()
    return cleandoc("\n".join(line.rstrip() for line in lines)).strip()
