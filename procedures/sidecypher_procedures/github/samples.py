"""What the replay answers with: objects of GitHub's REST API by path; and a few made-up ones."""

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

import msgspec

_URL: Final = re.compile(
    r"https://api\.github\.com"
    r"(?P<path>/repos/(?P<owner>[^/]+)/(?P<repo>[^/]+)"
    r"(?:/(?:issues|pulls)/(?P<number>[0-9]+)|/issues/comments/[0-9]+)?)"
)

Object = Mapping[str, Any]


class Objects:
    """Repositories, issues, pull requests and comments by their REST path, compared without case.

    Each says in its `url` where it belongs.

    Example:
        >>> samples().get("/repos/sidecypher-demo/lighthouse/issues/1")["title"]
        'The lamp flickers in fog'
    """

    def __init__(self, objects: Iterable[Object]) -> None:
        self.by_path = {place(found)["path"].lower(): found for found in objects}

    def get(self, path: str) -> Object | None:
        """Give the object at a REST path such as ``/repos/octocat/Hello-World``."""
        return self.by_path.get(path.lower())

    def list(self, path: str) -> Sequence[Object] | None:
        """Give what a list such as ``/repos/o/r/issues`` has, or None if it belongs to nothing.

        Issues and pull requests come with the newest first, comments with the oldest.
        """
        owner, _, things = path.lower().rpartition("/")
        if owner not in self.by_path:
            return None
        if things == "comments":
            found = [each for each in self.by_path.values() if _is_comment_of(each, owner)]
            return sorted(found, key=lambda each: each["id"])
        start = f"{owner}/{things}/"
        found = [each for key, each in self.by_path.items() if key.startswith(start)]
        return sorted((each for each in found if "number" in each), key=_number, reverse=True)


def samples() -> Objects:
    """Give the objects that this package brings: invented, in the shape of GitHub's answers."""
    return Objects(msgspec.json.decode((files(__package__) / "samples.json").read_bytes()))


def find_place(url: object) -> re.Match[str] | None:
    """Tell of a URL to which `path`, `owner`, `repo` and `number` of GitHub's REST API it leads."""
    return _URL.fullmatch(url) if isinstance(url, str) else None


def place(found: Object) -> re.Match[str]:
    """Tell to which `path`, `owner`, `repo` and `number` an object belongs.

    Raises:
        ValueError: Its `url` is none of the REST API.
    """
    where = find_place(found["url"])
    if where is None:
        raise ValueError("not an object of the REST API")
    return where


def _is_comment_of(entity: Object, issue: str) -> bool:
    # A pull request names an issue too, which is itself.
    whose = str(entity.get("issue_url")).lower()
    return "number" not in entity and whose == f"https://api.github.com{issue}"


def _number(entity: Object) -> int:
    number: int = entity["number"]
    return number
