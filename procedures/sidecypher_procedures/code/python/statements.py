"""What the statements of a scope do."""

import ast
from collections.abc import Iterable
from functools import partial
from typing import Final

from sidecypher_procedures.code.python.expressions import ExpressionReader, receiver_of
from sidecypher_procedures.code.python.modules import absolute_name
from sidecypher_procedures.code.python.pyrefly import Place
from sidecypher_procedures.code.python.scopes import Imported, Scope
from sidecypher_procedures.code.python.semantics import Site
from sidecypher_procedures.code.python.values import Arguments, Builtin, Class, Value, Variable

_LIBRARIES: Final = frozenset({"functools", "itertools", "builtins"})
_READ: Final = (ast.expr, ast.stmt, ast.ExceptHandler, ast.match_case, ast.pattern)
"""What is read of a statement."""

_KINDS: Final = {
    "staticmethod": "staticmethod",
    "classmethod": "classmethod",
    "property": "property",
    "cached_property": "property",
}


class Reader(ExpressionReader):
    """Reads the statements of one scope."""

    def statements(self, body: Iterable[ast.stmt]) -> None:
        """Read statements one by one."""
        for statement in body:
            self.visit(statement)

    def generic_visit(self, node: ast.AST) -> Variable:
        """Read all parts of a statement that needs nothing else, such as `if`."""
        for part in ast.iter_child_nodes(node):
            if isinstance(part, _READ):
                self.visit(part)
        return super().generic_visit(ast.Pass())

    def visit_Return(self, node: ast.Return) -> None:
        """Return a value."""
        if node.value is not None and self.scope.function is not None:
            self.value(node.value).flow_to(self.scope.function.result)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Assign to each target."""
        source = self.value(node.value)
        for target in node.targets:
            self.assign(target, source)
            if isinstance(target, ast.Name) and isinstance(node.value, ast.Name | ast.Attribute):
                self.scope.declared.setdefault(target.id, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Assign to an annotated target, or declare it."""
        self.value(node.annotation)
        if node.value is not None:
            self.assign(node.target, self.value(node.value))
        elif isinstance(node.target, ast.Name):
            self.scope.bind(node.target.id)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Add to a target."""
        self.assign(node.target, self.value(node.value))

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self.assign(node.target, self.iterated(node.iter))
        self.statements([*node.body, *node.orelse])

    visit_For = visit_AsyncFor = _for

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        prefix = "__a" if isinstance(node, ast.AsyncWith) else "__"
        for item in node.items:
            site = self.site(item.context_expr)
            manager = self.value(item.context_expr)
            entered = self.semantics.call_method(site, manager, f"{prefix}enter__")
            self.semantics.call_method(site, manager, f"{prefix}exit__")
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered)
                # A generator that contextlib makes a manager of gives what it yields.
                self.assign(item.optional_vars, self.semantics.iterate(site, manager))
        self.statements(node.body)

    visit_With = visit_AsyncWith = _with

    def visit_Raise(self, node: ast.Raise) -> None:
        """Raise an exception; of a class, an instance is made."""
        if node.exc is not None:
            raised = self.value(node.exc)
            if not isinstance(node.exc, ast.Call):
                raised.each(partial(self._raise, self.site(node.exc)))
        if node.cause is not None:
            self.value(node.cause)

    def _raise(self, site: Site, value: Value) -> None:
        if isinstance(value, Class):
            self.semantics.call(site, self.holding(value), Arguments())

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        """Bind the name of an exception."""
        if node.type is not None:
            self.value(node.type)
        if node.name is not None:
            self.scope.bind(node.name)
        self.statements(node.body)

    def visit_Global(self, node: ast.Global) -> None:
        """Let names be those of the module."""
        module = self.work.modules.scopes[self.scope.module]
        for name in node.names:
            self.scope.names.named[name] = module.bind(name)
            self.scope.definitions[name] = module.definitions.setdefault(name, [])
            self.scope.bound.add(name)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        """Let names be those of a function around."""
        for name in node.names:
            enclosing = self.scope.enclosing
            while enclosing is not None and name not in enclosing.bound:
                enclosing = enclosing.enclosing
            if enclosing is not None:
                self.scope.names.named[name] = enclosing.names[name]
                self.scope.bound.add(name)

    # Imports

    def visit_Import(self, node: ast.Import) -> None:
        """Bind modules, or the packages they are in."""
        for alias in node.names:
            package = alias.name.partition(".")[0]
            name, module = (alias.asname, alias.name) if alias.asname else (package, package)
            variable = self.scope.bind(name)
            self.scope.declared.setdefault(name, Imported(module))
            found = self.work.modules.find(module)
            if found is not None:
                variable.add(found)
            elif module in _LIBRARIES:
                variable.add(Builtin(module))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Bind what a module defines."""
        module = self._absolute(node)
        found = self.work.modules.find(module)
        for alias in node.names:
            if alias.name == "*":
                if found is not None:
                    self.work.modules.scopes[self.scope.module].stars.append(found.name)
                continue
            name = alias.asname or alias.name
            variable = self.scope.bind(name)
            self.scope.declared.setdefault(name, Imported(module, alias.name))
            if found is not None:
                self.semantics.attribute(self.holding(found), alias.name).flow_to(variable)
            elif module in _LIBRARIES:
                variable.add(Builtin(f"{module}.{alias.name}"))

    def _absolute(self, node: ast.ImportFrom) -> str:
        name = self.scope.module
        return absolute_name(
            name,
            is_package=self.work.modules.is_package(name),
            level=node.level,
            module=node.module or "",
        )

    # Definitions

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.function(node, node.name, node.body)
        names = {_last_name(decorator) for decorator in node.decorator_list}
        if names.isdisjoint({"setter", "deleter"}):
            self.scope.note(node.name, function.definition)
        receiver = receiver_of(node, self.scope)
        if receiver is not None:
            function.parameters.positional[0].add(receiver)
        if self.scope.of is not None and node.name == "__new__":
            function.kind = "staticmethod"
        result = self.holding(function)
        for decorator in reversed(node.decorator_list):
            kind = _KINDS.get(_last_name(decorator))
            if kind is not None:
                function.kind = kind
            else:
                result = self._decorate(decorator, result)
        result.flow_to(self.scope.bind(node.name))

    visit_FunctionDef = visit_AsyncFunctionDef = _define

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Define a class, and read its body at once, as Python does."""
        definition = self.define(node, node.name)
        self.scope.note(node.name, definition)
        made = Class(definition, self.work.variables(), self.work.variables())
        self.semantics.classes[Place(definition.path, definition.line, node.name)] = made
        for keyword in node.keywords:
            self.value(keyword.value)
        for base in node.bases:
            self._read_base(base)
        made.named_bases = [(self.scope, base) for base in node.bases]
        self.scope.declared[node.name] = made
        scope = Scope("class", definition, self.scope.module, made.attributes, self.scope, of=made)
        self.work.scopes.append(scope)
        Reader(self.work, scope).statements(node.body)
        result = self.holding(made)
        for decorator in reversed(node.decorator_list):
            result = self._decorate(decorator, result)
        result.flow_to(self.scope.bind(node.name))

    def _read_base(self, node: ast.expr) -> None:
        """Read a base; what it names is inherited from, which is more than a use."""
        match node:
            case ast.Name() | ast.Attribute(value=ast.Name()):
                pass
            case ast.Subscript(value=base, slice=arguments):
                self._read_base(base)
                self.value(arguments)
            case _:
                self.value(node)

    def _decorate(self, decorator: ast.expr, decorated: Variable) -> Variable:
        result = self.semantics.call(
            self.site(decorator), self.value(decorator), Arguments([decorated])
        )
        if self._is_external(decorator):
            # Most decorators of libraries give a function that calls the one they get.
            decorated.flow_to(result)
        return result

    def _is_external(self, node: ast.expr) -> bool:
        """Return whether an expression comes from a library."""
        while isinstance(node, ast.Attribute | ast.Call):
            node = node.value if isinstance(node, ast.Attribute) else node.func
        if not isinstance(node, ast.Name):
            return False
        scope: Scope | None = self.scope
        while scope is not None:
            declared = scope.declared.get(node.id)
            if isinstance(declared, Imported):
                return self.work.modules.find(declared.module) is None
            if node.id in scope.bound:
                return False
            scope = scope.enclosing
        return True


def _last_name(node: ast.expr) -> str:
    return getattr(node, "attr", getattr(node, "id", ""))
