"""What the expressions of a scope may be."""

import ast
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NamedTuple

from sidecypher_procedures.code.python import containers
from sidecypher_procedures.code.python.modules import Modules
from sidecypher_procedures.code.python.pyrefly import Place
from sidecypher_procedures.code.python.scopes import Scope
from sidecypher_procedures.code.python.semantics import Semantics, Site
from sidecypher_procedures.code.python.values import (
    Arguments,
    Container,
    Definition,
    Function,
    Instance,
    Literal,
    Parameters,
    Span,
    Super,
    Value,
    Variable,
    Variables,
)


class Nothing(Variable):
    """A variable that never holds anything of use."""

    def __init__(self) -> None:
        self.values = {}

    def add(self, value: Value) -> None:
        """Ignore it."""

    def each(self, read: Callable[[Value], None]) -> None:
        """Read nothing."""


NOTHING: Final = Nothing()


class AttributeUse(NamedTuple):
    """Where an attribute is read.

    Attributes:
        source: The function, class or module that the place is in.
        span: The whole expression.
        base: What may have the attribute.
        is_called: Whether what is read is called.
    """

    source: Definition
    span: Span
    base: Variable
    name: str
    is_called: bool


class Work:
    """What the readers of all scopes share.

    Attributes:
        bodies: The functions whose bodies are still to be read, once what is around them is.
        scopes: All scopes, those around others first.
        attributes: Where attributes are read.
    """

    def __init__(self, modules: Modules) -> None:
        self.modules: Final = modules
        self.semantics: Final = Semantics(modules)
        self.bodies: Final[list[tuple[Scope, list[ast.stmt]]]] = []
        self.scopes: Final[list[Scope]] = []
        self.attributes: Final[list[AttributeUse]] = []

    def variables(self) -> Variables:
        """Return new variables by name."""
        return Variables(self.semantics.queue)


