"""Sources of modules: installed packages and an author's own folders.

A source is imported again as a whole, because its modules import each other.
"""

import hashlib
import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Final, Protocol

from sidecypher.errors import SidecypherError
from sidecypher.loading._files import Stamp, decorated_in, stamp_of

ENTRY_POINT_GROUP: Final = "sidecypher.procedures"

OWN_PACKAGE: Final = "sidecypher"
_loads: Final = itertools.count(1)

_NO_INIT: Final = "is not offered: its folder has no `__init__.py`. Put an empty one there"

Unreached = tuple[str, list[tuple[str, str]]]
"""A file, and the names that it decorates, each with the reason why it is not offered."""


class Source(Protocol):
    """A folder or an installed package.

    Attributes:
        name: Unique name of the source.
    """

    name: str

    def stamp(self) -> Stamp:
        """Return the stamp of its files."""

    def modules(self) -> list[ModuleType]:
        """Return its modules that are imported now."""

    def forget(self, kept: Iterable[ModuleType]) -> None:
        """Prepare a new import next to the current one; `kept` modules are still in service."""

    def imports(self) -> Iterator[tuple[str, Callable[[], ModuleType]]]:
        """Yield the name of each of its modules, with a function that imports it."""

    def unreached(self) -> Iterator[Unreached]:
        """Yield each file that decorates something but is not imported."""

    def restore(self, modules: Iterable[ModuleType]) -> None:
        """Restore modules whose successors could not be imported."""


def find_sources(folders: Iterable[Path]) -> Iterator[Source]:
    """Yield the installed packages by name, then the folders."""
    packages: dict[str, list[EntryPoint]] = {}
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: point.name):
        packages.setdefault(_package_of(point.module), []).append(point)
    for name, points in packages.items():
        yield Package(name, points)
    for folder in folders:
        yield Folder(folder)


class Package:
    """An installed package, with all its entry points."""

    def __init__(self, name: str, points: list[EntryPoint]) -> None:
        self.name = name
        self._points = points

    def stamp(self) -> Stamp:
        """Return the stamp of its files; those of sidecypher itself never change."""
        spec = _find_spec(self.name)
        if self.name == OWN_PACKAGE or spec is None or spec.origin is None:
            return {}
        return stamp_of(Path((spec.submodule_search_locations or [spec.origin])[0]))

    def modules(self) -> list[ModuleType]:
        """Return its modules that are imported now."""
        return modules_of(self.name)

    def forget(self, kept: Iterable[ModuleType]) -> None:  # noqa: ARG002 - they left `sys.modules`
        """Prepare a new import."""
        if self.name != OWN_PACKAGE:
            for module in self.modules():
                del sys.modules[module.__name__]

    def imports(self) -> Iterator[tuple[str, Callable[[], ModuleType]]]:
        """Yield each entry point."""
        for point in self._points:
            yield point.name, point.load

    def unreached(self) -> Iterator[Unreached]:
        """Yield nothing: entry points select the modules."""
        return iter(())

    def restore(self, modules: Iterable[ModuleType]) -> None:
        """Restore those that nothing has replaced."""
        for module in modules:
            sys.modules.setdefault(module.__name__, module)


class Folder:
    """A folder of an author's own modules: each `*.py` file and package in it."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        # A unique package name per folder, so that a user's `json.py` shadows nothing.
        digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
        self._family = f"sidecypher_folder_{digest}_"
        # And per load: running code may still import from its own generation, and an import that
        # hangs holds Python's lock of that name forever.
        self._package = f"{self._family}{next(_loads)}"

    def stamp(self) -> Stamp:
        """Return the stamp of its files."""
        return stamp_of(self._path)

    def modules(self) -> list[ModuleType]:
        """Return its modules that are imported now."""
        return modules_of(self._package)

    def forget(self, kept: Iterable[ModuleType]) -> None:
        """Drop earlier generations, except those with `kept` modules."""
        alive = {module.__name__.partition(".")[0] for module in kept}
        for name in [name for name in sys.modules if name.startswith(self._family)]:
            if name.partition(".")[0] not in alive:
                del sys.modules[name]

    def imports(self) -> Iterator[tuple[str, Callable[[], ModuleType]]]:
        """Yield each file and package that is not private, and the modules of packages."""
        if not self._path.is_dir():
            yield self._path.name, partial(_raise, "there is no such folder")
            return
        parent = ModuleType(self._package)
        parent.__path__ = [str(self._path)]
        sys.modules[self._package] = parent
        yield from self._imports_in(self._path, self._package)

    def _imports_in(
        self, folder: Path, package: str
    ) -> Iterator[tuple[str, Callable[[], ModuleType]]]:
        for path in _public(folder):
            is_package = (path / "__init__.py").is_file()
            if not (is_package or path.suffix == ".py"):
                continue
            name = f"{package}.{path.stem}"
            imported: list[ModuleType] = []
            shown = str(path.relative_to(self._path))
            if not is_package and (problem := _hidden(path)):
                yield shown, partial(_raise, problem)
                continue
            yield shown, _importer(name, imported)
            if is_package and imported:
                yield from self._imports_in(path, name)

    def unreached(self) -> Iterator[Unreached]:
        """Yield each file below a folder without `__init__.py` that decorates something."""
        if self._path.is_dir():
            yield from self._unreached_in(self._path)

    def _unreached_in(self, folder: Path) -> Iterator[Unreached]:
        for path in _public(folder):
            if (path / "__init__.py").is_file():
                yield from self._unreached_in(path)
            elif path.is_dir():
                for file in sorted(path.rglob("*.py")):
                    if decorated := decorated_in(file):
                        reasons = [
                            (name, f"({file.name}:{line}) {_NO_INIT}") for name, line in decorated
                        ]
                        yield str(file.relative_to(self._path)), reasons

    def restore(self, modules: Iterable[ModuleType]) -> None:
        """Do nothing: each generation has its own names."""


def modules_of(package: str) -> list[ModuleType]:
    """Return the modules of a package that are imported now."""
    prefix = package + "."
    return [
        module
        for name, module in sorted(sys.modules.items())
        if (name == package or name.startswith(prefix)) and isinstance(module, ModuleType)
    ]


def _raise(problem: str) -> ModuleType:
    raise SidecypherError(problem)


def _hidden(file: Path) -> str:
    """Return why Python cannot import a file by its name, or `""`."""
    if "." in file.stem:
        return "its name has a dot, which Python reads as a package. Rename it"
    if (file.with_suffix("") / "__init__.py").is_file():
        return f"the package `{file.stem}` next to it has its name. Rename one of them"
    return ""


def _public(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith(("_", "."))]


def _importer(name: str, imported: list[ModuleType]) -> Callable[[], ModuleType]:
    def import_module() -> ModuleType:
        module = importlib.import_module(name)
        imported.append(module)
        return module

    return import_module


def _package_of(module: str) -> str:
    """Return a module's outermost package that is not a namespace package."""
    parts = module.split(".")
    for count in range(1, len(parts)):
        name = ".".join(parts[:count])
        spec = _find_spec(name)
        if spec is None or spec.origin is not None:
            return name
    return module


def _find_spec(name: str) -> "importlib.machinery.ModuleSpec | None":
    try:
        return importlib.util.find_spec(name)
    # This imports the parent packages, which may raise anything.
    except Exception:  # noqa: BLE001
        return None
