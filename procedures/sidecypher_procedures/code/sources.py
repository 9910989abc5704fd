"""The files of a repository: those that git knows, or else those that `.gitignore` leaves."""

import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

import pathspec

from sidecypher_procedures.code.errors import TooManyFiles
from sidecypher_procedures.code.languages.grammars import language_of
from sidecypher_procedures.code.model import Language

MOST_FILES: Final = 100_000
LARGEST_FILE: Final = 1024 * 1024
"""The largest file that is read, in bytes: larger ones are data or generated."""

_GIT_SECONDS: Final = 60


@dataclass(slots=True)
class Sources:
    """The files to index.

    Attributes:
        files: Bytes and language by path below the root, ordered by path.
        skipped: Why a file was left out, by path.
    """

    files: dict[str, tuple[Language, bytes]] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def read_sources(root: Path, languages: tuple[Language, ...]) -> Sources:
    """Read the files of some languages.

    Raises:
        TooManyFiles: There are more than `MOST_FILES`.
    """
    sources = Sources()
    root = root.resolve()
    for path in sorted(_paths(root)):
        language = language_of(path)
        if language is None or language not in languages:
            continue
        if len(sources.files) == MOST_FILES:
            raise TooManyFiles(f"The folder has more than {MOST_FILES} source files")
        content = _read(root, path)
        if isinstance(content, str):
            sources.skipped[path] = content
        else:
            sources.files[path] = (language, content)
    return sources


def _read(root: Path, path: str) -> bytes | str:
    """Return the content of a file, or why it is left out."""
    try:
        # A repository may name any file of the machine by a link.
        descriptor = os.open(root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return "symbolic link" if (root / path).is_symlink() else type(error).__name__
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "not a file"
        if status.st_size > LARGEST_FILE:
            return "too large"
        content = file.read(LARGEST_FILE + 1)
    return "too large" if len(content) > LARGEST_FILE else content


def _paths(root: Path) -> Iterator[str]:
    tracked = _tracked(root)
    yield from _walked(root) if tracked is None else tracked


def _tracked(root: Path) -> list[str] | None:
    """Return what git tracks in a folder; None if it is not part of a repository."""
    command = [
        "git",
        # A repository's own settings may name a program for this, which git would run.
        "-c",
        "core.fsmonitor=false",
        "-C",
        str(root),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return None
    names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    # A path that is no text cannot be a property in Neo4j.
    return [name for name in names if name and name.isprintable()]


def _walked(root: Path) -> Iterator[str]:
    ignored: dict[str, pathspec.GitIgnoreSpec] = {}
    for folder, folders, files in os.walk(root):
        relative = PurePosixPath(Path(folder).relative_to(root).as_posix())
        rules = Path(folder) / ".gitignore"
        if rules.is_file() and not rules.is_symlink():
            lines = rules.read_text(encoding="utf-8", errors="replace").splitlines()
            ignored[str(relative)] = pathspec.GitIgnoreSpec.from_lines(lines)
        folders[:] = sorted(
            name
            for name in folders
            if name != ".git" and not _is_ignored(relative / name, ignored, is_folder=True)
        )
        for name in files:
            path = relative / name
            if str(path).isprintable() and not _is_ignored(path, ignored, is_folder=False):
                yield str(path)


def _is_ignored(
    path: PurePosixPath, ignored: dict[str, pathspec.GitIgnoreSpec], *, is_folder: bool
) -> bool:
    for parent in path.parents:
        rules = ignored.get(str(parent))
        if rules is not None:
            name = str(path.relative_to(parent)) + ("/" if is_folder else "")
            if rules.match_file(name):
                return True
    return False
