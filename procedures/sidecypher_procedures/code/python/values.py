"""What the variables of a Python program can hold, and how it flows between them.

A `Variable` holds every value that may reach it, in any order of execution. Values are functions,
classes, instances and what holds them: other values are of no use for a call graph.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

MOST_VALUES: Final = 24
"""The most values of a variable. One that takes more is a place where everything meets, such as a
registry of a framework: its calls say nothing, and would cost the time of the whole analysis."""


MOST_STEPS: Final = 50_000_000
"""The most times that a reader sees a value, some five times those of Django: in a program that
makes ever new values, the flow would have no end."""

Span: TypeAlias = tuple[int, int, int, int]
"""A part of a file: line and byte of its begin, line and byte of its end; lines from 1."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Where a function, a lambda, a class or a module is defined.

    Attributes:
        path: The file, below the root.
        line: The line of its `def`, `class` or `lambda`, from 1; 0 for a module.
        column: The byte in that line, from 0.
        name: The dotted path of the module and the nested names, such as ``main.A.func``.
    """

    path: str
    line: int
    column: int
    name: str


class Variable:
    """A place of a program that values flow to."""

    __slots__ = ("_queue", "_readers", "values")

    def __init__(self, queue: "Queue") -> None:
        self.values: dict[Value, None] = {}
        self._readers: list[Callable[[Value], None]] = []
        self._queue = queue

    def add(self, value: "Value") -> None:
        """Let a value flow in."""
        if value in self.values or len(self.values) >= MOST_VALUES:
            return
        self.values[value] = None
        if self._readers:
            self._queue.put(self._readers, len(self._readers), value)

    def each(self, read: "Callable[[Value], None]") -> None:
        """Call a function with each value that is there or will be."""
        self._readers.append(read)
        for value in self.values:
            self._queue.put([read], 1, value)

    def flow_to(self, other: "Variable") -> None:
        """Let each value flow on."""
        if other is not self:
            self.each(other.add)


class Queue:
    """Values that readers have not seen yet.

    Attributes:
        is_cut: Whether `MOST_STEPS` were not enough.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[list[Callable[[Value], None]], int, Value]] = deque()
        self._steps = 0
        self.is_cut = False

    def put(self, readers: "list[Callable[[Value], None]]", count: int, value: "Value") -> None:
        """Let the first readers of a list see a value later."""
        self._waiting.append((readers, count, value))

    def run(self) -> None:
        """Show the values until none is left, or until there were too many."""
        waiting = self._waiting
        while waiting and not self.is_cut:
            readers, count, value = waiting.popleft()
            self._steps += count
            self.is_cut = self._steps >= MOST_STEPS
            for number in range(count):
                readers[number](value)


class Variables:
    """Variables by name, made at their first use."""

    __slots__ = ("_queue", "named")

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.named: dict[Any, Variable] = {}

    def __getitem__(self, name: Any) -> Variable:
        found = self.named.get(name)
        if found is None:
            found = self.named[name] = Variable(self._queue)
        return found

    def __contains__(self, name: Any) -> bool:
        return name in self.named

    def __iter__(self) -> Iterator[Any]:
        return iter(self.named)


@dataclass(eq=False, slots=True)
class Parameters:
    """The parameters of a function.

    Attributes:
        positional: Those that a caller may give by place, in order.
        named: All that a caller may give by name.
        rest: The one that takes other places, ``*args``.
        options: The one that takes other names, ``**kwargs``.
    """

    positional: list[Variable] = field(default_factory=list)
    named: dict[str, Variable] = field(default_factory=dict)
    rest: "Container | None" = None
    options: "Container | None" = None


@dataclass(eq=False, slots=True)
class Function:
    """A function or a lambda.

    Attributes:
        kind: What an attribute access makes of it, such as `method`.
        result: What it returns.
        yielded: What it yields, if it is a generator.
    """

    definition: Definition
    parameters: Parameters
    result: Variable
    yielded: Variable
    is_generator: bool = False
    kind: str = "method"


@dataclass(eq=False, slots=True)
class Class:
    """A class of the program.

    Attributes:
        attributes: What its body defines.
        of_instances: What its methods assign to attributes of instances.
        bases: Its bases in the program, in order.
        named_bases: What its definition names as bases, each with the scope that this is in.
    """

    definition: Definition
    attributes: Variables
    of_instances: Variables
    bases: "list[Class]" = field(default_factory=list)
    named_bases: list[tuple[Any, Any]] = field(default_factory=list)
    _order: "list[Class] | None" = None

    @property
    def order(self) -> "list[Class]":
        """The class and its bases in the order in which Python looks an attribute up (C3)."""
        if self._order is None:
            self._order = [self]  # for a class that is its own base
            self._order = [self, *_merged([*(base.order for base in self.bases), self.bases])]
        return self._order


def _merged(lists: list[list[Class]]) -> list[Class]:
    """Merge method resolution orders as C3 does; keep the rest as it comes if there is none."""
    remaining = [list(each) for each in lists if each]
    merged: list[Class] = []
    while remaining:
        heads = [each[0] for each in remaining]
        tails = {later for each in remaining for later in each[1:]}
        head = next((each for each in heads if each not in tails), heads[0])
        merged.append(head)
        remaining = [
            rest for each in remaining if (rest := [one for one in each if one is not head])
        ]
    return merged


@dataclass(frozen=True, slots=True)
class Instance:
    """Any object of a class."""

    of: Class


@dataclass(frozen=True, slots=True)
class Bound:
    """A function with its first argument, such as a method of an object."""

    function: Function
    receiver: "Value"


@dataclass(frozen=True, slots=True)
class Super:
    """What `super()` gives in a class."""

    of: Class
    receiver: "Value"


@dataclass(frozen=True, slots=True)
class Generator:
    """What a call of a generator gives."""

    function: Function


@dataclass(frozen=True, slots=True)
class Module:
    """A module or a package of the program, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A text or a number, which may be a key."""

    value: str | int


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function that Python brings, by its dotted name."""

    name: str


@dataclass(eq=False, slots=True)
class Container:
    """A list, tuple, set or dict, by the place of the program that makes it.

    Attributes:
        items: What is stored under keys that are known.
        other: What is stored under other keys.
        every: All of it.
        keys: The keys of a dict.
    """

    items: Variables
    other: Variable
    every: Variable
    keys: Variable
    is_dict: bool = False

    def item(self, key: Any) -> Variable:
        """Return what is stored under a key."""
        if key not in self.items:
            self.items[key].flow_to(self.every)
        return self.items[key]


@dataclass(frozen=True, slots=True)
class ContainerMethod:
    """A method of a container."""

    of: Container
    name: str


@dataclass(eq=False, slots=True)
class Partial:
    """A function with some of its arguments."""

    function: Variable
    arguments: "Arguments"


@dataclass(eq=False, slots=True)
class Arguments:
    """The arguments of a call.

    Attributes:
        positional: By place; what a starred one holds follows them.
        rest: What the starred ones hold.
        named: By name.
        options: What the doubly starred ones hold.
    """

    positional: list[Variable] = field(default_factory=list)
    rest: list[Variable] = field(default_factory=list)
    named: dict[str, Variable] = field(default_factory=dict)
    options: list[Variable] = field(default_factory=list)


Value: TypeAlias = (
    Function
    | Class
    | Instance
    | Bound
    | Super
    | Generator
    | Module
    | Literal
    | Builtin
    | Container
    | ContainerMethod
    | Partial
)
