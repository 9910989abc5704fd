"""What Python does with values: calls, attributes, items and iteration."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from sidecypher_procedures.code.python import containers
from sidecypher_procedures.code.python.modules import Modules
from sidecypher_procedures.code.python.pyrefly import Place, Report, Target
from sidecypher_procedures.code.python.values import (
    Arguments,
    Bound,
    Builtin,
    Class,
    Container,
    ContainerMethod,
    Definition,
    Function,
    Generator,
    Instance,
    Literal,
    Module,
    Partial,
    Queue,
    Span,
    Super,
    Value,
    Variable,
    Variables,
)


@dataclass(frozen=True, slots=True)
class Site:
    """A place that calls.

    Attributes:
        caller: The function, class or module that the place is in.
        span: The whole call.
    """

    caller: Definition
    span: Span


Calls: TypeAlias = dict[Site, dict[Definition, None]]
"""The definitions that each call reaches, in the order in which they were found."""


@dataclass(eq=False)
class Semantics:
    """What happens to values, and which calls this makes.

    Attributes:
        modules: The modules of the program.
        flow: The functions that each call reaches by the flow of values.
        typed: Those that a type checker knows.
        functions: The functions of the program, by the place of their names.
        classes: The classes of the program, likewise.
    """

    modules: Modules
    queue: Queue = field(default_factory=Queue)
    flow: Calls = field(default_factory=dict)
    typed: Calls = field(default_factory=dict)
    functions: dict[Place, Function] = field(default_factory=dict)
    classes: dict[Place, Class] = field(default_factory=dict)
    _sites: list[tuple[Site, Arguments, Variable]] = field(default_factory=list)
    _partials: set[tuple[Site, Partial]] = field(default_factory=set)

    def variable(self) -> Variable:
        """Return a new variable."""
        return Variable(self.queue)

    def container(self, *, is_dict: bool = False) -> Container:
        """Return a new container."""
        new = Container(
            Variables(self.queue), self.variable(), self.variable(), self.variable(), is_dict
        )
        new.other.flow_to(new.every)
        return new

    # Calls

    def call(self, site: Site, function: Variable, arguments: Arguments) -> Variable:
        """Call whatever a variable holds; return the result."""
        result = self.variable()
        function.each(lambda value: self.call_value(site, value, arguments, result))
        self._sites.append((site, arguments, result))
        return result

    def call_known(self, report: Report) -> None:
        """Make the calls that a type checker knows, once all definitions have been read."""
        sites, self._sites = self._sites, []
        for site, arguments, result in sites:
            for target in report.calls.get((site.caller.path, site.span), ()):
                self._call_target(site, target, arguments, result)

    def _call_target(
        self, site: Site, target: Target, arguments: Arguments, result: Variable
    ) -> None:
        of = self.classes.get(target.receiver) if target.receiver else None
        function = self.functions.get(target.function) if target.function else None
        if of is not None and target.makes:
            result.add(Instance(of))
        if function is not None:
            self.typed.setdefault(site, {})[function.definition] = None
            if target.is_bound:
                arguments = self._with_first(Instance(of) if of else None, arguments)
            self._enter(function, arguments, self.variable() if target.makes else result)
        elif of is not None and not self._in_class(of, "__init__"):
            self.typed.setdefault(site, {})[of.definition] = None

    def call_value(self, site: Site, value: Value, arguments: Arguments, result: Variable) -> None:
        """Call a value."""
        match value:
            case Function():
                self._run(site, value, arguments, result)
            case Bound(function, receiver):
                self._run(site, function, self._with_first(receiver, arguments), result)
            case Class():
                self._construct(site, value, arguments, result)
            case Instance():
                self._call_method_of(site, value, "__call__", arguments, result)
            case Partial(function, first) if (site, value) not in self._partials:
                # A partial function may hold itself.
                self._partials.add((site, value))
                joined = _joined(first, arguments)
                function.each(lambda each: self.call_value(site, each, joined, result))
            case ContainerMethod(of, name):
                containers.call_method(of, name, arguments, result, self.container)
            case Builtin(name) if name in _BUILTIN_CALLS and arguments.positional:
                _BUILTIN_CALLS[name](self, site, arguments, result)
            case _:
                pass

    def _run(self, site: Site, function: Function, arguments: Arguments, result: Variable) -> None:
        self.flow.setdefault(site, {})[function.definition] = None
        self._enter(function, arguments, result)

    def _enter(self, function: Function, arguments: Arguments, result: Variable) -> None:
        """Let arguments flow into a function, and what it returns out of it."""
        _pass_positional(arguments, function)
        _pass_named(arguments, function)
        if function.is_generator:
            result.add(Generator(function))
        else:
            function.result.flow_to(result)

    def _construct(self, site: Site, made: Class, arguments: Arguments, result: Variable) -> None:
        instance = Instance(made)
        result.add(instance)
        if not self._in_class(made, "__init__"):
            self.flow.setdefault(site, {})[made.definition] = None
        self._call_method_of(site, instance, "__init__", arguments, self.variable())
        maker = self._in_class(made, "__new__")
        if maker is not None:
            # A static method that gets the class nevertheless.
            given = self._with_first(made, arguments)
            maker.each(lambda found: self.call_value(site, found, given, result))

    def _with_first(self, value: Value | None, arguments: Arguments) -> Arguments:
        first = self.variable()
        if value is not None:
            first.add(value)
        return Arguments(
            [first, *arguments.positional], arguments.rest, arguments.named, arguments.options
        )

    def call_method(self, site: Site, receiver: Variable, name: str) -> Variable:
        """Call a method without arguments, such as `__enter__`; return the result."""
        result = self.variable()
        receiver.each(lambda value: self._call_method_of(site, value, name, Arguments(), result))
        return result

    def _call_method_of(
        self, site: Site, receiver: Value, name: str, arguments: Arguments, result: Variable
    ) -> None:
        if isinstance(receiver, Instance):
            found = self._in_class(receiver.of, name)
            if found is not None:
                found.each(
                    lambda each: self.call_value(site, _bound(each, receiver), arguments, result)
                )

    # Attributes

    def attribute(self, base: Variable, name: str) -> Variable:
        """Return what an attribute may be."""
        result = self.variable()
        base.each(lambda value: self._attribute(value, name, result))
        return result

    def _attribute(self, value: Value, name: str, result: Variable) -> None:
        match value:
            case Instance(of):
                self._attribute_of(of.order, of.order, name, partial(_get, value, result), result)
            case Class():
                get = partial(_get_of_class, value, result)
                self._attribute_of(value.order, value.order, name, get, result)
            case Super(of, receiver):
                whole = receiver.of.order if isinstance(receiver, Instance) else of.order
                after = whole[whole.index(of) + 1 :] if of in whole else of.order[1:]
                self._attribute_of([], after, name, partial(_get, receiver, result), result)
            case Module(module):
                for found in self.modules.attribute(module, name):
                    found.flow_to(result)
                submodule = self.modules.submodule(module, name)
                if submodule is not None:
                    result.add(submodule)
            case Container():
                result.add(ContainerMethod(value, name))
            case Builtin(library):
                result.add(Builtin(f"{library}.{name}".removeprefix("builtins.")))
            case _:
                pass

    def _attribute_of(
        self,
        assigned: list[Class],
        defined: list[Class],
        name: str,
        get: Callable[[Value], None],
        result: Variable,
    ) -> None:
        """Read what methods have assigned, and what the first class that has the name defines."""
        for each in assigned:
            each.of_instances[name].flow_to(result)
        found = _first(defined, name)
        if found is not None:
            found.each(get)

    def _in_class(self, of: Class, name: str) -> Variable | None:
        return _first(of.order, name)

    def store_attribute(self, base: Variable, name: str, source: Variable) -> None:
        """Assign to an attribute."""

        def store(value: Value) -> None:
            match value:
                case Instance(of):
                    source.flow_to(of.of_instances[name])
                case Class():
                    source.flow_to(value.of_instances[name])
                case Module(module):
                    for found in self.modules.attribute(module, name):
                        source.flow_to(found)
                case _:
                    pass

        base.each(store)

    # Items

    def item(self, site: Site, base: Variable, key: Variable) -> Variable:
        """Return what is under a key."""
        result = self.variable()

        def read(value: Value) -> None:
            if isinstance(value, Container):
                containers.read(value, key, result)
            else:
                self._call_method_of(site, value, "__getitem__", Arguments([key]), result)

        base.each(read)
        return result

    def store_item(self, site: Site, base: Variable, key: Variable, source: Variable) -> None:
        """Assign to what is under a key."""

        def store(value: Value) -> None:
            if isinstance(value, Container):
                containers.store(value, key, source)
            else:
                arguments = Arguments([key, source])
                self._call_method_of(site, value, "__setitem__", arguments, self.variable())

        base.each(store)

    # Iteration

    def iterate(self, site: Site, items: Variable) -> Variable:
        """Return what a loop over something meets."""
        result = self.variable()
        items.each(lambda value: self.iterate_value(site, value, result))
        return result

    def iterate_value(self, site: Site, value: Value, result: Variable) -> None:
        """Let what a loop over a value meets flow into a variable."""
        match value:
            case Container(is_dict=True):
                value.keys.flow_to(result)
            case Container():
                value.every.flow_to(result)
            case Generator(function):
                function.yielded.flow_to(result)
            case Instance():
                iterator = self.variable()
                self._call_method_of(site, value, "__iter__", Arguments(), iterator)
                iterator.each(lambda each: self.next_of(site, each, result))
            case _:
                pass

    def next_of(self, site: Site, iterator: Value, result: Variable) -> None:
        """Let what an iterator gives flow into a variable."""
        if isinstance(iterator, Instance):
            self._call_method_of(site, iterator, "__next__", Arguments(), result)
        else:
            self.iterate_value(site, iterator, result)


def _first(order: list[Class], name: str) -> Variable | None:
    """Return where the first class that defines an attribute keeps it."""
    for each in order:
        if name in each.attributes:
            return each.attributes[name]
    return None


def _get(receiver: Value, result: Variable, found: Value) -> None:
    """Access an attribute of an object's class."""
    if isinstance(found, Function) and found.kind == "property":
        for first in found.parameters.positional[:1]:
            first.add(receiver)
        found.result.flow_to(result)
    else:
        result.add(_bound(found, receiver))


