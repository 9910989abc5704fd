"""Words that a text only mentions, between quotes."""

import re
from typing import Final

# An apostrophe stands inside or behind a word. Every repetition is bounded.
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{1,300}\"|`[^`\n]{1,300}`"
    r"|\u201c[^\u201d\n]{1,300}\u201d|\u00ab[^\u00bb\n]{1,300}\u00bb"
    r"|\u2018[^\n]{1,300}?\u2019(?!\w)|(?<!\w)'(?=\S)[^\n]{1,300}?(?<=\S)'(?!\w)"
)
_LONGEST: Final = 302


def unquoted(text: str) -> str:
    """Take what stands in quotes out of a text; one that is all quoted stays as it is.

    Example:
        >>> unquoted("Don't use the word 'previously'")
        "Don't use the word  "
    """
    rest = _QUOTED.sub(" ", text)
    return rest if rest.strip() else text


def ends_quoted(text: str) -> bool:
    """Tell whether the last character closes a quotation that begins inside of a text.

    Example:
        >>> ends_quoted("Say 'yes'"), ends_quoted("'Say yes'"), ends_quoted("the users'")
        (True, False, False)
    """
    begin = max(0, len(text) - _LONGEST)
    return any(
        found.end() == len(text) and found.start() > 0 for found in _QUOTED.finditer(text, begin)
    )
