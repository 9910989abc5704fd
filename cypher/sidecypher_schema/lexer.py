"""Split Cypher scripts into statements, as Neo4j itself would read them.

A semicolon ends a statement unless it is in a string, a back-ticked name or a comment. Lines such
as `:use system` are client commands; they name the database of the statements that follow.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from sidecypher_schema.errors import BadScript

# Possessive, so that an unclosed string or comment is reported where it was opened.
_TOKEN: Final = re.compile(
    r"""
      (?P<space>\s++)
    | (?P<comment>//[^\r\n]*+ | /\*.*?\*/)
    | (?P<string>'(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+")
    | (?P<name>`(?:[^`]|``)*+`)
    | (?P<end>;)
    | (?P<word>\w++)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN: Final = (
    ("'", "A string"),
    ('"', "A string"),
    ("`", "A back-ticked name"),
    ("/*", "A comment"),
)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_COMMAND: Final = re.compile(r":(?P<command>[\w-]*)(?P<rest>[^\r\n]*)")
_DATABASE: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,62}")


class Token(NamedTuple):
    """A piece of a script.

    Attributes:
        kind: `space`, `comment`, `string`, `name` (in back-ticks), `end` (a semicolon), `word` or
            `other` (any other character).
        text: Its text in the script.
        start: Position of its first character.
    """

    kind: str
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a script.

    Attributes:
        text: Its Cypher, without the semicolon and without comments before and after it.
        line: Line of the file where it begins, from 1.
        database: Database of the last `:use` before it; None without one.
    """

    text: str
    line: int
    database: str | None = None


@dataclass(frozen=True, slots=True)
class Split:
    """Content of a script.

    Attributes:
        statements: Its statements, in their order.
        header: Comment lines before the first statement, without `//`, each with its line.
    """

    statements: tuple[Statement, ...]
    header: tuple[tuple[int, str], ...]


def tokens(text: str, *, file: str = "") -> Iterator[Token]:
    """Yield the pieces of Cypher text; joined, they are the whole text.

    Args:
        text: A script or a statement.
        file: Name of the file, for errors.

    Raises:
        BadScript: A string, name or comment is not closed.

    Example:
        >>> [token.kind for token in tokens("RETURN ';' // ;")]
        ['word', 'space', 'string', 'space', 'comment']
    """
    for found in _TOKEN.finditer(text):
        if found.lastgroup == "other":
            for opening, what in _OPEN:
                if text.startswith(opening, found.start()):
                    where = f"`{file}`, line {1 + line_breaks(text[: found.start()])}"
                    raise BadScript(f"{what} that begins in {where}, is not closed")
        yield Token(str(found.lastgroup), found.group(), found.start())


def split(text: str, file: str = "script") -> Split:
    """Split a script into its statements.

    Args:
        text: The script; the last statement needs no semicolon, a byte order mark is ignored.
        file: Name of the file, for errors.

    Raises:
        BadScript: Something is not closed, or there is a client command other than `:use`.

    Example:
        >>> script = "RETURN ';'; // one\\n:use system\\nSHOW USERS"
        >>> [statement.text for statement in split(script).statements]
        ["RETURN ';'", 'SHOW USERS']
    """
    text = text.removeprefix("\ufeff")
    return _Splitter(text, file).split()


class _Splitter:
    """One pass over a script."""

    def __init__(self, text: str, file: str) -> None:
        self._text = text
        self._file = file
        self._statements: list[Statement] = []
        self._header: list[tuple[int, str]] = []
        self._database: str | None = None
        self._begin: int | None = None
        self._end = 0
        self._line_ends = [found.end() for found in _LINE_END.finditer(text)]

    def split(self) -> Split:
        command_end = 0
        for token in tokens(self._text, file=self._file):
            if token.start < command_end or token.kind == "space":
                continue
            if token.kind == "comment":
                self._add_to_header(token)
            elif token.kind == "end":
                self._close()
            elif token.text == ":" and self._begin is None:
                command_end = self._run_command(token.start)
            else:
                self._begin = token.start if self._begin is None else self._begin
                self._end = token.start + len(token.text)
        self._close()
        return Split(tuple(self._statements), tuple(self._header))

    def _add_to_header(self, token: Token) -> None:
        if self._begin is None and not self._statements and token.text.startswith("//"):
            text = token.text.removeprefix("//").strip()
            self._header.append((self._line(token.start), text))

    def _close(self) -> None:
        if self._begin is None:
            return
        text = self._text[self._begin : self._end]
        self._statements.append(Statement(text, self._line(self._begin), self._database))
        self._begin = None

    def _run_command(self, start: int) -> int:
        """Apply a client command, and return the position of its end."""
        found = _COMMAND.match(self._text, start)
        assert found is not None  # noqa: S101 - it begins with the colon that was found
        argument = found["rest"].partition("//")[0].strip().removesuffix(";").strip()
        where = f"`{self._file}`, line {self._line(start)}"
        if found["command"].lower() != "use":
            raise BadScript(
                f"`:{found['command']}` in {where}, is not supported",
                hint="Remove it; a script may have `:use` and Cypher statements.",
            )
        if not _DATABASE.fullmatch(argument):
            raise BadScript(f"`:use` in {where}, does not name a database")
        self._database = argument.lower()
        return found.end()

    def _line(self, position: int) -> int:
        return 1 + bisect_right(self._line_ends, position)


def line_breaks(text: str) -> int:
    """Return how many lines end in a text."""
    return len(_LINE_END.findall(text))