def _get_of_class(of: Class, result: Variable, found: Value) -> None:
    """Access an attribute of a class."""
    if isinstance(found, Function) and found.kind == "classmethod":
        result.add(Bound(found, of))
    else:
        result.add(found)


def _bound(found: Value, receiver: Value) -> Value:
    """Return what an object makes of what its class has."""
    if isinstance(found, Function):
        if found.kind == "method":
            return Bound(found, receiver)
        if found.kind == "classmethod":
            return Bound(found, receiver.of if isinstance(receiver, Instance) else receiver)
    return found


def _pass_positional(arguments: Arguments, function: Function) -> None:
    parameters = function.parameters
    given = len(arguments.positional)
    for place, argument in enumerate(arguments.positional):
        if place < len(parameters.positional):
            argument.flow_to(parameters.positional[place])
        elif parameters.rest is not None:
            argument.flow_to(parameters.rest.item(place - len(parameters.positional)))

    def pass_rest(value: Value) -> None:
        if isinstance(value, Container):
            for place, parameter in enumerate(parameters.positional[given:]):
                value.item(place).flow_to(parameter)
                value.other.flow_to(parameter)
            if parameters.rest is not None:
                value.every.flow_to(parameters.rest.other)

    for rest in arguments.rest:
        rest.each(pass_rest)


