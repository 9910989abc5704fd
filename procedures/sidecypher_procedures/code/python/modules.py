"""The modules of a Python program by their names, and what they define."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from sidecypher_procedures.code.python.scopes import Scope
from sidecypher_procedures.code.python.values import Module, Variable

_PACKAGE: Final = "__init__"
_STUB: Final = ".pyi"


def module_name(path: str, package: str = "") -> str:
    """Return the dotted name of a file.

    Args:
        path: Its path below the root.
        package: The name of the root if that is a package.

    Example:
        >>> module_name("src/shop/__init__.py"), module_name("shop/cart.py")
        ('src.shop', 'shop.cart')
        >>> module_name("__init__.py", "shop"), module_name("cart.py", "shop")
        ('shop', 'shop.cart')
    """
    parts = PurePosixPath(package, path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == _PACKAGE and len(parts) > 1 else parts)


def package_of(root: str, paths: Container[str]) -> str:
    """Return the name by which files import a root that is a package itself; "" for other roots.

    Args:
        root: The name of the root's folder.
        paths: The files below the root.

    Example:
        >>> package_of("shop", {"__init__.py", "cart.py"}), package_of("src", {"shop/cart.py"})
        ('shop', '')
    """
    return root if f"{_PACKAGE}.py" in paths and root.isidentifier() else ""


@dataclass
class Modules:
    """All modules of a program.

    A module has the name that its path gives it, and a shorter one if a folder that is no package,
    such as ``src``, is what the program imports from.

    Attributes:
        paths: The files by the names of their modules.
        names: The names of the modules by their files.
        scopes: What each module defines.
    """

    paths: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    scopes: dict[str, Scope] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)
    _packages: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, paths: Iterable[str], package: str = "") -> "Modules":
        """Name the modules of files.

        Args:
            paths: Their paths below the root.
            package: The name of the root if that is a package.
        """
        modules = cls()
        ordered = sorted(paths)
        packages = {
            str(PurePosixPath(package, path).parent)
            for path in ordered
            if path.endswith("__init__.py")
        }
        for path in ordered:
            name = module_name(path, package)
            modules.names[path] = name
            # `cart.py` comes before its stub `cart.pyi`, which does not run.
            if not (path.endswith(_STUB) and name in modules.paths):
                modules.paths[name] = path
            whole = PurePosixPath(package, path)
            top = whole.parent
            while str(top) in packages and str(top) != ".":
                top = top.parent
            short = module_name(str(whole.relative_to(top)))
            for known in (name, short):
                modules._known.setdefault(known, name)
                parts = known.split(".")
                modules._packages |= {".".join(parts[:end]) for end in range(1, len(parts))}
        return modules

    def is_stub(self, path: str) -> bool:
        """Return whether a file only repeats what another file of its module defines."""
        return path.endswith(_STUB) and self.paths[self.names[path]] != path

    def find(self, name: str) -> Module | None:
        """Return the module or the folder of modules that an import names."""
        if name in self._known:
            return Module(self._known[name])
        return Module(name) if name in self._packages else None

    def is_package(self, name: str) -> bool:
        """Return whether a module is a package, whose relative imports start at itself."""
        return PurePosixPath(self.paths[name]).stem == _PACKAGE

    def submodule(self, name: str, attribute: str) -> Module | None:
        """Return the module in a package."""
        return self.find(f"{name}.{attribute}")

    def attribute(self, name: str, attribute: str) -> list[Variable]:
        """Return where a module keeps an attribute, its own or one that a star imports."""
        return self._attribute(name, attribute, frozenset())

    def _attribute(self, name: str, attribute: str, seen: frozenset[str]) -> list[Variable]:
        scope = self.scopes.get(name)
        if scope is None or name in seen:
            return []
        if attribute in scope.bound:
            return [scope.names[attribute]]
        found: list[Variable] = []
        for star in scope.stars:
            found += self._attribute(star, attribute, seen | {name})
        return found


def absolute_name(importer: str, *, is_package: bool, level: int, module: str) -> str:
    """Return the absolute name of an imported module.

    Args:
        importer: The module that imports.
        is_package: Whether it is a package, whose relative imports start at itself.
        level: How many dots the import begins with.
        module: What follows them.

    Example:
        >>> absolute_name("shop.cart", is_package=False, level=1, module="prices")
        'shop.prices'
    """
    if not level:
        return module
    package = importer.split(".")
    up = level - is_package
    return ".".join([*(package[: len(package) - up] if up else package), *filter(None, [module])])
