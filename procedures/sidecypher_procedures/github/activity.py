"""Reading of what happens in a repository, and of what a search finds."""

from typing import Any

from sidecypher_procedures.github.entities import (
    Json,
    Reader,
    ShapeError,
    read_issue,
)


def read_found_issue(json: Json) -> dict[str, Any]:
    """Read the columns of `github.searchIssues`.

    Raises:
        ShapeError: The object is not an issue.
    """
    owner, _, name = (Reader(json).text("repository_url") or "").rpartition("/")
    full_name = f"{owner.rpartition('/')[2]}/{name}" if name else None
    return {**read_issue(json), "repository": full_name}


def read_found_file(json: Json) -> dict[str, Any]:
    """Read the columns of `github.searchCode`.

    Raises:
        ShapeError: The object is not a file.

    Example:
        >>> read_found_file({"path": "src/a.py", "sha": "1f"})["path"]
        'src/a.py'
    """
    file = Reader(json)
    return {
        "path": _required(file, "path"),
        "name": file.text("name"),
        "sha": file.text("sha"),
        "repository": file.inner("repository").text("full_name"),
        "url": file.text("html_url"),
    }


def read_review(json: Json) -> dict[str, Any]:
    """Read the columns of `github.listReviews`.

    Raises:
        ShapeError: The object is not a review.
    """
    review = Reader(json)
    return {
        "id": review.identifier("id"),
        "node_id": review.text("node_id"),
        "state": review.text("state"),
        "body": review.prose("body"),
        "author": review.login("user"),
        "author_association": review.text("author_association"),
        "commit_sha": review.text("commit_id"),
        "submitted_at": review.moment("submitted_at"),
        "url": review.text("html_url"),
    }


def read_file(json: Json) -> dict[str, Any]:
    """Read the columns of `github.listFiles`.

    Raises:
        ShapeError: The object is not a file of a pull request.
    """
    file = Reader(json)
    return {
        "path": _required(file, "filename"),
        "previous_path": file.text("previous_filename"),
        "status": file.text("status"),
        "additions": file.count("additions"),
        "deletions": file.count("deletions"),
        "sha": file.text("sha"),
        "patch": file.text("patch"),
        "url": file.text("blob_url"),
    }


def read_commit(json: Json) -> dict[str, Any]:
    """Read the columns of `github.listCommits`.

    Raises:
        ShapeError: The object is not a commit.
    """
    commit = Reader(json)
    git = commit.inner("commit")
    return {
        "sha": _required(commit, "sha"),
        "node_id": commit.text("node_id"),
        "message": git.text("message"),
        "author": commit.login("author"),
        "author_name": git.inner("author").text("name"),
        "authored_at": git.inner("author").moment("date"),
        "committer": commit.login("committer"),
        "committed_at": git.inner("committer").moment("date"),
        "parents": commit.names("parents", "sha"),
        "verified": git.inner("verification").flag("verified"),
        "url": commit.text("html_url"),
    }


def read_release(json: Json) -> dict[str, Any]:
    """Read the columns of `github.listReleases`.

    Raises:
        ShapeError: The object is not a release.
    """
    release = Reader(json)
    return {
        "id": release.identifier("id"),
        "node_id": release.text("node_id"),
        "tag": release.text("tag_name"),
        "name": release.text("name"),
        "body": release.prose("body"),
        "draft": release.flag("draft"),
        "prerelease": release.flag("prerelease"),
        "author": release.login("author"),
        "assets": release.names("assets", "name"),
        "created_at": release.moment("created_at"),
        "published_at": release.moment("published_at"),
        "url": release.text("html_url"),
    }


def read_workflow_run(json: Json) -> dict[str, Any]:
    """Read the columns of `github.listWorkflowRuns`.

    Raises:
        ShapeError: The object is not a run of a workflow.
    """
    run = Reader(json)
    return {
        "id": run.identifier("id"),
        "node_id": run.text("node_id"),
        "workflow": run.text("name"),
        "title": run.text("display_title"),
        "number": run.count("run_number"),
        "attempt": run.count("run_attempt"),
        "event": run.text("event"),
        "status": run.text("status"),
        "conclusion": run.text("conclusion"),
        "branch": run.text("head_branch"),
        "head_sha": run.text("head_sha"),
        "actor": run.login("actor"),
        "created_at": run.moment("created_at"),
        "started_at": run.moment("run_started_at"),
        "updated_at": run.moment("updated_at"),
        "url": run.text("html_url"),
    }


def _required(thing: Reader, key: str) -> str:
    text = thing.text(key)
    if text is None:
        raise ShapeError(key)
    return text
