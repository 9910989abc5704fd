"""Readers of GitHub's JSON: the columns, identity and creator of an entity."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from sidecypher_procedures.github.errors import InvalidName
from sidecypher_procedures.github.model import GHOST, Kind, Target


@dataclass(frozen=True, slots=True)
class User:
    """A user or an organisation; the id is GitHub's number as text, and never changes."""

    id: str
    login: str


@dataclass(frozen=True, slots=True)
class Identity:
    """Data of a repository, an issue or a pull request that its columns do not have.

    Attributes:
        user: The owner of the repository or author of the issue; None if deleted.
        repository: ``owner/name`` of the current repository of an issue or pull request.
    """

    user: User | None
    repository: str | None


class _Account(msgspec.Struct):
    id: int
    login: str


class _Repository(msgspec.Struct):
    full_name: str


class _Base(msgspec.Struct):
    repo: _Repository


class _Entity(msgspec.Struct):
    owner: _Account | None = None
    user: _Account | None = None
    repository_url: str | None = None
    base: _Base | None = None


# Unprepared, it would end the process if two threads converted to it at the same time.
msgspec.json.Decoder(_Entity)


def read_identity(json: Mapping[str, Any]) -> Identity | None:
    """Return the identity of a repository, an issue or a pull request; None if it has none.

    Example:
        >>> issue = {"user": {"id": 1, "login": "octocat"}, "repository_url": "https://x/repos/o/r"}
        >>> read_identity(issue)
        Identity(user=User(id='1', login='octocat'), repository='o/r')
    """
    if "owner" not in json and "user" not in json:
        return None
    try:
        found = msgspec.convert(json, _Entity)
    except msgspec.ValidationError:
        return None
    repository = found.base.repo.full_name if found.base is not None else None
    if found.repository_url is not None:
        repository = "/".join(found.repository_url.split("/")[-2:])
    account = found.owner or found.user
    if account is not None and account.login == GHOST:
        account = None
    return _identity(account and account.id, account and account.login, repository)


@lru_cache(maxsize=4096)
def _identity(id_: int | None, login: str | None, repository: str | None) -> Identity:
    """Return an identity, cached for the many issues of one author in one repository."""
    user = None if id_ is None or login is None else User(str(id_), login)
    return Identity(user, repository)


T = TypeVar("T")
Json = Mapping[str, Any]

_PAGE: Final = re.compile(r"https?://[^/?#]+/(?P<owner>[^/?#]+)/(?P<repo>[^/?#]+)")
SETTINGS: Final = {
    "hasIssues": "has_issues",
    "hasWiki": "has_wiki",
    "hasProjects": "has_projects",
    "hasDiscussions": "has_discussions",
    "hasPages": "has_pages",
    "hasDownloads": "has_downloads",
    "archived": "archived",
    "disabled": "disabled",
    "fork": "fork",
    "isTemplate": "is_template",
    "allowForking": "allow_forking",
    "allowMergeCommit": "allow_merge_commit",
    "allowSquashMerge": "allow_squash_merge",
    "allowRebaseMerge": "allow_rebase_merge",
    "allowAutoMerge": "allow_auto_merge",
    "allowUpdateBranch": "allow_update_branch",
    "deleteBranchOnMerge": "delete_branch_on_merge",
    "webCommitSignoffRequired": "web_commit_signoff_required",
}


class ShapeError(ValueError):
    """A field is missing or has an unexpected type.

    Attributes:
        field: Its path, such as ``head.ref``.
    """

    def __init__(self, field: str) -> None:
        super().__init__(f"the field `{field}` has an unknown shape")
        self.field = field


class Reader:
    """Reader of one JSON object, with its path in the answer for errors."""

    def __init__(self, json: Json, path: str = "") -> None:
        self._json = json
        self._path = path

    def has(self, key: str) -> bool:
        """Return whether a field is there and not null."""
        return self._json.get(key) is not None

    def text(self, key: str) -> str | None:
        """Read a text."""
        return self._scalar(key, str)

    def prose(self, key: str) -> str | None:
        """Read a text, with None for an empty one: the two APIs differ there."""
        return self.text(key) or None

    def login(self, key: str) -> str | None:
        """Read the login of a user, None for a deleted one."""
        login = self.inner(key).text("login")
        return None if login == GHOST else login

    def count(self, key: str) -> int | None:
        """Read an integer."""
        return self._scalar(key, int)

    def flag(self, key: str) -> bool | None:
        """Read a boolean."""
        return self._scalar(key, bool)

    def identifier(self, key: str) -> str:
        """Read a number that must be there, as text."""
        number = self.count(key)
        if number is None:
            raise ShapeError(self._path + key)
        return str(number)

    def moment(self, key: str) -> datetime | None:
        """Read a time with its zone."""
        text = self.text(key)
        if text is None:
            return None
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise ShapeError(self._path + key) from None
        if moment.tzinfo is None:
            raise ShapeError(self._path + key)
        return moment

    def inner(self, key: str) -> "Reader":
        """Read a nested object; without one, all of its fields are null."""
        return Reader(self._scalar(key, dict) or {}, f"{self._path}{key}.")

    def names(self, key: str, name: str) -> list[str]:
        """Read a list of objects by one of their fields; the items may also be plain strings.

        An object without that field is left out: GitHub's schema allows a label without a name.
        """
        names = []
        for item in self._scalar(key, list) or []:
            found = item.get(name) if isinstance(item, dict) else item
            if found is None:
                continue
            if not isinstance(found, str):
                raise ShapeError(self._path + key)
            names.append(found)
        return names

    def _scalar(self, key: str, kind: type[T]) -> T | None:
        value = self._json.get(key)
        # Exactly this type: `True` is an int in Python.
        if value is not None and type(value) is not kind:
            raise ShapeError(self._path + key)
        return value


