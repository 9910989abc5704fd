"""Protection of terminals against control characters in foreign text."""

import re
from typing import Final

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All control characters except tab and newline."""


def visible(text: str) -> str:
    """Replace each control character by a question mark.

    A terminal obeys them: the title of an issue could set the clipboard or hide earlier output.

    Example:
        >>> visible("red: \\x1b[31m")
        'red: ?[31m'
    """
    return _CONTROLS.sub("?", text)
