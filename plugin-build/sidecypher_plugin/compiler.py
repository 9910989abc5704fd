"""Java compilers: `javac` of a JDK, and the compiler of Eclipse."""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sidecypher_plugin.errors import CompilerMissing, PluginBuildError

_RELEASE: Final = 17
_STACK: Final = "-Xss16m"
"""Stack size: compilers recurse once for each column."""

_QUICK: Final = "-XX:TieredStopAtLevel=1"
"""A compiler runs for seconds only, too short for an optimizing JIT to pay off."""

_LOCATION: Final = re.compile(r"^(\S+\.java):(?!1:)(\d+):", re.MULTILINE)
"""File and line of an error; ecj reports some errors in records at line 1, the package."""

_PROCEDURE: Final = re.compile(r'PythonProcedure\.named\("([^"]+)"\)')
_VERSION_SECONDS: Final = 60
_COMPILE_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Compiler:
    """A program that compiles Java for Java 17.

    Attributes:
        name: Its name in messages.
        command: Command that starts it.
        options: Its options for each run, in addition to those of every compiler.
        version_pattern: Finds the version in the output of ``-version``.
    """

    name: str
    command: tuple[str, ...]
    options: tuple[str, ...]
    version_pattern: re.Pattern[str]

    def version(self) -> str:
        """Return name and version, such as ``javac 17.0.15``.

        Raises:
            CompilerMissing: There is no compiler at this path.
        """
        answer = self._run("-version", seconds=_VERSION_SECONDS).stdout
        version = self.version_pattern.search(answer)
        if version is None:
            raise CompilerMissing(
                f"The program that should be `{self.name}` does not report a version"
            )
        return f"{self.name} {version[1]}"

    def compile(
        self, sources: Mapping[str, str], *, classpath: Iterable[Path], folder: Path
    ) -> dict[str, bytes]:
        """Compile Java sources and return the class files by name.

        Args:
            sources: Source texts by relative path.
            classpath: Jars with the classes that the sources use.
            folder: An empty folder to work in.

        Raises:
            PluginBuildError: The compiler refused a source; `details` holds its output.
            CompilerMissing: There is no compiler at this path.
        """
        source_folder, classes = folder.resolve() / "src", folder / "classes"
        for path, text in sources.items():
            (source_folder / path).parent.mkdir(parents=True, exist_ok=True)
            (source_folder / path).write_text(text, encoding="ascii")
        (folder / "sources.txt").write_text("\n".join(sources), encoding="ascii")
        classes.mkdir()
        finished = self._run(
            *("-proc:none", *self.options, "-encoding", "UTF-8"),
            *("-classpath", os.pathsep.join(str(jar.resolve()) for jar in classpath)),
            *("-d", "../classes", "@../sources.txt"),
            seconds=_COMPILE_SECONDS,
            folder=source_folder,
        )
        if finished.returncode != 0:
            output = finished.stdout.replace(f"{source_folder}{os.sep}", "")
            raise PluginBuildError(
                f"{self.name} refused the stub of {_refused(sources, output)}",
                hint="Its output is in this error's details.",
                details={"compiler": output},
            )
        return {
            file.relative_to(classes).as_posix(): file.read_bytes()
            for file in classes.rglob("*.class")
        }

    def _run(
        self, *arguments: str, seconds: float, folder: Path | None = None
    ) -> "subprocess.CompletedProcess[str]":
        try:
            return subprocess.run(
                [*self.command, *arguments],
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
            raise CompilerMissing(f"There is no `{self.name}` to run") from error
        except subprocess.TimeoutExpired as error:
            raise PluginBuildError(
                f"{self.name} did not finish within {seconds} seconds",
                hint="Try again on an idle machine.",
            ) from error


def javac(program: Path) -> Compiler:
    """Return the compiler of a JDK, which must be 17 or newer.

    Args:
        program: The JDK's ``javac``.
    """
    return Compiler(
        "javac",
        (str(program), f"-J{_STACK}", f"-J{_QUICK}"),
        ("--release", str(_RELEASE), "-Xlint:all"),
        re.compile(r"^javac (\S+)", re.MULTILINE),
    )


def eclipse(java: Path, jar: Path) -> Compiler:
    """Return the compiler of Eclipse, for a Java without a compiler.

    Args:
        java: The command ``java``, 17 or newer.
        jar: The jar of ``org.eclipse.jdt:ecj``.
    """
    return Compiler(
        "ecj",
        (str(java), _STACK, _QUICK, "-jar", str(jar)),
        # `--release` needs the signatures of older Java versions, which are only in a JDK. The
        # stubs use no API newer than Java 17.
        (f"-{_RELEASE}", "-nowarn", "-Xemacs"),
        re.compile(r"^Eclipse Compiler.*?, (\d[\w.]*),", re.MULTILINE),
    )


def _refused(sources: Mapping[str, str], output: str) -> str:
    """Return the procedure whose stub has the first error, or all procedures if unknown."""
    location = _LOCATION.search(output)
    if location is None or location[1] not in sources:
        return "the procedures"
    lines = sources[location[1]].splitlines()[: int(location[2])]
    names = _PROCEDURE.findall("\n".join(lines))
    return f"the procedure `{names[-1]}`" if names else "the procedures"