def read_issue(json: Json) -> dict[str, Any]:
    """Read the columns of `github.getIssue`.

    Raises:
        ShapeError: The object is not an issue.

    Example:
        >>> read_issue({"id": 1, "number": 7, "title": "A", "labels": ["bug"]})["labels"]
        ['bug']
    """
    issue = Reader(json)
    return {
        **_conversation(issue),
        "state_reason": issue.text("state_reason"),
        "locked": issue.flag("locked"),
        "milestone": issue.inner("milestone").text("title"),
        "is_pull_request": issue.has("pull_request"),
    }


def read_pull_request(json: Json) -> dict[str, Any]:
    """Read the columns of `github.getPullRequest`.

    Raises:
        ShapeError: The object is not a pull request.
    """
    pull = Reader(json)
    head = pull.inner("head")
    return {
        **_conversation(pull),
        "draft": pull.flag("draft"),
        "merged": pull.flag("merged"),
        "mergeable": pull.flag("mergeable"),
        "mergeable_state": pull.text("mergeable_state"),
        "branch": head.text("ref"),
        "base_branch": pull.inner("base").text("ref"),
        "head_sha": head.text("sha"),
        "head_repo": head.inner("repo").text("full_name"),
        "reviewers": pull.names("requested_reviewers", "login"),
        "additions": pull.count("additions"),
        "deletions": pull.count("deletions"),
        "changed_files": pull.count("changed_files"),
        "commits": pull.count("commits"),
        "merged_at": pull.moment("merged_at"),
    }


def read_repository(json: Json) -> dict[str, Any]:
    """Read the columns of `github.getRepository`.

    Raises:
        ShapeError: The object is not a repository.
    """
    repository = Reader(json)
    settings = {name: repository.flag(key) for name, key in SETTINGS.items()}
    return {
        "id": repository.identifier("id"),
        "node_id": repository.text("node_id"),
        "owner": repository.inner("owner").text("login"),
        "name": repository.text("name"),
        "full_name": repository.text("full_name"),
        "description": repository.prose("description"),
        "default_branch": repository.text("default_branch"),
        "visibility": repository.text("visibility"),
        # Settings that the token cannot see, or the API version does not have, are left out.
        "settings": {name: value for name, value in settings.items() if value is not None},
        "language": repository.text("language"),
        "topics": repository.names("topics", "name"),
        "license": repository.inner("license").text("spdx_id"),
        "stars": repository.count("stargazers_count"),
        "forks": repository.count("forks_count"),
        "open_issues": repository.count("open_issues_count"),
        "created_at": repository.moment("created_at"),
        "updated_at": repository.moment("updated_at"),
        "pushed_at": repository.moment("pushed_at"),
        "url": repository.text("html_url"),
    }


def read_comment(json: Json) -> dict[str, Any]:
    """Read the columns of `github.listComments`.

    Raises:
        ShapeError: The object is not a comment.
    """
    comment = Reader(json)
    return {
        "id": comment.identifier("id"),
        "node_id": comment.text("node_id"),
        "body": comment.text("body"),
        "author": comment.login("user"),
        "author_association": comment.text("author_association"),
        "created_at": comment.moment("created_at"),
        "updated_at": comment.moment("updated_at"),
        "url": comment.text("html_url"),
    }


def _conversation(thing: Reader) -> dict[str, Any]:
    """Read the common columns of issues and pull requests."""
    number = thing.count("number")
    if number is None:
        raise ShapeError("number")
    return {
        "number": number,
        "id": thing.identifier("id"),
        "node_id": thing.text("node_id"),
        "title": thing.text("title"),
        "body": thing.prose("body"),
        "state": thing.text("state"),
        "labels": thing.names("labels", "name"),
        "assignees": thing.names("assignees", "login"),
        "author": thing.login("user"),
        "comments": thing.count("comments"),
        "created_at": thing.moment("created_at"),
        "updated_at": thing.moment("updated_at"),
        "closed_at": thing.moment("closed_at"),
        "url": thing.text("html_url"),
    }


def place(kind: Kind, fields: Json) -> Target | None:
    """Return the current target of an entity from the URL in its columns.

    Example:
        >>> found = {"url": "https://github.com/octocat/Hello-World/issues/7", "number": 7}
        >>> str(place(Kind.ISSUE, found))
        'octocat/Hello-World#7'
    """
    names = _PAGE.match(fields["url"] or "")
    if names is None:
        return None
    try:
        return Target(kind, names["owner"], names["repo"], fields.get("number"))
    except InvalidName:
        return None


def nested(json: object, *names: str) -> Any:
    """Return the nested value at a path of names, or None.

    Example:
        >>> nested({"sender": {"login": "octocat"}}, "sender", "login")
        'octocat'
    """
    for name in names:
        json = json.get(name) if isinstance(json, dict) else None
    return json


READERS: Final[Mapping[Kind, Callable[[Json], dict[str, Any]]]] = {
    Kind.ISSUE: read_issue,
    Kind.PULL_REQUEST: read_pull_request,
    Kind.REPOSITORY: read_repository,
}
