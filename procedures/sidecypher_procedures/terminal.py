"""Texts from the graph as drawings and terminals show them."""

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.text import Text


def printable(text: str) -> str:
    """Return a text without control characters: callers choose ids and names of tools.

    Example:
        >>> printable("a" + chr(27) + "[2J")
        'a?[2J'
    """
    return "".join(each if each.isprintable() else "?" for each in text)


def encodable(line: str, encoding: str, signs: Mapping[int, int | str]) -> str:
    """Return a line with other signs if the encoding does not have its own.

    Example:
        >>> encodable("└ a", "ascii", str.maketrans("└", "`"))
        '` a'
    """
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        return line.translate(signs).encode(encoding, "replace").decode(encoding)
    return line


def print_lines(console: Console, lines: Iterable[str], signs: Mapping[int, int | str]) -> None:
    """Print lines within the terminal's width and character set; in full without a terminal."""
    for line in lines:
        text = Text(line)
        if console.is_terminal:
            text.truncate(console.width, overflow="ellipsis")
        console.print(Text(encodable(text.plain, console.encoding, signs)), soft_wrap=True)
