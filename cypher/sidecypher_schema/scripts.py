"""Read Cypher scripts and run them, statement by statement."""

from collections.abc import Iterator
from importlib.resources import files
from typing import LiteralString, Protocol


class Runner(Protocol):
    """What runs a statement in a transaction of its own: a neo4j `Session` does."""

    def run(self, query: LiteralString, /) -> object:
        """Run one statement."""


def statements(script: LiteralString) -> Iterator[LiteralString]:
    """Yield the statements of a script.

    Args:
        script: Cypher; each statement ends with `;` at the end of a line, and a line that starts
            with `//` is a comment.

    Example:
        >>> list(statements("// a comment\\nRETURN 1;\\nRETURN 2;"))
        ['RETURN 1', 'RETURN 2']
    """
    lines: list[str] = []
    for line in script.splitlines():
        text = line.rstrip()
        if text.lstrip().startswith("//"):
            continue
        lines.append(text.removesuffix(";"))
        if text.endswith(";"):
            yield "\n".join(lines).strip()
            lines = []
    rest = "\n".join(lines).strip()
    if rest:
        yield rest


def apply_schema(session: Runner) -> None:
    """Create every constraint and index that is not there yet.

    Args:
        session: A session of the database to prepare.
    """
    folder = files("sidecypher_schema") / "migrations"
    for script in sorted(folder.iterdir(), key=lambda script: script.name):
        for statement in statements(script.read_text(encoding="utf-8")):
            session.run(statement)
