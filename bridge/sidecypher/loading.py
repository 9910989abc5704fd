"""Find procedures: installed packages by entry point, an author's own files by folder.

A module that cannot be imported never keeps the others from loading; it is reported by name and
reason.
"""

import hashlib
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from sidecypher.errors import SidecypherError
from sidecypher.registry import Procedure, Registry, procedures_in

ENTRY_POINT_GROUP: Final = "sidecypher.procedures"
_REASON_LENGTH: Final = 300


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """A module that is left out, and why.

    Attributes:
        module: Entry point or file name.
        reason: One line for a person.
    """

    module: str
    reason: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was found."""

    registry: Registry
    failures: tuple[LoadFailure, ...]


def load(folders: Iterable[Path]) -> Loaded:
    """Load every procedure of the installed packages and of `folders`.

    Args:
        folders: Folders of an author's own modules; each `*.py` file and package in them.

    Returns:
        The registry, and one failure per module or folder that could not be used.
    """
    procedures: dict[tuple[str, str], Procedure] = {}
    failures: list[LoadFailure] = []
    for name, import_module in _sources(folders):
        try:
            found = list(procedures_in(_with_submodules(import_module())))
            _claim(found, procedures)
        except KeyboardInterrupt:
            raise
        # SystemExit too: a module that calls `sys.exit()` must not end the sidecar.
        except BaseException as error:  # noqa: BLE001
            failures.append(LoadFailure(name, _reason(error)))
    return Loaded(Registry(procedures.values()), tuple(failures))


def _claim(found: list[Procedure], procedures: dict[tuple[str, str], Procedure]) -> None:
    claimed = dict(procedures)
    for candidate in found:
        kind, name = candidate.kind, candidate.name
        if claimed.setdefault((kind, name), candidate) is not candidate:
            raise SidecypherError(f"another {kind} already has the name `{name}`")
    procedures.update(claimed)


def _sources(
    folders: Iterable[Path],
) -> Iterator[tuple[str, Callable[[], types.ModuleType]]]:
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        yield point.name, point.load
    for folder in folders:
        yield from _folder_sources(folder)


def _folder_sources(
    folder: Path,
) -> Iterator[tuple[str, Callable[[], types.ModuleType]]]:
    def missing() -> types.ModuleType:
        raise SidecypherError("there is no such folder")

    if not folder.is_dir():
        yield folder.name, missing
        return
    # A name of its own for each folder: a user's `json.py` shadows nothing.
    package = "sidecypher_folder_" + hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    parent = types.ModuleType(package)
    parent.__path__ = [str(folder)]
    _forget_modules(package)
    sys.modules[package] = parent
    importlib.invalidate_caches()
    for path in sorted(folder.iterdir()):
        is_package = (path / "__init__.py").is_file()
        if path.name.startswith(("_", ".")) or not (path.suffix == ".py" or is_package):
            continue
        yield path.name, partial(importlib.import_module, f"{package}.{path.stem}")


def _forget_modules(package: str) -> None:
    """Drop what an earlier load imported, so that changed files are read again."""
    for name in [name for name in sys.modules if name.startswith(package + ".")]:
        del sys.modules[name]


def _with_submodules(module: types.ModuleType) -> list[types.ModuleType]:
    prefix = module.__name__ + "."
    return [
        module,
        *(found for name, found in sorted(sys.modules.items()) if name.startswith(prefix)),
    ]


def _reason(error: BaseException) -> str:
    if isinstance(error, SidecypherError):
        return f"{error.message}. {error.hint}".strip()
    if isinstance(error, SyntaxError):
        return f"syntax error in line {error.lineno}: {error.msg}"
    try:
        text = f"{type(error).__name__} at import: {error}"
    except Exception:  # noqa: BLE001 - an author's `__str__` may raise anything
        text = f"{type(error).__name__} at import"
    return text.splitlines()[0][:_REASON_LENGTH]
