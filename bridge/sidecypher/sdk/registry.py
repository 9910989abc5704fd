"""Procedures and functions as the sidecar runs them, and the registry of all of them."""

import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal

from sidecypher.errors import (
    ArgumentError,
    DuplicateProcedure,
    RowError,
    UnknownProcedure,
    ValueTypeError,
)
from sidecypher.protocol.catalogue import Catalogue, FunctionEntry, ProcedureEntry
from sidecypher.sdk.declarations import declared_in, mark_of
from sidecypher.sdk.encoded import EncodedRow
from sidecypher.sdk.signature.model import Parameter, ReturnKind, Signature
from sidecypher.values.codec.problems import Coder
from sidecypher.values.coders import decoder, encoder

if TYPE_CHECKING:
    # It imports pydantic, which few procedures need.
    from sidecypher.sdk.signature.fields import Field

Kind = Literal["procedure", "function"]
Executor = Literal["thread", "async", "process"]


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a function is `async def`, with or without `yield`."""
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


@dataclass(frozen=True, eq=False)
class Procedure:
    """One Python function that Cypher can call, as a procedure or as a function.

    Attributes:
        entry: Its entry in the catalogue.
        executor: Where the function runs: on the thread that serves the call, on the event loop, or
            in a worker process.
        batch: Whether there is a `NAME.batch` too; or the author's own function for it.
    """

    function: Callable[..., Any]
    signature: Signature
    entry: ProcedureEntry | FunctionEntry
    executor: Executor = "thread"
    batch: bool | Callable[..., Any] = False
    is_async: bool = field(init=False)
    """Whether the function is `async def`, with or without `yield`."""
    _count_without_defaults: int = field(init=False, repr=False)
    _decoders: tuple[Coder, ...] = field(init=False, repr=False)
    _encoders: tuple[Coder, ...] = field(init=False, repr=False)
    _values_of: Callable[[Any], tuple[Any, ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Make the coders, once for all calls."""
        columns = self.signature.columns
        defaults = [parameter.default for parameter in self.signature.parameters]
        prepared = {
            "is_async": is_async(self.function),
            # Nulls that mean "use the default" are replaced before decoding.
            "_count_without_defaults": -1
            if any(default.by_null for default in defaults if default)
            else len(defaults),
            "_decoders": tuple(map(_decoder, self.signature.parameters)),
            "_encoders": tuple(encoder(column.type) for column in columns),
            "_values_of": _single_value
            if self.signature.returns is ReturnKind.VALUE
            else _values_of([column.attribute for column in columns]),
        }
        for name, value in prepared.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """Full Cypher name, such as `github.getIssue`."""
        return self.entry.name

    @property
    def kind(self) -> Kind:
        """Whether Cypher calls it as a procedure or as a function."""
        return "function" if isinstance(self.entry, FunctionEntry) else "procedure"

    @property
    def is_read(self) -> bool:
        """Whether it may only read."""
        return isinstance(self.entry, FunctionEntry) or self.entry.mode == "READ"

    def fields(self) -> "Iterator[tuple[str, Field]]":
        """Yield the fields of its options, each with its path, such as `options.maxAge`."""
        for parameter in self.signature.parameters:
            if parameter.shape is not None:
                items = "[]" * (parameter.type.name == "LIST")
                yield from parameter.shape.walk(parameter.name + items)

    def resolve(self, sent: list[Any], registry: "Registry") -> "tuple[Procedure, list[Any]]":  # noqa: ARG002
        """Return the procedure that a call of this one runs, and the Python arguments for it.

        It is this procedure itself, unless it forwards to another of `registry`.

        Raises:
            ArgumentError: As `arguments` does.
        """
        return self, self.arguments(sent)

    def arguments(self, sent: Sequence[Any]) -> list[Any]:
        """Return the Python arguments for the JSON values `sent`, with defaults for missing ones.

        Raises:
            ArgumentError: Too many or too few arguments, or one of another type.
        """
        if len(sent) == self._count_without_defaults:
            try:
                return [decode(value) for decode, value in zip(self._decoders, sent)]  # noqa: B905
            except (ValueTypeError, RecursionError):
                pass  # Raised below, with the parameter's name.
        parameters = self.signature.parameters
        if len(sent) > len(parameters):
            raise ArgumentError(
                f"`{self.name}` takes {len(parameters)} arguments and was given {len(sent)}",
                hint=f"Its signature is {self.usage()}.",
            )
        values = [self._argument(index, value) for index, value in enumerate(sent)]
        for parameter in parameters[len(sent) :]:
            if parameter.default is None:
                raise self._missing(parameter)
            values.append(self._default(parameter, len(values)))
        return values

    def by_position(self, named: Mapping[str, Any]) -> list[Any]:
        """Return the JSON values for `arguments` from those that were sent by Cypher name.

        Raises:
            ArgumentError: A name is not one of the parameters, or a parameter has no value.
        """
        hint = f"Its signature is {self.usage()}."
        parameters = self.signature.parameters
        if named.keys() - {parameter.name for parameter in parameters}:
            raise ArgumentError(f"`{self.name}` was given an argument it does not have", hint=hint)
        return [
            named[parameter.name] if parameter.name in named else self._sent_default(parameter)
            for parameter in parameters
        ]

    def _sent_default(self, parameter: Parameter) -> Any:
        default = parameter.default
        if default is None:
            raise self._missing(parameter)
        return None if default.by_null else encoder(parameter.type)(default.value)

    def _missing(self, parameter: Parameter) -> ArgumentError:
        return ArgumentError(
            f"`{self.name}` was called without its argument `{parameter.name}`",
            hint=f"Its signature is {self.usage()}.",
        )

    def _argument(self, index: int, value: Any) -> Any:
        parameter = self.signature.parameters[index]
        if value is None and parameter.default is not None and parameter.default.by_null:
            return self._default(parameter, index)
        try:
            return self._decoders[index](value)
        except (ValueTypeError, RecursionError) as error:
            raise ArgumentError(
                f"The argument `{parameter.name}{getattr(error, 'path', '')}` of `{self.name}` "
                f"{_problem(error)}",
                hint=getattr(error, "hint", "") or f"Its signature is {self.usage()}.",
            ) from None

    def _default(self, parameter: Parameter, index: int) -> Any:
        if parameter.shape is not None:
            return self._decoders[index](None)
        assert parameter.default is not None  # noqa: S101 - its callers have checked
        return deepcopy(parameter.default.value)

    def encode_row(self, row: object) -> list[Any]:
        """Return the JSON values of one row, in column order; for a function, of its value.

        Raises:
            RowError: It is not a row of this procedure, or a value is not of its column's type.
        """
        if not isinstance(row, self.signature.row):
            if isinstance(row, EncodedRow) and row.row is self.signature.row:
                return row.values()
            raise RowError(
                f"`{self.name}` returned a {type(row).__name__} where a row is expected",
                hint=f"Return `{self.signature.row.__name__}(...)`.",
            )
        values = self._values_of(row)
        try:
            # `strict=True` alone would cost as much as the rest of this line.
            return [encode(value) for encode, value in zip(self._encoders, values)]  # noqa: B905
        except (ValueTypeError, RecursionError):
            raise self._wrong_column(values) from None

    def _wrong_column(self, values: Iterable[Any]) -> RowError:
        for column, encode, value in zip(
            self.signature.columns, self._encoders, values, strict=True
        ):
            try:
                encode(value)
            except (ValueTypeError, RecursionError) as error:
                named = "result" if self.kind == "function" else f"column `{column.name}`"
                return RowError(f"The {named} of `{self.name}` {_problem(error)}")
        return RowError(f"`{self.name}` returned a row that changed while it was read")

    def usage(self) -> str:
        """Return the signature as Cypher shows it."""
        arguments = ", ".join(
            f"{parameter.name} :: {parameter.type}" for parameter in self.signature.parameters
        )
        columns = ", ".join(f"{column.name} :: {column.type}" for column in self.signature.columns)
        if isinstance(self.entry, FunctionEntry):
            return f"{self.name}({arguments}) :: {self.entry.result}"
        return f"{self.name}({arguments})" + (f" :: ({columns})" if columns else "")


