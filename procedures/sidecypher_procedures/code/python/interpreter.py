"""From the syntax of Python files to the functions that calls reach."""

import ast
from collections.abc import Iterator
from typing import Final

from sidecypher_procedures.code.python.expressions import Work
from sidecypher_procedures.code.python.modules import Modules
from sidecypher_procedures.code.python.pyrefly import Report
from sidecypher_procedures.code.python.references import References
from sidecypher_procedures.code.python.scopes import Imported, Scope
from sidecypher_procedures.code.python.semantics import BUILTINS, Calls
from sidecypher_procedures.code.python.statements import Reader
from sidecypher_procedures.code.python.values import Builtin, Class, Definition, Module

_LONGEST_CHAIN: Final = 20
"""How many names that stand for each other are followed: some stand for themselves."""


class Interpreter:
    """Reads modules, one after the other; `solve` then finds the calls."""

    def __init__(self, modules: Modules) -> None:
        self._work = Work(modules)
        self._modules = modules

    def read(self, name: str, tree: ast.Module) -> None:
        """Read a module."""
        path = self._modules.paths[name]
        scope = Scope("module", Definition(path, 0, 0, name), name, self._work.variables())
        self._modules.scopes[name] = scope
        self._work.scopes.append(scope)
        Reader(self._work, scope).statements(tree.body)
        while self._work.bodies:
            inner, body = self._work.bodies.pop()
            self._work.scopes.append(inner)
            Reader(self._work, inner).statements(body)

    def solve(self) -> Calls:
        """Let everything flow; return what calls reach."""
        semantics = self._work.semantics
        for made in semantics.classes.values():
            named = (self._static(scope, base) for scope, base in made.named_bases)
            made.bases = [found for found in named if isinstance(found, Class)]
        for scope in reversed(self._work.scopes):
            self._close(scope)
        semantics.queue.run()
        return semantics.flow

    def add_types(self, report: Report) -> Calls:
        """Let what a type checker knows flow, too; return what calls reach by that alone."""
        semantics = self._work.semantics
        semantics.call_known(report)
        semantics.queue.run()
        return semantics.typed

    @property
    def is_cut(self) -> bool:
        """Whether some values did not flow to their end, since the program has too many."""
        return self._work.semantics.queue.is_cut

    @property
    def references(self) -> References:
        """What is used without being called, once solved."""
        return References(self._work)

    def definitions(self) -> Iterator[tuple[Definition, list[Definition]]]:
        """Yield each class with its bases in the program, once solved."""
        for made in self._work.semantics.classes.values():
            yield made.definition, [base.definition for base in made.bases]

    def _close(self, scope: Scope) -> None:
        """Let names that are not bound in a scope come from outside of it."""
        for name in [*scope.names]:
            if name in scope.bound:
                continue
            if scope.enclosing is not None:
                scope.enclosing.names[name].flow_to(scope.names[name])
            else:
                self._close_module(scope, name)

    def _close_module(self, scope: Scope, name: str) -> None:
        found = [each for star in scope.stars for each in self._modules.attribute(star, name)]
        for variable in found:
            variable.flow_to(scope.names[name])
        if not found and name in BUILTINS:
            scope.names[name].add(Builtin(name))

    def _static(
        self, scope: Scope, node: ast.expr | Imported, depth: int = 0
    ) -> Class | Module | None:
        """Return the class or the module that an expression names for certain."""
        if depth > _LONGEST_CHAIN:
            return None
        match node:
            case Imported(module, None):
                return self._modules.find(module)
            case Imported(module, str(attribute)):
                return self._static_attribute(module, attribute, depth)
            case ast.Name(id=name):
                return self._static_name(scope, name, depth)
            case ast.Attribute(value=value, attr=attribute):
                base = self._static(scope, value, depth + 1)
                if isinstance(base, Module):
                    return self._static_attribute(base.name, attribute, depth)
                return None
            case ast.Subscript(value=value):
                # Of a generic class.
                return self._static(scope, value, depth + 1)
            case _:
                return None

    def _static_name(self, scope: Scope, name: str, depth: int) -> Class | Module | None:
        where: Scope | None = scope
        while where is not None:
            found = where.declared.get(name)
            if isinstance(found, Class):
                return found
            if found is not None:
                return self._static(where, found, depth + 1)
            for star in where.stars:
                of_star = self._static_attribute(star, name, depth)
                if of_star is not None:
                    return of_star
            where = where.enclosing
        return None

    def _static_attribute(self, module: str, attribute: str, depth: int) -> Class | Module | None:
        base = self._modules.find(module)
        scope = self._modules.scopes.get(base.name) if base is not None else None
        found = self._static(scope, ast.Name(attribute), depth + 1) if scope is not None else None
        return found or self._modules.submodule(module, attribute)
