"""Released sources from PyPI, and which functions each release has changed."""

import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from sidecypher_procedures.code.extraction import extract
from sidecypher_procedures.code.model import SourceFile

_ROLES: Final = (":pr:", ":issue:", ":ghsa:")
_MOST_CHANGED: Final = 60
"""The most functions that a release may change: more are a move or a new format."""


PACKAGES: Final = {
    "click": "src/click",
    "django": "django",
    "flask": "src/flask",
    "jinja2": "src/jinja2",
    "sympy": "sympy",
    "werkzeug": "src/werkzeug",
}
"""Where a source distribution has its package."""


@dataclass(frozen=True)
class Sdist:
    """A source distribution, pinned by its SHA-256."""

    name: str
    version: str
    sha256: str

    @classmethod
    def all_of(cls, name: str) -> "list[Sdist]":
        """Return the pinned versions of a project, in their order."""
        lines = Path(__file__).with_name("sdists.txt").read_text().splitlines()
        return [cls(*line.split()) for line in lines if line.startswith(f"{name} ")]

    def package(self, folder: Path) -> Path:
        """Return the folder of its package; see `unpacked`."""
        return self.unpacked(folder) / PACKAGES[self.name]

    def unpacked(self, folder: Path) -> Path:
        """Return the folder of its files; fetch it first where it is not there.

        Raises:
            CalledProcessError: pip cannot fetch it, or its hash is another one.
        """
        target = folder / f"{self.name}-{self.version}"
        if not target.is_dir():
            wanted = folder / f"{self.name}-{self.version}.txt"
            wanted.write_text(f"{self.name}=={self.version} --hash=sha256:{self.sha256}\n")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            command += ["--no-binary", ":all:", "--require-hashes", "-r", str(wanted)]
            subprocess.run([*command, "--dest", str(folder)], check=True)
            [archive] = [
                file
                for file in folder.glob(f"*-{self.version}.tar.gz")
                if file.name.lower().startswith(f"{self.name}-")
            ]
            with tarfile.open(archive) as files:
                files.extractall(folder / "unpacking", filter="data")
            [made] = (folder / "unpacking").iterdir()
            made.rename(target)
        return target


@dataclass(frozen=True)
class Release:
    """What a release says of its changes, and what it has changed.

    Attributes:
        name: The name and the version before.
        before: The package of the version before.
        messages: The entries of its list of changes.
        changed: File and lines, in the version before, of each function with another text now.
    """

    name: str
    before: Path
    messages: tuple[str, ...]
    changed: tuple[tuple[str, int, int], ...]


def releases(name: str, folder: Path) -> Iterator[Release]:
    """Yield the releases of a project that changed a few functions, in their order."""
    for old, new in pairwise(Sdist.all_of(name)):
        before, after = old.package(folder), new.package(folder)
        changes = (new.unpacked(folder) / "CHANGES.rst").read_text()
        messages = tuple(_messages(changes, new.version))
        changed = tuple(_changed(before, after))
        if messages and 0 < len(changed) <= _MOST_CHANGED:
            yield Release(f"{name}-{old.version}", before, messages, changed)


def _messages(text: str, version: str) -> Iterator[str]:
    """Yield the entries of a version, as one line each, without marks of reStructuredText."""
    _, _, part = text.partition(f"\nVersion {version}\n")
    part, _, _ = part.partition("\nVersion ")
    for entry in part.replace("\n    ", " ").replace("\n  ", " ").split("\n-")[1:]:
        words = [word for word in entry.split() if not word.startswith(_ROLES)]
        yield " ".join(words).replace("``", "`")


def _changed(before: Path, after: Path) -> Iterator[tuple[str, int, int]]:
    """Yield the functions that differ or are gone, the innermost only."""
    now = {path: _functions(after / path) for path in _files(after)}
    for path in _files(before):
        for name, (text, begin, end) in _functions(before / path).items():
            if now.get(path, {}).get(name, ("",))[0] != text:
                yield path, begin, end


def _files(folder: Path) -> list[str]:
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.py"))


def _functions(file: Path) -> Mapping[str, tuple[str, int, int]]:
    """Return text and lines of the functions of a file."""
    content = file.read_bytes()
    lines = content.decode().splitlines()
    found: SourceFile = extract(file.name, "python", content)
    return {
        each.path_in_file: (
            "\n".join(lines[each.start_line - 1 : each.end_line]),
            each.start_line,
            each.end_line,
        )
        for each in found.declarations
        if each.type == "function"
    }
