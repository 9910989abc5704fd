"""What the graph needs beside the columns."""

import pytest

from sidecypher_procedures.github.entities import Identity, User, read_identity

ANN = {"id": 1, "login": "ann"}


@pytest.mark.parametrize(
    ("json", "expected"),
    [
        ({"owner": ANN}, Identity(User("1", "ann"), None)),
        (
            {"user": ANN, "repository_url": "https://x/api/v3/repos/o/r"},
            Identity(User("1", "ann"), "o/r"),
        ),
        ({"user": ANN, "base": {"repo": {"full_name": "o/r"}}}, Identity(User("1", "ann"), "o/r")),
        ({"user": None, "repository_url": "https://x/repos/o/r"}, Identity(None, "o/r")),
        (
            {"user": {"id": 10137, "login": "ghost"}, "repository_url": "https://x/repos/o/r"},
            Identity(None, "o/r"),
        ),
    ],
)
def test_an_identity_is_read(json: dict[str, object], expected: Identity) -> None:
    """An owner or author with the id, none for a deleted one; and the repository's name now."""
    assert read_identity(json) == expected


@pytest.mark.parametrize(
    "json", [{}, {"user": {"login": "ann"}}, {"user": {"id": "1", "login": "ann"}}]
)
def test_what_has_no_identity_is_told_apart(json: dict[str, object]) -> None:
    """JSON without ids, such as another API's, has no identity, and is no error to a reader."""
    assert read_identity(json) is None


def test_many_issues_of_one_author_share_their_identity() -> None:
    """A cache of a hundred thousand issues holds few identities."""
    json = {"user": ANN, "repository_url": "https://x/repos/o/r"}

    assert read_identity(json) is read_identity(dict(json))
