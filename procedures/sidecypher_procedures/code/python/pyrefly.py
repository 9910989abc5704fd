"""What the type checker pyrefly knows of the calls of a Python program.

Its report for Pysa (`--report-pysa`) names the targets of each call. This is the one place that
reads it, and it refuses a report of another format.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from sidecypher_procedures.code.errors import ResolverFailed
from sidecypher_procedures.code.python.values import Span

FORMAT: Final = 1
"""The version of the report that this module reads; that of pyrefly 1.4."""

_SECONDS: Final = 600
_SETTINGS: Final = """\
skip-interpreter-query = true
site-package-path = []
python-version = "3.13"
python-platform = "linux"
"""


Site: TypeAlias = tuple[str, Span]
"""A part of a file."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a function or class of the program has its name.

    Attributes:
        path: The file, below the root.
        line: The line, from 1.
    """

    path: str
    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Target:
    """What a call reaches.

    Attributes:
        function: The function; None for a class of the program without a constructor of its own.
        receiver: The class of the object that the function is called on, if it is in the program.
        is_bound: Whether the function gets an object as its first argument.
        makes: Whether the call makes an object of `receiver`.
    """

    function: Place | None
    receiver: Place | None
    is_bound: bool
    makes: bool


@dataclass(frozen=True, slots=True)
class Report:
    """What pyrefly resolved to something in the program.

    Attributes:
        calls: The targets of calls, by file and by the place of the whole call.
        attributes: The functions that are read as attributes, by file and by the place of the
            whole expression: properties, and functions that are not called there.
    """

    calls: Mapping[Site, tuple[Target, ...]] = field(default_factory=dict)
    attributes: Mapping[Site, tuple[Place, ...]] = field(default_factory=dict)


def resolve(sources: Mapping[str, bytes], package: str = "") -> Report:
    """Let pyrefly resolve the calls of a program.

    Args:
        sources: The files by path. pyrefly sees a copy of them and nothing else: no settings and no
            interpreter of the repository.
        package: The name of the root if that is a package.

    Raises:
        ResolverFailed: pyrefly is missing, has failed, or reports in another format.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, report = Path(name, "program"), Path(name, "report")
        root = folder / package
        for path, source in sources.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source)
        (folder / "pyrefly.toml").write_text(_SETTINGS, encoding="utf-8")
        _run(folder, report)
        return _Reader(report, root).read()


def _run(folder: Path, report: Path) -> None:
    command = [
        str(Path(sys.executable).with_name("pyrefly")),
        "check",
        str(folder),
        f"--report-pysa={report}",
        "--report-pysa-format=json",
        "--check-unannotated-defs=true",
        "--summary=none",
        "--output-format=min-text",
    ]
    try:
        # It ends with 1 if the program has type errors, as most have.
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ResolverFailed(f"pyrefly did not run: {type(error).__name__}") from None
    if not (report / "pyrefly.pysa.json").is_file():
        raise ResolverFailed(
            f"pyrefly wrote no report and ended with {done.returncode}; "
            "the option `resolve: false` leaves it out"
        )


class _Reader:
    def __init__(self, report: Path, folder: Path) -> None:
        self._report = report
        self._folder = folder.resolve()
        index = self._load(report / "pyrefly.pysa.json")
        self._files: dict[int, str] = {
            module["module_id"]: module["info_filename"]
            for module in index["modules"].values()
            if "FileSystem" in module["source_path"]
        }
        self._definitions = cache(self._read_definitions)

    @staticmethod
    def _load(path: Path) -> Any:
        found = msgspec.json.decode(path.read_bytes())
        if found.get("format_version") != FORMAT:
            raise ResolverFailed(
                f"pyrefly reports in format {found.get('format_version')}, not in {FORMAT}"
            )
        return found

    def _read_definitions(self, module: int) -> Any:
        return self._load(self._report / "definitions" / self._files[module])

    def read(self) -> Report:
        calls: dict[Site, tuple[Target, ...]] = {}
        attributes: dict[Site, tuple[Place, ...]] = {}
        for site, found in self._sites():
            if targets := tuple(self._targets(found.get("Call", {}))):
                calls[site] = targets
            elif functions := tuple(self._read_functions(found.get("AttributeAccess", {}))):
                attributes[site] = functions
        return Report(calls, attributes)

    def _sites(self) -> Iterator[tuple[Site, Any]]:
        for filename in self._files.values():
            path = self._report / "call_graphs" / filename
            if not path.is_file():
                continue
            found = self._load(path)
            file = self._path(found)
            if file is None:
                continue
            for sites in found["call_graphs"].values():
                for key, site in sites.items():
                    if "|" not in key:
                        yield (file, _span(key)), site

    def _path(self, module: Any) -> str | None:
        source = Path(module["source_path"]["FileSystem"])
        if not source.is_relative_to(self._folder):
            return None
        return source.relative_to(self._folder).as_posix()

    def _targets(self, call: Any) -> Iterator[Target]:
        for kind in ("call_targets", "init_targets"):
            for each in call.get(kind, ()):
                named = _named(each)
                if named is None:
                    continue
                function = self._function(named)
                receiver = self._class(each.get("receiver_class"))
                makes = kind == "init_targets"
                if function is not None or (makes and receiver is not None):
                    is_bound = "implicit_receiver" in each
                    yield Target(function, receiver, is_bound, makes)

    def _read_functions(self, access: Any) -> Iterator[Place]:
        called = access.get("if_called", {}).get("call_targets", ())
        for each in (*access.get("property_getters", ()), *called):
            named = _named(each)
            function = self._function(named) if named is not None else None
            if function is not None:
                yield function

    def _function(self, named: Any) -> Place | None:
        if named["module_id"] not in self._files:
            return None
        module = self._definitions(named["module_id"])
        found = module["function_definitions"].get(named["function_id"])
        return self._place(module, found)

    def _class(self, named: Any) -> Place | None:
        if named is None or named["module_id"] not in self._files:
            return None
        module = self._definitions(named["module_id"])
        return self._place(module, module["class_definitions"].get(str(named["class_id"])))

    def _place(self, module: Any, found: Any) -> Place | None:
        path = self._path(module)
        if path is None or found is None or "name_location" not in found:
            return None
        return Place(path, _span(found["name_location"])[0], found["name"])


def _named(target: Any) -> Any:
    """Return the function that a target names, None if it is something else."""
    found = target["target"]
    return found.get("Function") or found.get("Overrides") if isinstance(found, dict) else None


def _span(text: str) -> Span:
    """Read ``line:column-line:column``, which counts columns from 1."""
    begin, _, end = text.partition("-")
    line, column = begin.split(":")
    end_line, end_column = end.split(":")
    return (int(line), int(column) - 1, int(end_line), int(end_column) - 1)
