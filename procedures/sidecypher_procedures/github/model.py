"""Kinds and names of GitHub's entities, checked before any request is made."""

import re
from enum import Enum
from functools import lru_cache
from typing import Final, Self
from urllib.parse import quote

import msgspec
from msgspec import structs

from sidecypher_procedures.github.errors import InvalidName

_OWNER: Final = re.compile(r"[A-Za-z0-9_](?:-?[A-Za-z0-9_])*")
_REPOSITORY: Final = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST_OWNER: Final = 100
_LONGEST_NAME: Final = 100
_REMEMBERED: Final = 256
_LARGEST_NUMBER: Final = 2**63 - 1

GHOST: Final = "ghost"
"""The login of deleted users in the REST API; GraphQL returns null instead."""


class Kind(Enum):
    """Kinds of entities that can be fetched; the values are used in texts."""

    REPOSITORY = "repository"
    ISSUE = "issue"
    PULL_REQUEST = "pull request"


class Extent(Enum):
    """Amount of a repository's content that its name includes."""

    ITSELF = "itself"
    PULL_REQUESTS = "pull requests"
    ALL = "all"


_SEGMENT: Final = {Kind.ISSUE: "issues", Kind.PULL_REQUEST: "pulls"}


class Target(msgspec.Struct, frozen=True, gc=False):
    """A repository (without number), an issue or a pull request, with validated names.

    Raises:
        InvalidName: A part is not valid on GitHub. The error does not quote the part.

    Example:
        >>> Target(Kind.ISSUE, "octocat", "Hello-World", 7).path
        '/repos/octocat/Hello-World/issues/7'
    """

    kind: Kind
    owner: str
    repo: str
    number: int | None = None

    def __post_init__(self) -> None:
        """Validate all parts, so that they are safe in a URL."""
        _check_owner(self.owner)
        _check_repository(self.repo)
        if self.kind is not Kind.REPOSITORY:
            _check_number(self.number)

    def __str__(self) -> str:
        """Return the usual notation: ``owner/repo`` or ``owner/repo#7``."""
        name = f"{self.owner}/{self.repo}"
        return name if self.number is None else f"{name}#{self.number}"

    @property
    def what(self) -> str:
        """Its kind and name, for texts."""
        return f"{self.kind.value} `{self}`"

    @property
    def path(self) -> str:
        """The path of the REST resource below the base URL, percent-encoded."""
        parts = ["repos", self.owner, self.repo]
        if self.kind is not Kind.REPOSITORY:
            parts += [_SEGMENT[self.kind], str(self.number)]
        return "".join(f"/{quote(part, safe='')}" for part in parts)

    @property
    def key(self) -> str:
        """Key in caches, in lower case: names on GitHub are case-insensitive."""
        if self.kind is Kind.REPOSITORY:
            return self.home
        return f"{self.home}/{_SEGMENT[self.kind]}/{self.number}"

    @property
    def home(self) -> str:
        """The key of its repository."""
        return name_key(self.owner, self.repo)

    @property
    def pull_requests(self) -> str:
        """Common prefix of the keys of all pull requests in its repository."""
        return f"{self.home}/{_SEGMENT[Kind.PULL_REQUEST]}"


class Resource(msgspec.Struct, frozen=True, gc=False):
    """A path and query of the REST API that is not a target, such as a page of a list.

    Attributes:
        kind: What it is, for texts.
        name: Its name in texts.
        home: Key of its repository in caches, empty if it has none.
        path: Path and query below the base URL, percent-encoded.

    Example:
        >>> Resource("repository", "o/r", "/repos/o/r", "/repos/o/r/tags?page=2").what
        'repository `o/r`'
    """

    kind: str
    name: str
    home: str
    path: str

    def __str__(self) -> str:
        """Return its name."""
        return self.name

    @property
    def what(self) -> str:
        """Its kind and name, for texts."""
        return f"{self.kind} `{self.name}`"

    @property
    def key(self) -> str:
        """Key in caches, below that of its repository; what follows that is case-sensitive."""
        return f"{self.home}/{self.path}"

    def at(self, path: str) -> Self:
        """Return another page of the same list."""
        return structs.replace(self, path=path)


def _check_owner(owner: object) -> None:
    if not isinstance(owner, str) or len(owner) > _LONGEST_OWNER or not _is_owner(owner):
        raise InvalidName(
            "The argument `owner` cannot be a GitHub login",
            hint="Give letters, digits, `_` and single inner `-` only, such as 'octocat'.",
        )


def _check_repository(repo: object) -> None:
    if not isinstance(repo, str) or len(repo) > _LONGEST_NAME or not _is_repository(repo):
        raise InvalidName(
            "The repository name cannot be one on GitHub",
            hint="Give 1 to 100 letters, digits, `.`, `_` or `-`, such as 'Hello-World'.",
        )


# Cached, since a batch has few repositories and many numbers.
@lru_cache(maxsize=_REMEMBERED)
def name_key(owner: str, repo: str) -> str:
    """Return the key of a repository in caches."""
    return f"/repos/{owner}/{repo}".lower()


@lru_cache(maxsize=_REMEMBERED)
def _is_owner(owner: str) -> bool:
    return _OWNER.fullmatch(owner) is not None


@lru_cache(maxsize=_REMEMBERED)
def _is_repository(repo: str) -> bool:
    return repo not in {".", ".."} and _REPOSITORY.fullmatch(repo) is not None


def _check_number(number: object) -> None:
    # `True` is an int in Python, but not a number of an issue.
    if type(number) is not int or not 1 <= number <= _LARGEST_NUMBER:
        raise InvalidName(
            "The argument `number` cannot be the number of an issue or pull request",
            hint="Give an INTEGER from 1 up.",
        )
