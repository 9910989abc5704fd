"""Text from elsewhere, before a terminal shows it."""

import re
from typing import Final

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All control characters but tab and newline."""


def visible(text: str) -> str:
    """Replace each control character by a question mark.

    A terminal obeys them: an issue's title could set the clipboard or hide what was printed before.

    Example:
        >>> visible("red: \\x1b[31m")
        'red: ?[31m'
    """
    return _CONTROLS.sub("?", text)
