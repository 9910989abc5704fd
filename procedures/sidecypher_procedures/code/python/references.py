"""What the functions, classes and modules of a Python program use without calling it.

A name is resolved as its scope sees it, an attribute by what may have it: an object's or a class's
by the class that defines it, a module's by the module.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from sidecypher_procedures.code.python.expressions import AttributeUse, Work
from sidecypher_procedures.code.python.pyrefly import Place
from sidecypher_procedures.code.python.scopes import Imported, Scope
from sidecypher_procedures.code.python.values import Class, Definition, Instance, Module, Value

_LONGEST_CHAIN: Final = 20
"""How many modules hand a name on: some import it from each other."""


@dataclass(frozen=True, slots=True)
class NameUse:
    """Where a name is read or called first.

    Attributes:
        source: The function, class or module that the place is in.
        targets: What the name is defined to be.
    """

    source: Definition
    line: int
    column: int
    targets: Collection[Definition]
    is_called: bool


class References:
    """Finds what names and attributes are defined to be, once all modules are read."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._modules = work.modules
        self._functions = work.semantics.functions
        self._of_classes = {scope.of: scope.definitions for scope in work.scopes if scope.of}

    def names(self) -> Iterator[NameUse]:
        """Yield the uses of names that are defined in the program."""
        for scope in self._work.scopes:
            for is_called, uses in ((False, scope.uses), (True, scope.called)):
                for name, place in uses.items():
                    targets = self._seen_in(scope, name)
                    if targets:
                        yield NameUse(scope.definition, *place, targets, is_called)

    def attributes(self) -> Iterator[tuple[AttributeUse, Collection[Definition]]]:
        """Yield the uses of attributes, with what they are defined to be by the flow of values."""
        for use in self._work.attributes:
            found: dict[Definition, None] = {}
            for value in use.base.values:
                found |= dict.fromkeys(self._attribute(value, use))
            yield use, found

    def function(self, place: Place) -> Definition | None:
        """Return the function of the program that has its name at a place."""
        found = self._functions.get(place)
        return found.definition if found is not None else None

    def _seen_in(self, scope: Scope, name: str) -> Collection[Definition]:
        """Return what a name is where it is read."""
        where: Scope | None = scope
        while where is not None:
            if name in where.bound:
                return self._bound_in(where, name, 0)
            if where.enclosing is None:
                return self._of_stars(where, name, 0)
            where = where.enclosing
        return ()

    def _bound_in(self, scope: Scope, name: str, depth: int) -> Collection[Definition]:
        found: Collection[Definition] = scope.definitions.get(name, ())
        declared = scope.declared.get(name)
        if not found and isinstance(declared, Imported) and declared.attribute is not None:
            return self._of_module(declared.module, declared.attribute, depth)
        return found

    def _of_module(self, module: str, name: str, depth: int = 0) -> Collection[Definition]:
        known = self._modules.find(module)
        scope = self._modules.scopes.get(known.name) if known is not None else None
        if scope is None or depth > _LONGEST_CHAIN:
            return ()
        if name in scope.bound:
            return self._bound_in(scope, name, depth + 1)
        return self._of_stars(scope, name, depth + 1)

    def _of_stars(self, scope: Scope, name: str, depth: int) -> Collection[Definition]:
        for star in scope.stars:
            found = self._of_module(star, name, depth)
            if found:
                return found
        return ()

    def _attribute(self, value: Value, use: AttributeUse) -> Collection[Definition]:
        match value:
            case Module(module):
                return self._of_module(module, use.name)
            case Instance(of):
                return self._of_class(of, use.name)
            case Class():
                return self._of_class(value, use.name)
            case _:
                return ()

    def _of_class(self, of: Class, name: str) -> Collection[Definition]:
        for each in of.order:
            if name in each.attributes:
                return self._of_classes.get(each, {}).get(name, ())
        return ()
