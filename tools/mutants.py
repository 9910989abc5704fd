"""Run tests on mutants of the code, each with one fault: `make mutants`.

`tests/mutants.toml` lists the mutants, and the tests that must fail on each of them. To run some of
them only, give parts of their names: `python tools/mutants.py lease token`.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final, NoReturn

ROOT: Final = Path(__file__).parents[1]
_FOLDERS: Final = ("bridge", "cypher", "plugin-build", "procedures")
"""The folders of the packages."""

_LEAST_KILLED: Final = 0.9
_OMITTED: Final = (".*", "__pycache__", "dist", "node_modules", "site", "target")
_PYTEST: Final = (
    *("-q", "-rfE", "--tb=short", "--hypothesis-seed=0", "--timeout=180"),
    *("-p", "no:randomly", "-p", "no:cacheprovider"),
)
# Lines of the summary; those of a captured log have more spaces.
_BROKEN: Final = re.compile(r"^ERROR \S", re.MULTILINE)
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S[^\[\n]*?)(?:\[| - |$)", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A fault in the code, and the tests that must find it.

    Attributes:
        name: What is broken.
        file: The file to change, relative to the repository.
        old: The text to replace; it occurs once in the file.
        new: The text with the fault.
        tests: Node ids of pytest, of which at least one must fail.
        neo4j: Whether they need a Neo4j.
    """

    name: str
    file: str
    old: str
    new: str
    tests: list[str]
    neo4j: bool = False

    def problem(self, root: Path) -> str:
        """Return why it cannot be applied below a folder; empty if it can."""
        file = root / self.file
        count = file.read_text(encoding="utf-8").count(self.old) if file.is_file() else 0
        if count != 1:
            return f"its old text occurs {count} times in {self.file}: copy the present text"
        return "its new text is its old text" if self.new == self.old else ""


def read_mutants() -> list[Mutant]:
    """Return the mutants of the list."""
    listed = tomllib.loads((ROOT / "tests/mutants.toml").read_text(encoding="utf-8"))
    return [Mutant(**each) for each in listed["mutant"]]


class Copy:
    """A copy of the repository, whose packages its tests import."""

    def __init__(self, folder: Path) -> None:
        """Copy the repository to a new folder."""
        self._folder = shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*_OMITTED))
        path = os.pathsep.join(str(folder / each) for each in _FOLDERS)
        self._environ = {**os.environ, "PYTHONPATH": path}

    @contextmanager
    def with_faults(self, mutants: Collection[Mutant]) -> Iterator[None]:
        """Apply mutants while the block runs."""
        texts = {each.file: (self._folder / each.file).read_text("utf-8") for each in mutants}
        changed = dict(texts)
        for each in mutants:
            changed[each.file] = changed[each.file].replace(each.old, each.new)
        try:
            self._write(changed)
            yield
        finally:
            self._write(texts)

    def _write(self, texts: dict[str, str]) -> None:
        for name, text in texts.items():
            file = self._folder / name
            file.write_text(text, encoding="utf-8")
            # Python takes it for current if the source has the same size and second.
            Path(cache_from_source(file)).unlink(missing_ok=True)

    def run(self, tests: Sequence[str]) -> tuple[int, str]:
        """Run tests; return the exit code of pytest, and what it printed."""
        command = [sys.executable, "-m", "pytest", *_PYTEST, *tests]
        done = subprocess.run(
            command,
            cwd=self._folder,
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout


def check(copy: Copy, mutants: Sequence[Mutant]) -> None:
    """Stop if a test fails without its mutant, or if the tests do not import the copy."""
    code, printed = copy.run(sorted({test for each in mutants for test in each.tests}))
    if code:
        _stop(f"without a mutant, pytest ended with {code}; correct its tests first\n{printed}")
    first = {_package(each): each.tests for each in reversed(mutants) if not each.neo4j}
    for package, tests in first.items():
        file = f"{package}/__init__.py"
        old = (ROOT / file).read_text(encoding="utf-8")
        broken = Mutant(package, file, old, f"raise ImportError('mutant of {package}')\n", tests)
        with copy.with_faults([broken]):
            _, printed = copy.run(tests)
        if f"mutant of {package}" not in printed:
            _stop(f"the tests do not import `{package}` of the copy; see PYTHONPATH\n{printed}")


def _package(mutant: Mutant) -> str:
    return "/".join(mutant.file.split("/")[:2])


def killed_by(copy: Copy, mutants: Sequence[Mutant]) -> list[bool]:
    """Apply mutants, and return for each of them whether one of its tests fails."""
    first_failure = ["-x"] * (len(mutants) == 1)
    with copy.with_faults(mutants):
        code, printed = copy.run(
            [*first_failure, *(test for each in mutants for test in each.tests)]
        )
    # 0: all tests have passed. 1: some have failed. A fixture tells nothing about one of several.
    if code not in {0, 1} or (len(mutants) > 1 and _BROKEN.search(printed)):
        names = ", ".join(f"`{each.name}`" for each in mutants)
        _stop(f"pytest ended with {code} on {names}, and has not run all tests\n{printed}")
    failed = _FAILED.findall(printed)
    failed += [test.partition("::")[0] for test in failed]
    return [not set(failed).isdisjoint(each.tests) for each in mutants]


def main(words: Sequence[str]) -> int:
    """Run the mutants whose names have one of some words, or all; return the exit code."""
    mutants = [
        each for each in read_mutants() if not words or any(word in each.name for word in words)
    ]
    if not mutants:
        _stop("no mutant has such a name; see tests/mutants.toml")
    for each in mutants:
        if problem := each.problem(ROOT):
            _stop(f"the mutant `{each.name}` of tests/mutants.toml cannot be applied: {problem}")
    with tempfile.TemporaryDirectory(prefix="sidecypher-mutants-") as folder:
        copy = Copy(Path(folder) / "clone")
        check(copy, mutants)
        killed = sum(_results(copy, mutants))
    _print(f"{killed} of {len(mutants)} mutants killed")
    return 0 if killed >= _LEAST_KILLED * len(mutants) else 1


def _results(copy: Copy, mutants: Sequence[Mutant]) -> Iterator[bool]:
    """Yield whether each mutant was killed, and print it with the seconds that it took."""
    together = [each for each in mutants if each.neo4j]
    groups = [[each] for each in mutants if not each.neo4j] + [together] * bool(together)
    for group in groups:
        started = time.monotonic()
        killed = killed_by(copy, group)
        seconds = (time.monotonic() - started) / len(group)
        for each, is_killed in zip(group, killed, strict=True):
            result = "killed" if is_killed else "SURVIVED"
            _print(f"{each.name:80} {result:8} {seconds:6.1f}")
        yield from killed


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _stop(problem: str) -> NoReturn:
    sys.stderr.write(f"error: {problem}\n")
    raise SystemExit(2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
