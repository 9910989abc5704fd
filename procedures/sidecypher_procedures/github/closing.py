"""The issues that a pull request says it closes, by GitHub's keywords."""

import re
from typing import Final

MOST_ISSUES: Final = 20
"""So many issues of one text are believed; each may cost a request, and anybody may write one."""

# What is left open reaches to the end, so that no text is searched through again and again.
_NOT_PROSE: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|(?P<fence>```|~~~).*?(?:(?P=fence)|\Z)|`[^`\n]*`", re.DOTALL
)
_KEYWORD: Final = r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]+"


def closed_issues(body: str, full_name: str, url: str) -> list[int]:
    """Return the numbers of the issues that a pull request closes in its own repository.

    Args:
        body: The text of the pull request.
        full_name: ``owner/name`` of its repository.
        url: The repository's page.

    Example:
        >>> url = "https://github.com/o/r"
        >>> closed_issues("Fixes #1, closes: o/r#2, resolves o/other#3.", "o/r", url)
        [1, 2]
    """
    places = "|".join((rf"(?:{re.escape(full_name)})?#", rf"{re.escape(url)}/issues/"))
    pattern = rf"{_KEYWORD}(?:{places})([1-9][0-9]{{0,17}})\b"
    prose = _NOT_PROSE.sub(" ", body)
    found = (int(number) for number in re.findall(pattern, prose, re.IGNORECASE))
    return list(dict.fromkeys(found))[:MOST_ISSUES]
