"""GitHub's JSON becomes columns."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from sidecypher_procedures.github.entities import (
    ShapeError,
    read_comment,
    read_issue,
    read_pull_request,
    read_repository,
)
from sidecypher_procedures.github.rows import Issue, PullRequest, Repository

ISSUE = {"id": 1, "number": 7}
REPOSITORY = {"id": 1}


@pytest.mark.parametrize(
    ("read", "row", "smallest"),
    [
        (read_issue, Issue, ISSUE),
        (read_pull_request, PullRequest, ISSUE),
        (read_repository, Repository, REPOSITORY),
    ],
)
def test_every_column_is_read(
    read: Callable[[Any], dict[str, Any]], row: type[Any], smallest: dict[str, Any]
) -> None:
    """A reader gives every column of its row but the three that describe the fetch."""
    columns = set(row.__struct_fields__)

    assert set(read(smallest)) == columns - {"fetched_at", "stale", "error"}


def test_ids_become_strings_and_times_know_their_zone() -> None:
    """Identifiers are STRINGs, as the graph stores them, and times are in UTC."""
    issue = read_issue({**ISSUE, "id": 444500041, "created_at": "2019-05-15T15:20:18Z"})

    assert issue["id"] == "444500041"
    assert issue["created_at"] == datetime(2019, 5, 15, 15, 20, 18, tzinfo=UTC)


def test_labels_may_be_strings_or_objects() -> None:
    """Both forms of a label give its name."""
    assert read_issue({**ISSUE, "labels": ["a", {"name": "b"}]})["labels"] == ["a", "b"]


def test_ghosts_are_null() -> None:
    """A deleted author and a deleted fork are null, and so is what belonged to them."""
    pull = read_pull_request(
        {**ISSUE, "user": None, "head": {"ref": "x", "sha": "y", "repo": None}}
    )

    assert pull["author"] is None
    assert pull["head_repo"] is None
    assert (pull["branch"], pull["head_sha"]) == ("x", "y")


def test_a_comment_of_a_ghost_has_no_author() -> None:
    """Who stands for deleted users is nobody, also in a list of comments."""
    comment = {"id": 1, "user": {"id": 10137, "login": "ghost"}}

    assert read_comment(comment)["author"] is None


@pytest.mark.parametrize("mergeable", [None, True, False])
def test_mergeable_is_kept_as_it_is(mergeable: bool | None) -> None:
    """`mergeable` stays null while GitHub computes it, and never becomes false."""
    assert read_pull_request({**ISSUE, "mergeable": mergeable})["mergeable"] is mergeable


def test_a_pull_request_among_issues_is_told_apart() -> None:
    """The issue of a pull request says so."""
    assert read_issue({**ISSUE, "pull_request": {"url": "x"}})["is_pull_request"] is True
    assert read_issue(ISSUE)["is_pull_request"] is False


def test_what_github_adds_later_passes() -> None:
    """Unknown fields are ignored, and unknown values of an enumeration are given as they are."""
    issue = read_issue({**ISSUE, "state_reason": "out_of_coffee", "mood": {"level": 3}})

    assert issue["state_reason"] == "out_of_coffee"


def test_labels_without_a_name_are_left_out() -> None:
    """GitHub's schema allows a label without a name, which is no reason to refuse the issue."""
    labels = [{"id": 1}, {"name": None}, {"name": "bug"}]

    assert read_issue({**ISSUE, "labels": labels})["labels"] == ["bug"]


def test_settings_hold_what_the_token_may_see() -> None:
    """A setting that the answer does not have is left out of the MAP."""
    repository = read_repository({**REPOSITORY, "has_issues": True, "archived": False})

    assert repository["settings"] == {"hasIssues": True, "archived": False}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": None}, "id"),
        ({"id": True}, "id"),
        ({"number": "7"}, "number"),
        ({"title": 3}, "title"),
        ({"labels": "bug"}, "labels"),
        ({"labels": [3]}, "labels"),
        ({"user": "octocat"}, "user"),
        ({"user": {"login": 3}}, "user.login"),
        ({"created_at": "yesterday"}, "created_at"),
        ({"created_at": "2019-05-15T15:20:18"}, "created_at"),
        ({"created_at": 1557933618}, "created_at"),
        ({"locked": 1}, "locked"),
    ],
)
def test_another_shape_is_an_error_that_names_the_field(change: dict[str, Any], field: str) -> None:
    """A field of another type is a ShapeError with the field's path and without its value."""
    with pytest.raises(ShapeError) as caught:
        read_issue({**ISSUE, **change})

    assert caught.value.field == field
