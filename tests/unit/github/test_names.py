"""Names are checked before any request exists."""

import string
from urllib.parse import unquote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_procedures.github.errors import InvalidName
from sidecypher_procedures.github.model import Kind, Target

REPOSITORY_CHARACTERS = string.ascii_letters + string.digits + "._-"
HOSTILE = [
    "",
    ".",
    "..",
    "a/b",
    "../x",
    "r?x",
    "r#x",
    "%2e%2e",
    "r%2Fx",
    "r x",
    "r\n",
    "é",
    "\uff52",
    "\0",
]


@pytest.mark.parametrize("owner", [*HOSTILE, "o/../../x", "-o", "o-", "o--o", "o.o", "o" * 101])
def test_an_owner_that_cannot_be_a_login_is_refused(owner: str) -> None:
    """An owner that cannot be a login raises InvalidName, which does not show it."""
    with pytest.raises(InvalidName) as caught:
        Target(Kind.REPOSITORY, owner, "r")

    assert caught.value.code == "SC-501"
    assert "`owner`" in caught.value.message
    assert len(owner) < 3 or owner not in str(caught.value)


@pytest.mark.parametrize("repo", [*HOSTILE, "r" * 101])
def test_a_name_that_cannot_be_a_repository_is_refused(repo: str) -> None:
    """A repository name that GitHub would not accept raises InvalidName."""
    with pytest.raises(InvalidName, match="repository name"):
        Target(Kind.REPOSITORY, "o", repo)


@pytest.mark.parametrize("number", [0, -1, True, None, 1.0, "1", 2**63])
def test_a_number_must_be_a_positive_integer(number: object) -> None:
    """Zero, negative numbers, booleans and what is no INTEGER raise InvalidName."""
    with pytest.raises(InvalidName, match="`number`"):
        Target(Kind.ISSUE, "o", "r", number)  # type: ignore[arg-type]


@pytest.mark.parametrize("owner", ["octocat", "o", "a-b-c", "under_score", "_x", "user_corp", "0"])
def test_logins_that_exist_are_accepted(owner: str) -> None:
    """Single inner hyphens, and underscores as enterprise logins have them, are accepted."""
    assert Target(Kind.REPOSITORY, owner, ".github").path == f"/repos/{owner}/.github"


def test_the_path_names_kind_and_number() -> None:
    """Issues and pull requests have their own paths below that of the repository."""
    assert Target(Kind.ISSUE, "o", "r", 7).path == "/repos/o/r/issues/7"
    assert Target(Kind.PULL_REQUEST, "o", "r", 7).path == "/repos/o/r/pulls/7"
    assert str(Target(Kind.ISSUE, "o", "r", 7)) == "o/r#7"


def test_keys_ignore_case() -> None:
    """Two spellings of one repository have one key, as they are one repository on GitHub."""
    one = Target(Kind.REPOSITORY, "OctoCat", "Hello-World")
    other = Target(Kind.REPOSITORY, "octocat", "hello-world")

    assert one.key == other.key


@given(
    owner=st.text(max_size=12) | st.text(string.ascii_letters + "-_", min_size=1, max_size=12),
    repo=st.text(max_size=12) | st.text(REPOSITORY_CHARACTERS, min_size=1, max_size=12),
    number=st.integers(),
)
def test_no_accepted_input_reaches_another_path(owner: str, repo: str, number: int) -> None:
    """Whatever is accepted gives exactly `/repos/OWNER/REPO/issues/NUMBER`, also when decoded."""
    try:
        path = Target(Kind.ISSUE, owner, repo, number).path
    except InvalidName:
        return

    assert path == unquote(path) == f"/repos/{owner}/{repo}/issues/{number}"
    assert httpx.URL(f"https://api.github.com{path}").raw_path.decode() == path
    assert path.count("/") == 5
    assert not {".", "..", ""} & set(path.split("/")[1:])
    assert not set(path) & set("?#%\\")
    assert path.isascii()
    assert path.isprintable()
