"""Texts of a graph in the terminal, and what people type."""

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from sidecypher_procedures.terminal import encodable, printable

ASCII: Final = str.maketrans(
    {
        **dict(zip("●○▶✗├└│─━↑", "*o>x|`|-=^", strict=True)),
        "…": "~",
        "≠": "!=",
    }
)
"""Signs for terminals that do not have those of drawings."""


def say(text: str, *, err: bool = False) -> None:
    """Print a text from the graph, without its control characters.

    Args:
        text: The text.
        err: Whether it goes to standard error.
    """
    console = Console(stderr=err)
    for line in text.split("\n"):
        shown = encodable(printable(line), console.encoding, ASCII)
        console.print(Text(shown), soft_wrap=True)


def answer_hint(request: Mapping[str, Any], *, is_only: bool) -> str:
    """Return the command that answers a request.

    Example:
        >>> answer_hint({"sessionId": "t 1", "requestId": "r1"}, is_only=True)
        "sidecypher session answer 't 1' VALUE"
    """
    words = ["sidecypher", "session", "answer", request["sessionId"], "VALUE"]
    words += [] if is_only else ["--request", request["requestId"]]
    return shlex.join(words)


def json_in(text: str) -> Any:
    """Return the JSON that a person typed; None if it is none, or a text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if isinstance(value, str) else value
