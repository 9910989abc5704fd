"""The files of a repository: those that git knows, or else those that `.gitignore` leaves."""

import os
import re
import stat
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

import pathspec

from sidecypher_procedures.code.errors import BadIndex, TooManyFiles
from sidecypher_procedures.code.languages.grammars import language_of
from sidecypher_procedures.code.model import Language

MOST_FILES: Final = 100_000
LARGEST_FILE: Final = 1024 * 1024
"""The largest file that is read, in bytes: larger ones are data or generated."""
LARGEST_INDEX: Final = 256 * 1024 * 1024
"""The largest SCIP index that is read, in bytes: about that of two million lines."""

_MISSING: Final = "missing"
_GIT_SECONDS: Final = 60
_SETTINGS: Final = re.compile(r"[jt]sconfig[^/]*\.json|package\.json")


@dataclass(slots=True)
class Sources:
    """The files to index.

    Attributes:
        files: Bytes and language by path below the root, ordered by path.
        indexes: SCIP indexes, by path.
        settings: Configurations of TypeScript and of packages, which tell what imports name.
        skipped: Why a file was left out, by path.
    """

    files: dict[str, tuple[Language, bytes]] = field(default_factory=dict)
    indexes: dict[str, bytes] = field(default_factory=dict)
    settings: dict[str, bytes] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


def read_sources(
    root: Path, languages: tuple[Language, ...], indexes: Iterable[str] = ()
) -> Sources:
    """Read the files of some languages.

    Args:
        root: The folder.
        languages: The languages.
        indexes: SCIP indexes, by their paths from the root.

    Raises:
        BadIndex: An index is not a file below the root, or is too large.
        TooManyFiles: There are more than `MOST_FILES`.
    """
    root = root.resolve()
    sources = Sources(indexes=dict(_read_index(root, name) for name in indexes))
    for path in sorted(_paths(root)):
        language = language_of(path)
        if _SETTINGS.fullmatch(PurePosixPath(path).name):
            content = read_file(root / path, LARGEST_FILE)
            if isinstance(content, bytes):
                sources.settings[path] = content
        if language is None or language not in languages:
            continue
        if len(sources.files) == MOST_FILES:
            raise TooManyFiles(f"The folder has more than {MOST_FILES} source files")
        content = read_file(root / path, LARGEST_FILE)
        if isinstance(content, bytes):
            sources.files[path] = (language, content)
        elif content != _MISSING:  # git names what was deleted, and files go while this reads
            sources.skipped[path] = content
    return sources


def _read_index(root: Path, name: str) -> tuple[str, bytes]:
    """Return the path of an index below the root, and its content."""
    label, path = PurePosixPath(name).name, root / name
    if "\0" in name or not _is_below(path, root):
        raise BadIndex(f"The SCIP index `{label}` is not below the root of the repository")
    content = read_file(path, LARGEST_INDEX)
    if isinstance(content, str):
        raise BadIndex(f"The SCIP index `{label}` cannot be read: {content}")
    return path.relative_to(root).as_posix(), content


def _is_below(path: Path, root: Path) -> bool:
    """Return whether a path is in a folder without `..` and links on the way."""
    return path.resolve().is_relative_to(root) and path.parent.resolve() == path.parent


def read_file(path: Path, largest: int) -> bytes | str:
    """Return the content of a file, or why it cannot be read.

    Args:
        path: The file. A link is not followed: a repository may name any file of the machine by it.
        largest: The most bytes that it may have.

    Example:
        >>> read_file(Path("/"), 10)
        'not a file'
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return _MISSING
    except OSError as error:
        return "symbolic link" if path.is_symlink() else type(error).__name__
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return "not a file"
        if status.st_size > largest:
            return "too large"
        # No more: what is left of a larger buffer would be a memory mapping of its own for each
        # file, and Linux lets a process have 65 530.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size)
    finally:
        os.close(descriptor)


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