def _decoder(parameter: Parameter) -> Coder:
    if parameter.shape is None:
        return decoder(parameter.type)
    default = parameter.default
    sent = None if default is None else encoder(parameter.type)(default.value)
    return parameter.shape.reader(parameter.type, sent)


def _problem(error: ValueTypeError | RecursionError) -> str:
    if isinstance(error, ValueTypeError):
        return error.message
    return "nests too deeply, or holds itself"


def _single_value(value: Any) -> tuple[Any, ...]:
    return (value,)


def _values_of(attributes: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if not attributes:
        return lambda _row: ()
    if len(attributes) == 1:
        get = operator.attrgetter(attributes[0])
        return lambda row: (get(row),)
    return operator.attrgetter(*attributes)


MARK: Final = mark_of(Procedure)
"""Attribute of an author's function that holds its `Procedure`."""


def procedures_in(modules: Iterable[ModuleType]) -> Iterator[Procedure]:
    """Yield the procedures and functions that `modules` define or import, each once."""
    return declared_in(modules, Procedure)


class Registry:
    """Every procedure and function of one sidecar, by its Cypher name.

    Example:
        >>> Registry([]).catalogue.procedures
        ()
    """

    def __init__(self, procedures: Iterable[Procedure]) -> None:
        self._procedures: dict[tuple[Kind, str], Procedure] = {}
        for found in procedures:
            if (found.kind, found.name) in self._procedures:
                raise DuplicateProcedure(f"Two {found.kind}s are called `{found.name}`")
            self._procedures[found.kind, found.name] = found
        entries = [found.entry for found in self]
        self.catalogue: Final = Catalogue.build(
            (entry for entry in entries if isinstance(entry, ProcedureEntry)),
            (entry for entry in entries if isinstance(entry, FunctionEntry)),
        )

    def __len__(self) -> int:
        """Return how many procedures and functions there are."""
        return len(self._procedures)

    def __iter__(self) -> Iterator[Procedure]:
        """Iterate over the procedures and functions."""
        return iter(self._procedures.values())

    def get(self, name: str, kind: Kind = "procedure") -> Procedure:
        """Return the procedure or function called `name`.

        Raises:
            UnknownProcedure: There is no such procedure.
        """
        try:
            return self._procedures[kind, name]
        except KeyError:
            raise UnknownProcedure(f"The sidecar has no {kind} `{name}`") from None
