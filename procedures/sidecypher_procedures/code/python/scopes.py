"""The names of a Python module, class or function."""

import ast
from dataclasses import dataclass, field
from typing import Literal

from sidecypher_procedures.code.python.values import (
    Class,
    Definition,
    Function,
    Variable,
    Variables,
)


@dataclass(frozen=True, slots=True)
class Imported:
    """A name that an import binds: a module, or something in it."""

    module: str
    attribute: str | None = None


@dataclass(eq=False, slots=True)
class Scope:
    """Where names are bound.

    Attributes:
        names: The variable of each name that is used or bound here.
        bound: The names that are bound here.
        declared: What is known of a name without running anything: a class, or an import.
        stars: The modules of which all names are imported.
        definitions: The functions and classes with each name; in a module also its variables.
        uses: Where each name is read first.
        called: Where each name is called first.
        lambdas: How many lambdas there are so far.
    """

    kind: Literal["module", "class", "function"]
    definition: Definition
    module: str
    names: Variables
    parent: "Scope | None" = None
    of: Class | None = None
    function: Function | None = None
    bound: set[str] = field(default_factory=set)
    declared: dict[str, Class | Imported | ast.expr] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    uses: dict[str, tuple[int, int]] = field(default_factory=dict)
    called: dict[str, tuple[int, int]] = field(default_factory=dict)
    lambdas: int = 0

    @property
    def enclosing(self) -> "Scope | None":
        """The next scope whose names are seen in this one."""
        scope = self.parent
        while scope is not None and scope.kind == "class":
            scope = scope.parent
        return scope

    def note(self, name: str, definition: Definition) -> None:
        """Keep what a name is defined to be."""
        self.definitions.setdefault(name, []).append(definition)

    def bind(self, name: str) -> Variable:
        """Return the variable that an assignment to a name changes."""
        self.bound.add(name)
        return self.names[name]