class ExpressionReader(ast.NodeVisitor):
    """Reads expressions: each `visit_` method returns what its expression may be."""

    def __init__(self, work: Work, scope: Scope) -> None:
        self.work: Final = work
        self.scope: Final = scope
        self.semantics: Final = work.semantics

    def value(self, node: ast.expr) -> Variable:
        """Return what an expression may be."""
        found: Variable = self.visit(node)
        return found

    def generic_visit(self, node: ast.AST) -> Variable:
        """Read the parts of an expression that itself holds nothing of use."""
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                self.visit(part)
        return NOTHING

    def site(self, node: Any) -> Site:
        """Return the place of a node."""
        return Site(self.scope.definition, _span(node))

    def holding(self, value: Value) -> Variable:
        """Return a new variable with a value."""
        holder = self.semantics.variable()
        holder.add(value)
        return holder

    def visit_Name(self, node: ast.Name) -> Variable:
        """Read a name, bound here or outside."""
        self.scope.uses.setdefault(node.id, (node.lineno, node.col_offset))
        return self.scope.names[node.id]

    def visit_Constant(self, node: ast.Constant) -> Variable:
        """Keep texts and numbers, which may be keys."""
        if isinstance(node.value, str | int):
            return self.holding(Literal(node.value))
        return NOTHING

    def visit_Attribute(self, node: ast.Attribute) -> Variable:
        """Read an attribute."""
        return self._attribute(node, is_called=False)

    def _attribute(self, node: ast.Attribute, *, is_called: bool) -> Variable:
        base = self.value(node.value)
        if base is not NOTHING:
            self.work.attributes.append(
                AttributeUse(self.scope.definition, _span(node), base, node.attr, is_called)
            )
        return self.semantics.attribute(base, node.attr)

    def visit_Call(self, node: ast.Call) -> Variable:
        """Call something."""
        arguments = self._arguments(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return self._super()
        return self.semantics.call(self.site(node), self._callee(node.func), arguments)

    def _callee(self, node: ast.expr) -> Variable:
        """Return what a called expression may be."""
        match node:
            case ast.Name(id=name):
                self.scope.called.setdefault(name, (node.lineno, node.col_offset))
                return self.scope.names[name]
            case ast.Attribute():
                return self._attribute(node, is_called=True)
            case _:
                return self.value(node)

    def _super(self) -> Variable:
        """Return the object of the method around, as the bases of its class see it."""
        result = self.semantics.variable()
        inner, scope = self.scope, self.scope.parent
        while scope is not None and scope.of is None:
            inner, scope = scope, scope.parent
        if scope is not None and scope.of is not None and inner.function is not None:
            of = scope.of
            for first in inner.function.parameters.positional[:1]:
                first.each(lambda receiver: result.add(Super(of, receiver)))
        return result

    def _arguments(self, node: ast.Call) -> Arguments:
        arguments = Arguments()
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                arguments.rest.append(self.value(argument.value))
            elif arguments.rest:
                # Its place depends on how many the starred one holds.
                self.value(argument)
            else:
                arguments.positional.append(self.value(argument))
        for keyword in node.keywords:
            if keyword.arg is None:
                arguments.options.append(self.value(keyword.value))
            else:
                arguments.named[keyword.arg] = self.value(keyword.value)
        return arguments

    def visit_Lambda(self, node: ast.Lambda) -> Variable:
        """Define a function without a name."""
        self.scope.lambdas += 1
        body = ast.copy_location(ast.Return(node.body), node.body)
        return self.holding(self.function(node, f"<lambda{self.scope.lambdas}>", [body]))

    def function(self, node: Any, name: str, body: list[ast.stmt]) -> Function:
        """Define a function, and read its body later."""
        definition = self.define(node, name)
        scope = Scope("function", definition, self.scope.module, self.work.variables(), self.scope)
        scope.function = Function(
            definition,
            self._parameters(node.args, scope),
            self.semantics.variable(),
            self.semantics.variable(),
        )
        self._read_annotations(node, scope)
        self.semantics.functions[Place(definition.path, definition.line, name)] = scope.function
        self.work.bodies.append((scope, body))
        return scope.function

    def _read_annotations(self, node: Any, scope: Scope) -> None:
        """Read the types of parameters and results as a part of their function."""
        args = node.args
        given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        types = [each.annotation for each in given if each is not None]
        reader = type(self)(self.work, scope)
        for annotation in [*types, getattr(node, "returns", None)]:
            if annotation is not None:
                reader.value(annotation)

    def define(self, node: Any, name: str) -> Definition:
        """Return the definition at a node."""
        around = self.scope.definition
        return Definition(around.path, node.lineno, node.col_offset, f"{around.name}.{name}")

    def _parameters(self, args: ast.arguments, scope: Scope) -> Parameters:
        parameters = Parameters()
        positional = [*args.posonlyargs, *args.args]
        for arg in [*positional, *args.kwonlyargs]:
            parameters.named[arg.arg] = scope.bind(arg.arg)
        parameters.positional += [parameters.named[arg.arg] for arg in positional]
        defaulted = positional[len(positional) - len(args.defaults) :]
        defaults = [
            *zip(defaulted, args.defaults, strict=True),
            *zip(args.kwonlyargs, args.kw_defaults, strict=True),
        ]
        for arg, default in defaults:
            if default is not None:
                self.value(default).flow_to(parameters.named[arg.arg])
        if args.vararg is not None:
            parameters.rest = self.semantics.container()
            scope.bind(args.vararg.arg).add(parameters.rest)
        if args.kwarg is not None:
            parameters.options = self.semantics.container(is_dict=True)
            scope.bind(args.kwarg.arg).add(parameters.options)
        return parameters

    def _either(self, nodes: Iterable[ast.expr]) -> Variable:
        result = self.semantics.variable()
        for node in nodes:
            self.value(node).flow_to(result)
        return result

    def visit_IfExp(self, node: ast.IfExp) -> Variable:
        """Read a conditional expression, which may be either of two."""
        self.value(node.test)
        return self._either([node.body, node.orelse])

    def visit_BoolOp(self, node: ast.BoolOp) -> Variable:
        """Read `and` and `or`, which give one of their parts."""
        return self._either(node.values)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Variable:
        """Assign within an expression."""
        source = self.value(node.value)
        self.assign(node.target, source)
        return source

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Variable:
        made = self.semantics.container()
        for place, element in enumerate(node.elts):
            if isinstance(element, ast.Starred):
                source = self.value(element.value)
                self.semantics.iterate(self.site(element), source).flow_to(made.other)
            elif (source := self.value(element)) is not NOTHING:
                source.flow_to(made.item(place))
        return self.holding(made)

    visit_List = visit_Tuple = visit_Set = _sequence

    def visit_Dict(self, node: ast.Dict) -> Variable:
        """Make a dict."""
        made = self.semantics.container(is_dict=True)
        holder = self.holding(made)
        for key, element in zip(node.keys, node.values, strict=True):
            source = self.value(element)
            if key is None:
                source.each(partial(containers.update, made))
            else:
                self.semantics.store_item(self.site(node), holder, self.value(key), source)
        return holder

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Variable:
        self._loops(node.generators)
        made = self.semantics.container()
        self.value(node.elt).flow_to(made.other)
        return self.holding(made)

    visit_ListComp = visit_SetComp = visit_GeneratorExp = _comprehension

    def visit_DictComp(self, node: ast.DictComp) -> Variable:
        """Make a dict in a loop."""
        self._loops(node.generators)
        made = self.semantics.container(is_dict=True)
        self.value(node.key).flow_to(made.keys)
        self.value(node.value).flow_to(made.other)
        return self.holding(made)

    def _loops(self, generators: list[ast.comprehension]) -> None:
        for each in generators:
            self.assign(each.target, self.iterated(each.iter))
            for test in each.ifs:
                self.value(test)

    def iterated(self, node: ast.expr) -> Variable:
        """Return what a loop over an expression meets."""
        return self.semantics.iterate(self.site(node), self.value(node))

    def visit_Subscript(self, node: ast.Subscript) -> Variable:
        """Read an item; a slice of a container has the same items."""
        base, key = self.value(node.value), self.value(node.slice)
        if isinstance(node.slice, ast.Slice):
            return base
        return self.semantics.item(self.site(node), base, key)

    def _inner(self, node: ast.Await | ast.Starred) -> Variable:
        return self.value(node.value)

    visit_Await = visit_Starred = _inner

    def visit_Yield(self, node: ast.Yield) -> Variable:
        """Yield a value."""
        if self.scope.function is not None:
            self.scope.function.is_generator = True
            if node.value is not None:
                self.value(node.value).flow_to(self.scope.function.yielded)
        return NOTHING

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Variable:
        """Yield what another generator yields."""
        source = self.semantics.iterate(self.site(node), self.value(node.value))
        if self.scope.function is not None:
            self.scope.function.is_generator = True
            source.flow_to(self.scope.function.yielded)
        return NOTHING

    # Targets

    def assign(self, target: ast.expr, source: Variable) -> None:
        """Let what an assignment gives flow to its target."""
        match target:
            case ast.Name(id=name):
                if self.scope.kind == "module" and name not in self.scope.definitions:
                    self.scope.note(name, self.define(target, name))
                source.flow_to(self.scope.bind(name))
            case ast.Attribute(value=value, attr=name):
                self.semantics.store_attribute(self.value(value), name, source)
            case ast.Subscript(value=value, slice=key):
                base = self.value(value)
                self.semantics.store_item(self.site(target), base, self.value(key), source)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                self._unpack(elements, source, self.site(target))
            case ast.Starred(value=value):
                self.assign(value, source)
            case _:
                pass

    def _unpack(self, targets: list[ast.expr], source: Variable, site: Site) -> None:
        items = [self.semantics.variable() for _ in targets]
        starred = next(
            (place for place, each in enumerate(targets) if isinstance(each, ast.Starred)),
            len(targets),
        )

        def unpack(value: Value) -> None:
            if isinstance(value, Container) and not value.is_dict:
                self._unpack_container(value, items, starred)
            else:
                for item in items:
                    self.semantics.iterate_value(site, value, item)

        source.each(unpack)
        for target, item in zip(targets, items, strict=True):
            self.assign(target, item)

    def _unpack_container(self, value: Container, items: list[Variable], starred: int) -> None:
        for place, item in enumerate(items):
            if place < starred:
                value.item(place).flow_to(item)
                value.other.flow_to(item)
            elif place == starred:
                rest = self.semantics.container()
                value.every.flow_to(rest.other)
                item.add(rest)
            else:
                value.every.flow_to(item)


def _span(node: Any) -> Span:
    return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def receiver_of(node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> Value | None:
    """Return what a function of a class gets as its first argument; None for other functions."""
    if scope.of is None or not (node.args.posonlyargs or node.args.args):
        return None
    decorators = {each.id for each in node.decorator_list if isinstance(each, ast.Name)}
    if "staticmethod" in decorators:
        return None
    of_class = "classmethod" in decorators or node.name in {"__new__", "__init_subclass__"}
    return scope.of if of_class else Instance(scope.of)