def _pass_named(arguments: Arguments, function: Function) -> None:
    parameters = function.parameters
    for name, argument in arguments.named.items():
        if name in parameters.named:
            argument.flow_to(parameters.named[name])
        elif parameters.options is not None:
            argument.flow_to(parameters.options.item(name))

    def pass_options(value: Value) -> None:
        if isinstance(value, Container):
            for name, parameter in parameters.named.items():
                value.item(name).flow_to(parameter)
                value.other.flow_to(parameter)
            if parameters.options is not None:
                containers.update(parameters.options, value)

    for options in arguments.options:
        options.each(pass_options)


def _joined(first: Arguments, second: Arguments) -> Arguments:
    return Arguments(
        [*first.positional, *second.positional],
        [*first.rest, *second.rest],
        {**first.named, **second.named},
        [*first.options, *second.options],
    )


# What functions of Python do with their arguments, of which there is at least one.


def _same(_: Semantics, __: Site, arguments: Arguments, result: Variable) -> None:
    arguments.positional[0].flow_to(result)


def _mapped(semantics: Semantics, site: Site, arguments: Arguments, result: Variable) -> None:
    function, *items = arguments.positional
    each = [semantics.iterate(site, item) for item in items]
    # Some write `map(items, function)`, which is wrong but says what is meant.
    swapped = [semantics.iterate(site, function)]
    made = semantics.container()
    semantics.call(site, function, Arguments(each)).flow_to(made.other)
    for item in items:
        semantics.call(site, item, Arguments(swapped)).flow_to(made.other)
    result.add(made)


