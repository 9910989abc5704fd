"""Real GitHub data that others recorded and published as npm packages, pinned by a lock file.

`@octokit/webhooks-examples` holds payloads of webhooks, `@octokit/fixtures` recorded REST traffic.
Whatever they contain as a repository, issue, pull request or comment of api.github.com has the
shape that the REST API gives it, and says in its `url` where it belongs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from sidecypher.cli.demo.replay import Object, Objects, find_place, place

# Beside each raw fixture lies a normalised one, whose ids are invented.
_RECORDED: Final = (
    "**/webhooks-examples/api.github.com/index.json",
    "**/fixtures/scenarios/api.github.com/*/raw-fixture.json",
)
# What GitHub gives of a repository that has none of it: what it could not have yet, or not inside
# the payload of a webhook, when it was recorded.
_REPOSITORY: Final = {
    "allow_forking": True,
    "disabled": False,
    "has_discussions": False,
    "is_template": False,
    "network_count": 0,
    "subscribers_count": 0,
    "topics": [],
    "web_commit_signoff_required": False,
}


@dataclass(frozen=True, slots=True)
class RepositoryIdentity:
    """What never changes of a repository, as it is stored in the graph."""

    id: str
    owner: str
    name: str


@dataclass(frozen=True, slots=True)
class ConversationIdentity:
    """What never changes of an issue or pull request, as it is stored in the graph."""

    id: str
    number: int
    created_at: datetime
    owner: str
    repository: str
    author: str | None


class Recordings(Objects):
    """The recorded object of each REST path, names compared without case.

    One path may have been recorded many times, and some recordings were edited by hand. The
    identity (id and creation time) recorded most often is believed, and of that one the fullest
    and then newest recording is kept. A repository has what the REST API requires of one today.

    Example:
        >>> recordings = Recordings.load(Path("node_modules"))  # doctest: +SKIP
        >>> recordings.get("/repos/codertocat/hello-world/issues/1")["title"]  # doctest: +SKIP
        'Spelling error in the README file'
    """

    def __init__(self, objects: Iterable[Object]) -> None:
        recorded: dict[str, list[Object]] = {}
        for found in objects:
            recorded.setdefault(place(found)["path"].lower(), []).append(found)
        super().__init__(_complete(_choose(recorded[path])) for path in sorted(recorded))

    @classmethod
    def load(cls, folder: Path) -> "Recordings":
        """Read every recording of api.github.com below a folder, such as ``node_modules``."""
        return cls(
            found
            for pattern in _RECORDED
            for file in sorted(folder.glob(pattern))
            for found in _entities(msgspec.json.decode(file.read_bytes()))
        )

    def repositories(self) -> Iterator[RepositoryIdentity]:
        """Yield the identity of every repository."""
        for found in self.by_path.values():
            if "full_name" in found:
                yield RepositoryIdentity(str(found["id"]), found["owner"]["login"], found["name"])

    def issues(self) -> Iterator[ConversationIdentity]:
        """Yield the identity of every issue that is not a pull request."""
        for path, found in self.by_path.items():
            if "/issues/" in path and "number" in found and "pull_request" not in found:
                yield _conversation(found)

    def pull_requests(self) -> Iterator[ConversationIdentity]:
        """Yield the identity of every pull request."""
        for path, found in self.by_path.items():
            if "/pulls/" in path:
                yield _conversation(found)


def _entities(json: object) -> Iterator[Object]:
    if isinstance(json, dict):
        if _is_entity(json):
            yield json
        for value in json.values():
            yield from _entities(value)
    elif isinstance(json, list):
        for value in json:
            yield from _entities(value)


def _is_entity(json: Object) -> bool:
    # Payloads of pushes have times as numbers, nested objects may have none, and one recorded
    # pull request was given another's number by hand.
    found = find_place(json.get("url"))
    return (
        found is not None
        and isinstance(json.get("created_at"), str)
        and isinstance(json.get("updated_at"), str)
        and json.get("number") == (int(found["number"]) if found["number"] else None)
    )


def _choose(recorded: list[Object]) -> Object:
    identities = [_identity(found) for found in recorded]
    believed = max(identities, key=identities.count)
    candidates = [found for found in recorded if _identity(found) == believed]
    return max(candidates, key=lambda found: (_is_full(found), found["updated_at"], len(found)))


def _complete(entity: Object) -> Object:
    if "full_name" not in entity:
        return entity
    visibility = "private" if entity.get("private") else "public"
    return {**_REPOSITORY, "visibility": visibility, **entity}


def _identity(entity: Object) -> tuple[int, str]:
    return entity["id"], entity["created_at"]


def _is_full(entity: Object) -> bool:
    """Tell a pull request as the REST API gives it from the short form inside other payloads."""
    return "additions" in entity or "/pulls/" not in entity["url"]


def _conversation(entity: Object) -> ConversationIdentity:
    where = place(entity)
    author = entity["user"]
    return ConversationIdentity(
        id=str(entity["id"]),
        number=entity["number"],
        created_at=datetime.fromisoformat(entity["created_at"]),
        owner=where["owner"],
        repository=where["repo"],
        author=author["login"] if author else None,
    )
