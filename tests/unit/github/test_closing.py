"""Which issues the text of a pull request closes."""

import pytest

from sidecypher_procedures.github.merges import MOST_ISSUES, closed_issues

URL = "https://github.com/octo-org/o.r"


def closed(body: str) -> list[int]:
    """Read a text of a pull request of octo-org/o.r."""
    return closed_issues(body, "octo-org/o.r", URL)


@pytest.mark.parametrize(
    "keyword",
    ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "RESOLVED"],
)
def test_every_keyword_of_github_closes(keyword: str) -> None:
    """GitHub has nine keywords, in upper or lower case, with or without a colon."""
    assert closed(f"{keyword} #7") == closed(f"{keyword}: #7") == [7]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Resolves #10, resolves #123, closes octo-org/o.r#100", [10, 123, 100]),
        ("Fixes #1 and fixes #1", [1]),
        (f"fixes {URL}/issues/4", [4]),
        ("fixes OCTO-ORG/O.R#5", [5]),
        ("fixes other/repo#5", []),
        ("fixes octo-org/oxr#5", []),
        ("fixes https://github.com/other/repo/issues/4", []),
        ("see #5", []),
        ("prefixes #5", []),
        ("fixes#5", []),
        ("fixes #0", []),
        ("fixes #5a", []),
        ("fixes #99999999999999999999", []),
        ("<!-- fixes #1 --> fixes #2", [2]),
        ("<!-- fixes #1", []),
        ("`fixes #1` fixes #2", [2]),
        ("```\nfixes #1\n```\nfixes #2", [2]),
        ("~~~\nfixes #1", []),
        ("", []),
    ],
)
def test_only_what_github_would_close_is_closed(body: str, expected: list[int]) -> None:
    """References need a keyword and the same repository; code and comments are no prose."""
    assert closed(body) == expected


def test_a_text_closes_so_many_issues_at_most() -> None:
    """Anybody may write a text, and each issue in it may cost a request."""
    body = " ".join(f"fixes #{number}" for number in range(1, 100))

    assert closed(body) == list(range(1, MOST_ISSUES + 1))


@pytest.mark.parametrize("piece", ["<!--", "```", "~~~", "`", "fixes ", "fixes #", "fixes o/"])
def test_a_hostile_text_is_read_in_no_time(piece: str) -> None:
    """The longest text that GitHub takes is searched once: else this test would not end."""
    assert closed(piece * (65_536 // len(piece))) == []