def _filtered(semantics: Semantics, site: Site, arguments: Arguments, result: Variable) -> None:
    function, *items = arguments.positional
    made = semantics.container()
    for item in items:
        each = semantics.iterate(site, item)
        semantics.call(site, function, Arguments([each]))
        each.flow_to(made.other)
    result.add(made)


def _ordered(semantics: Semantics, site: Site, arguments: Arguments, result: Variable) -> None:
    each = semantics.iterate(site, arguments.positional[0])
    if "key" in arguments.named:
        semantics.call(site, arguments.named["key"], Arguments([each]))
    made = semantics.container()
    each.flow_to(made.other)
    result.add(made)


def _extreme(semantics: Semantics, site: Site, arguments: Arguments, result: Variable) -> None:
    each = semantics.iterate(site, arguments.positional[0])
    if "key" in arguments.named:
        semantics.call(site, arguments.named["key"], Arguments([each]))
    each.flow_to(result)


def _partial(_: Semantics, __: Site, arguments: Arguments, result: Variable) -> None:
    function, *positional = arguments.positional
    rest = Arguments(positional, arguments.rest, arguments.named, arguments.options)
    result.add(Partial(function, rest))


def _next(semantics: Semantics, site: Site, arguments: Arguments, result: Variable) -> None:
    arguments.positional[0].each(lambda value: semantics.next_of(site, value, result))


def _getattr(semantics: Semantics, _: Site, arguments: Arguments, result: Variable) -> None:
    base, *names = arguments.positional
    for name in names[:1]:
        name.each(
            lambda key: (
                semantics.attribute(base, key.value).flow_to(result)
                if isinstance(key, Literal) and isinstance(key.value, str)
                else None
            )
        )


def _type(_: Semantics, __: Site, arguments: Arguments, result: Variable) -> None:
    arguments.positional[0].each(
        lambda value: result.add(value.of) if isinstance(value, Instance) else None
    )


def _numbered(semantics: Semantics, site: Site, arguments: Arguments, result: Variable) -> None:
    _paired(semantics, site, Arguments([semantics.variable(), arguments.positional[0]]), result)


def _paired(semantics: Semantics, site: Site, arguments: Arguments, result: Variable) -> None:
    pairs, pair = semantics.container(), semantics.container()
    for place, items in enumerate(arguments.positional):
        semantics.iterate(site, items).flow_to(pair.item(place))
    pairs.other.add(pair)
    result.add(pairs)


_BUILTIN_CALLS: Final[dict[str, Callable[[Semantics, Site, Arguments, Variable], Any]]] = {
    "enumerate": _numbered,
    "filter": _filtered,
    "frozenset": _same,
    "functools.partial": _partial,
    "getattr": _getattr,
    "iter": _same,
    "list": _same,
    "map": _mapped,
    "max": _extreme,
    "min": _extreme,
    "next": _next,
    "reversed": _same,
    "set": _same,
    "sorted": _ordered,
    "tuple": _same,
    "type": _type,
    "zip": _paired,
}
BUILTINS: Final = frozenset(name for name in _BUILTIN_CALLS if "." not in name)
"""The functions of Python that are known and need no import."""
