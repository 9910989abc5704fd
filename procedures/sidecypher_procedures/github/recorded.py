"""Real GitHub data that others recorded and published as npm packages, pinned by a lock file.

`@octokit/webhooks-examples` holds payloads of webhooks, `@octokit/fixtures` recorded REST traffic.
Whatever they contain as a repository, issue, pull request or comment of api.github.com has the
shape that the REST API gives it, and says in its `url` where it belongs.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec

_URL: Final = re.compile(
    r"https://api\.github\.com"
    r"(?P<path>/repos/(?P<owner>[^/]+)/(?P<repo>[^/]+)"
    r"(?:/(?:issues|pulls)/(?P<number>[0-9]+)|/issues/comments/[0-9]+)?)"
)
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
_MANIFEST: Final = ("package.json", "package-lock.json")
_INSTALL_SECONDS: Final = 300.0

Object = Mapping[str, Any]


class RecordingsMissing(Exception):
    """The recordings are not there and could not be fetched; the text says why and what to do."""


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


class Recordings:
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
            recorded.setdefault(_match(found)["path"].lower(), []).append(found)
        self._kept = {path: _complete(_choose(recorded[path])) for path in sorted(recorded)}

    @classmethod
    def load(cls, folder: Path) -> "Recordings":
        """Read every recording of api.github.com below a folder, such as ``node_modules``.

        Raises:
            RecordingsMissing: The folder has none.
        """
        objects = [
            found
            for pattern in _RECORDED
            for file in sorted(folder.glob(pattern))
            for found in _entities(msgspec.json.decode(file.read_bytes()))
        ]
        if not objects:
            raise RecordingsMissing(
                "The folder holds no recordings of api.github.com: give the node_modules folder "
                "into which @octokit/webhooks-examples was installed"
            )
        return cls(objects)

    def get(self, path: str) -> Object | None:
        """Give the object at a REST path such as ``/repos/octocat/Hello-World``."""
        return self._kept.get(path.lower())

    def list(self, path: str) -> Sequence[Object] | None:
        """Give what a list such as ``/repos/o/r/issues`` has, or None if it belongs to nothing.

        Issues and pull requests come with the newest first, comments with the oldest.
        """
        owner, _, things = path.lower().rpartition("/")
        if owner not in self._kept:
            return None
        if things == "comments":
            found = [each for each in self._kept.values() if _is_comment_of(each, owner)]
            return sorted(found, key=lambda each: each["id"])
        start = f"{owner}/{things}/"
        found = [each for key, each in self._kept.items() if key.startswith(start)]
        return sorted((each for each in found if "number" in each), key=_number, reverse=True)

    def repositories(self) -> Iterator[RepositoryIdentity]:
        """Yield the identity of every repository."""
        for found in self._kept.values():
            if "full_name" in found:
                yield RepositoryIdentity(str(found["id"]), found["owner"]["login"], found["name"])

    def issues(self) -> Iterator[ConversationIdentity]:
        """Yield the identity of every issue that is no pull request."""
        for path, found in self._kept.items():
            if "/issues/" in path and "number" in found and "pull_request" not in found:
                yield _conversation(found)

    def pull_requests(self) -> Iterator[ConversationIdentity]:
        """Yield the identity of every pull request."""
        for path, found in self._kept.items():
            if "/pulls/" in path:
                yield _conversation(found)


def fetch(cache: Path) -> Path:
    """Install the pinned packages into a folder of `cache`, unless they are there.

    Args:
        cache: A folder for things that can be fetched again.

    Returns:
        The folder to give to `Recordings.load`.

    Raises:
        RecordingsMissing: npm is missing or failed.
    """
    source = files(__package__) / "recordings"
    manifest = {name: (source / name).read_bytes() for name in _MANIFEST}
    version = hashlib.sha256(b"".join(manifest.values())).hexdigest()[:16]
    installed = cache / f"github-recordings-{version}"
    if installed.is_dir():
        return installed
    cache.mkdir(parents=True, exist_ok=True)
    # Renamed when complete, so that an interrupted installation is never taken for a whole one.
    with tempfile.TemporaryDirectory(dir=cache, prefix="github-recordings-") as scratch:
        made = Path(scratch) / "packages"
        made.mkdir()
        for name, content in manifest.items():
            (made / name).write_bytes(content)
        _install(made)
        try:
            made.rename(installed)
        except OSError:
            if not installed.is_dir():
                raise
    return installed


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise RecordingsMissing("There is no npm: install Node.js 20 or newer")
    try:
        done = subprocess.run(
            [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RecordingsMissing(
            f"npm did not fetch the recordings in {_INSTALL_SECONDS:.0f} seconds: try again"
        ) from None
    if done.returncode:
        code = re.search(rb"(?:code|ERR!) (E[A-Z0-9]{3,20})\b", done.stderr)
        raise RecordingsMissing(
            f"npm could not fetch the recordings ({code[1].decode() if code else 'no reason'}): "
            "check that the npm registry can be reached"
        )


def _entities(json: object) -> Iterator[Object]:
    if isinstance(json, dict):
        if _is_entity(json):
            yield json
        for value in json.values():
            yield from _entities(value)
    elif isinstance(json, list):
        for value in json:
            yield from _entities(value)


def _is_entity(json: Mapping[str, Any]) -> bool:
    # Payloads of pushes have times as numbers, nested objects may have none, and one recorded
    # pull request was given another's number by hand.
    found = _URL.fullmatch(json["url"]) if isinstance(json.get("url"), str) else None
    return (
        found is not None
        and isinstance(json.get("created_at"), str)
        and isinstance(json.get("updated_at"), str)
        and json.get("number") == (int(found["number"]) if found["number"] else None)
    )


def _match(entity: Object) -> re.Match[str]:
    found = _URL.fullmatch(entity["url"])
    if found is None:
        raise ValueError("not an object of the REST API")
    return found


def _is_comment_of(entity: Object, issue: str) -> bool:
    # A pull request names an issue too, which is itself.
    whose = str(entity.get("issue_url")).lower()
    return "number" not in entity and whose == f"https://api.github.com{issue}"


def _number(entity: Object) -> int:
    number: int = entity["number"]
    return number


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
    where = _match(entity)
    author = entity["user"]
    return ConversationIdentity(
        id=str(entity["id"]),
        number=entity["number"],
        created_at=datetime.fromisoformat(entity["created_at"]),
        owner=where["owner"],
        repository=where["repo"],
        author=author["login"] if author else None,
    )


def main(arguments: list[str] | None = None) -> int:
    """Fetch the recordings into a cache folder and print where they are."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("cache", type=Path, help="folder for things that can be fetched again")
    try:
        folder = fetch(parser.parse_args(arguments).cache)
    except RecordingsMissing as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"{os.fspath(folder)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
