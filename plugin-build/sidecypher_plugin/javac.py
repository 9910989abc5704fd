"""The Java compiler: its version, and one run of it."""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from sidecypher_plugin.errors import JdkMissing, PluginBuildError

__all__ = ["compile_sources", "javac_version"]

_RELEASE: Final = 17
_VERSION: Final = re.compile(r"^javac ((\d+)\S*)", re.MULTILINE)
_PLACE: Final = re.compile(r"^(\S+\.java):(\d+):", re.MULTILINE)
_PROCEDURE: Final = re.compile(r'PythonProcedure\.named\("([^"]+)"\)')
_VERSION_SECONDS: Final = 60
_COMPILE_SECONDS: Final = 300
_OWN_JVM: Final = ("-J-Xss16m", "-J-XX:TieredStopAtLevel=1")
"""javac recurses once for each of many columns; and in seconds no optimizing pays."""


def javac_version(javac: Path) -> str:
    """Give the version of a Java compiler, such as ``17.0.15``.

    Raises:
        JdkMissing: There is no compiler at this place, or it is older than Java 17.
    """
    output = _run([str(javac), "-version"], _VERSION_SECONDS).stdout
    version = _VERSION.search(output)
    if version is None:
        raise JdkMissing("The program that should be `javac` does not tell a version")
    if int(version[2]) < _RELEASE:
        raise JdkMissing(f"The Java compiler is version {version[1]}; {_RELEASE} is the oldest")
    return version[1]


def compile_sources(
    sources: Mapping[str, str], *, javac: Path, classpath: Iterable[Path], folder: Path
) -> dict[str, bytes]:
    """Compile Java sources and give the class files by name.

    Args:
        sources: Source texts by relative path.
        javac: The compiler.
        classpath: Jars with the classes that the sources use.
        folder: An empty folder to work in.

    Raises:
        PluginBuildError: The compiler refused a source; `details` holds its output.
        JdkMissing: There is no compiler at this place.
    """
    for path, text in sources.items():
        (folder / "src" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "src" / path).write_text(text, encoding="ascii")
    (folder / "sources.txt").write_text("\n".join(sources), encoding="ascii")
    (folder / "classes").mkdir()
    path = os.pathsep.join(str(jar.resolve()) for jar in classpath)
    finished = _run(
        [
            *(str(javac), *_OWN_JVM, "-proc:none", "--release", str(_RELEASE), "-Xlint:all"),
            *("-encoding", "UTF-8", "-classpath", path, "-d", "../classes", "@../sources.txt"),
        ],
        _COMPILE_SECONDS,
        folder / "src",
    )
    if finished.returncode != 0:
        raise PluginBuildError(
            f"javac refused the stub of {_refused(sources, finished.stdout)}",
            hint="Its output is in this error's details.",
            details={"javac": finished.stdout},
        )
    classes = folder / "classes"
    return {
        file.relative_to(classes).as_posix(): file.read_bytes() for file in classes.rglob("*.class")
    }


def _run(
    command: Sequence[str], seconds: float, folder: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except OSError as error:
        raise JdkMissing("There is no Java compiler (`javac`) to run") from error
    except subprocess.TimeoutExpired as error:
        raise PluginBuildError(
            f"javac did not finish within {seconds} seconds", hint="Try again on an idle machine."
        ) from error


def _refused(sources: Mapping[str, str], output: str) -> str:
    """Name the procedure in whose stub javac's first complaint lies, if it can be told."""
    place = _PLACE.search(output)
    if place is None or place[1] not in sources:
        return "the procedures"
    lines = sources[place[1]].splitlines()[: int(place[2])]
    names = _PROCEDURE.findall("\n".join(lines))
    return f"the procedure `{names[-1]}`" if names else "the procedures"
