"""What the graph needs of an entity and its columns do not have: ids of people, and where it is.

A reader beside those of the columns, over the same JSON.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from sidecypher_procedures.github.names import GHOST


@dataclass(frozen=True, slots=True)
class User:
    """A user or an organisation.

    Attributes:
        id: GitHub's numeric id, as text; it never changes.
        login: The name, which may.
    """

    id: str
    login: str


@dataclass(frozen=True, slots=True)
class Identity:
    """What a repository, an issue or a pull request is known by, beside its columns.

    Attributes:
        user: Who owns the repository, or made the issue; None if GitHub has deleted that user.
        repository: ``owner/name`` of the repository that an issue or pull request is in now.
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


def read_identity(json: Mapping[str, Any]) -> Identity | None:
    """Read the identity of a repository, an issue or a pull request; None if it has none to read.

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
    """Make an identity, the same one for the many issues of one author in one repository."""
    user = None if id_ is None or login is None else User(str(id_), login)
    return Identity(user, repository)
