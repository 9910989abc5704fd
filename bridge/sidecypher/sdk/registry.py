"""Procedures and functions as the sidecar runs them, and the registry of all of them."""

import inspect
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard

import msgspec

from sidecypher.errors import (
    ArgumentError,
    DuplicateProcedure,
    RowError,
    UnknownProcedure,
    ValueTypeError,
)
from sidecypher.protocol import envelope
from sidecypher.protocol.catalogue import Catalogue, FunctionEntry, ProcedureEntry
from sidecypher.sdk.declarations import declared_in, mark_of
from sidecypher.sdk.encoded import EncodedRow
from sidecypher.sdk.signature.model import Parameter, ReturnKind, Signature
from sidecypher.values.codec.problems import Coder
from sidecypher.values.coders import column_encoder, decoder, encode_any, encoder

if TYPE_CHECKING:
    # It imports pydantic, which few procedures need.
    from sidecypher.sdk.signature.fields import Field, Shape

Kind = Literal["procedure", "function"]
Executor = Literal["thread", "async", "process", "ray"]
IN_WORKERS: Final = ("process", "ray")
"""Executors whose functions have no part in the caller's transaction."""


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a function is `async def`, with or without `yield`."""
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


@dataclass(frozen=True)
class RayOptions:
    """How a function runs on a Ray cluster.

    Attributes:
        resources: What Ray reserves for a call: `num_cpus`, `num_gpus`, `memory` in bytes, or
            resources that the cluster names itself.
        actor: Whether its calls run in processes that are kept for them alone.
        max_actors: How many such processes there may be.
        retryable: Whether it may run again when a node was lost.
    """

    resources: Mapping[str, float] = field(default_factory=dict)
    actor: bool = False
    max_actors: int = 1
    retryable: bool = False


@dataclass(frozen=True, eq=False)
class Procedure:
    """One Python function that Cypher can call, as a procedure or as a function.

    Attributes:
        entry: Its entry in the catalogue.
        executor: Where the function runs: on the thread that serves the call, on the event loop, in
            a worker process, or on a Ray cluster.
        batch: Whether there is a `NAME.batch` too; or the author's own function for it; or
            `"columns"` if its function takes all rows of a batch at once.
        cache_seconds: How long plugins may keep the rows of a call, unless its function says it;
            None if they must not keep any.
        project: The statement of its projection; empty if it has none.
        ray: How it runs on a Ray cluster.
    """

    function: Callable[..., Any]
    signature: Signature
    entry: ProcedureEntry | FunctionEntry
    executor: Executor = "thread"
    batch: bool | Callable[..., Any] | Literal["columns"] = False
    cache_seconds: float | None = None
    project: str = ""
    ray: RayOptions = RayOptions()
    is_async: bool = field(init=False)
    """Whether the function is `async def`, with or without `yield`."""
    values_of: Callable[[Any], tuple[Any, ...]] = field(init=False, repr=False)
    """Returns the values of a row, in column order; not checked, nor written."""
    plain_row: type | None = field(init=False, repr=False)
    """The class of rows of which `collect` does no more than `values_of`, if there is one."""
    _count_without_defaults: int = field(init=False, repr=False)
    _decoders: tuple[Coder, ...] = field(init=False, repr=False)
    _encoders: tuple[Coder, ...] = field(init=False, repr=False)
    _together: tuple[Callable[[Sequence[Any]], Sequence[Any]], ...] = field(init=False, repr=False)
    """Writes a whole column, or returns what `collect` has written already."""
    _alone: tuple[int, ...] = field(init=False, repr=False)
    """Numbers of the columns whose values are written one by one."""

    def __post_init__(self) -> None:
        """Make the coders, once for all calls."""
        columns = self.signature.columns
        defaults = [parameter.default for parameter in self.signature.parameters]
        together = [column_encoder(column.type) for column in columns]
        is_plain = all(together) and type(self).collect is Procedure.collect
        prepared = {
            "is_async": is_async(self.function),
            # Nulls that mean "use the default" are replaced before decoding.
            "_count_without_defaults": -1
            if any(default.by_null for default in defaults if default)
            else len(defaults),
            "_decoders": tuple(map(_decoder, self.signature.parameters)),
            "_encoders": tuple(encoder(column.type) for column in columns),
            "plain_row": self.signature.row if is_plain else None,
            "_together": tuple(each or _as_written for each in together),
            "_alone": tuple(index for index, each in enumerate(together) if each is None),
            "values_of": _single_value
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

    def meanings(self) -> Iterator[tuple[str, str]]:
        """Yield its described parameters and the fields of its options, each with its meaning."""
        for parameter in self.signature.parameters:
            if parameter.description:
                yield parameter.name, f"{parameter.type}: {parameter.description}"
        for path, option in self.fields():
            yield path, option.meaning

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

    def counting_from(self, first: int) -> "Procedure":  # noqa: ARG002
        """Return this procedure; a batch counts its rows from `first`."""
        return self

    def parameters(self, arguments: Sequence[Any]) -> dict[str, Any]:
        """Return Python arguments as the encoded parameters of a statement, by Cypher name."""
        return {
            parameter.name: encode_any(_as_map(value, parameter.shape))
            for parameter, value in zip(self.signature.parameters, arguments, strict=True)
        }

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
        if self._is_encoded(row):
            return row.values()
        values = self._values_in(row)
        try:
            # `strict=True` alone would cost as much as the rest of this line.
            return [encode(value) for encode, value in zip(self._encoders, values)]  # noqa: B905
        except (ValueTypeError, RecursionError):
            raise self._wrong_column([values], range(len(values))) from None

    def _is_encoded(self, row: object) -> TypeGuard[EncodedRow[Any]]:
        return isinstance(row, EncodedRow) and row.row is self.signature.row

    def _values_in(self, row: object) -> tuple[Any, ...]:
        if isinstance(row, self.signature.row):
            return self.values_of(row)
        raise RowError(
            f"`{self.name}` returned a {type(row).__name__} where a row is expected",
            hint=f"Return `{self.signature.row.__name__}(...)`.",
        )

    def collect(self, row: object) -> Any:
        """Return what `encode_rows` needs of a row, so that the row may change afterwards.

        Raises:
            RowError: It is not a row of this procedure, or a value is not of its column's type.
        """
        if self._is_encoded(row):
            return msgspec.Raw(row.json)
        values = self._values_in(row)
        collected = list(values)
        try:
            for index in self._alone:
                collected[index] = self._encoders[index](values[index])
        except (ValueTypeError, RecursionError):
            raise self._wrong_column([values], self._alone) from None
        return collected

    def encode_rows(self, collected: Sequence[Any]) -> bytes:
        """Return a JSON array of rows, each of them as `collect` has returned it.

        Columns of the most common types are checked as a whole.

        Raises:
            RowError: A value is not of its column's type.
        """
        if msgspec.Raw in map(type, collected):
            return b"[%b]" % b",".join(
                bytes(each) if type(each) is msgspec.Raw else self.encode_rows([each])[1:-1]
                for each in collected
            )
        columns = [*zip(*collected)]  # noqa: B905 - `strict=True` costs as much, here and below
        try:
            written = [encode(column) for encode, column in zip(self._together, columns)]  # noqa: B905
            if all(map(operator.is_, written, columns)):
                return envelope.write(collected)
            return envelope.write([*zip(*written)])  # noqa: B905
        except (ValueTypeError, UnicodeEncodeError):
            together = [index for index in range(len(self._encoders)) if index not in self._alone]
            raise self._wrong_column(collected, together) from None

    def _wrong_column(self, rows: Iterable[Sequence[Any]], indexes: Iterable[int]) -> RowError:
        for values, index in itertools.product(rows, indexes):
            try:
                self._encoders[index](values[index])
            except (ValueTypeError, RecursionError) as error:
                column = self.signature.columns[index]
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


def _as_map(value: Any, shape: "Shape | None") -> Any:
    """Return a value with its options as MAPs."""
    if shape is None or value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [_as_map(item, shape) for item in value]
    return {
        field.name: _as_map(getattr(value, field.attribute), field.shape) for field in shape.fields
    }


def _as_written(values: Sequence[Any]) -> Sequence[Any]:
    return values


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
