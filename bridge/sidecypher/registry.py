"""`@procedure`, and the registry of every procedure a sidecar knows."""

import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final, TypeVar

from sidecypher.catalogue import (
    Catalogue,
    ColumnEntry,
    DefaultEntry,
    Mode,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)
from sidecypher.codec import Coder, decoder, encoder
from sidecypher.errors import (
    ArgumentError,
    DuplicateProcedure,
    RowError,
    SignatureError,
    UnknownProcedure,
    ValueTypeError,
)
from sidecypher.signature import Signature, check_procedure_name, read_signature

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds a call may take when its procedure names no timeout."""

LONGEST_TIMEOUT: Final = 86_400.0
"""Seconds in a day; what takes longer is no call."""

_MARK: Final = "__sidecypher_procedure__"
_Body = TypeVar("_Body", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Procedure:
    """One Python function that Cypher can call.

    Attributes:
        body: The author's function.
        is_async: Whether the body is `async def`, with or without `yield`.
        entry: What the catalogue says about it.
    """

    body: Callable[..., Any]
    signature: Signature
    entry: ProcedureEntry
    is_async: bool
    _decoders: tuple[Coder, ...] = field(repr=False)
    _encoders: tuple[Coder, ...] = field(repr=False)
    _values_of: Callable[[Any], tuple[Any, ...]] = field(repr=False)

    @property
    def name(self) -> str:
        """Full Cypher name, such as `github.getIssue`."""
        return self.entry.name

    def arguments(self, sent: Sequence[Any]) -> list[Any]:
        """Return the Python arguments for the JSON values `sent`; defaults fill up the rest.

        Raises:
            ArgumentError: Too many or too few arguments, or one of another type.
        """
        parameters = self.signature.parameters
        if len(sent) > len(parameters):
            raise ArgumentError(
                f"`{self.name}` takes {len(parameters)} arguments and was given {len(sent)}",
                hint=f"Its signature is {self.usage()}.",
            )
        values = [self._argument(index, value) for index, value in enumerate(sent)]
        for parameter in parameters[len(sent) :]:
            if parameter.default is None:
                raise ArgumentError(
                    f"`{self.name}` was called without its argument `{parameter.name}`",
                    hint=f"Its signature is {self.usage()}.",
                )
            values.append(deepcopy(parameter.default.value))
        return values

    def _argument(self, index: int, value: Any) -> Any:
        parameter = self.signature.parameters[index]
        if value is None and parameter.default is not None and parameter.default.by_null:
            return deepcopy(parameter.default.value)
        try:
            return self._decoders[index](value)
        except (ValueTypeError, RecursionError) as error:
            raise ArgumentError(
                f"The argument `{parameter.name}` of `{self.name}` {_told(error)}",
                hint=f"Its signature is {self.usage()}.",
            ) from None

    def encode_row(self, row: object) -> list[Any]:
        """Return the JSON values of one row, in column order.

        Raises:
            RowError: It is no row of this procedure, or a value has another type than its column.
        """
        if not isinstance(row, self.signature.row):
            raise RowError(
                f"`{self.name}` returned a {type(row).__name__} where a row is expected",
                hint=f"Return `{self.signature.row.__name__}(...)`.",
            )
        values = self._values_of(row)
        try:
            return [encode(value) for encode, value in zip(self._encoders, values, strict=True)]
        except (ValueTypeError, RecursionError):
            raise self._wrong_column(values) from None

    def _wrong_column(self, values: Iterable[Any]) -> RowError:
        for column, encode, value in zip(
            self.signature.columns, self._encoders, values, strict=True
        ):
            try:
                encode(value)
            except (ValueTypeError, RecursionError) as error:
                return RowError(f"The column `{column.name}` of `{self.name}` {_told(error)}")
        return RowError(f"`{self.name}` returned a row that changed while it was read")

    def usage(self) -> str:
        """Return the signature as Cypher shows it."""
        arguments = ", ".join(
            f"{parameter.name} :: {parameter.type}" for parameter in self.signature.parameters
        )
        columns = ", ".join(f"{column.name} :: {column.type}" for column in self.signature.columns)
        return f"{self.name}({arguments}) :: ({columns})"


def procedure(
    name: str, *, mode: Mode = "READ", timeout: float = DEFAULT_TIMEOUT
) -> Callable[[_Body], _Body]:
    """Make a typed Python function a Cypher procedure.

    The function stays callable as it is. Its annotations give the Cypher signature and the first
    line of its docstring the description.

    Args:
        name: Cypher name with a namespace, such as `kg.similar`.
        mode: What the body may do by `ctx.run`: READ, WRITE or SCHEMA.
        timeout: Seconds a call may spend inside Python and callbacks.

    Raises:
        SignatureError: At import, naming file, line and what to write.

    Example:
        >>> from sidecypher import Row
        >>> class Greeting(Row):
        ...     text: str
        >>> @procedure("demo.greet")
        ... def greet(name: str) -> Greeting:
        ...     return Greeting(text=f"Hello {name}")
    """
    if not isinstance(name, str):
        raise SignatureError(
            "`@procedure` was used without a name", hint='Write `@procedure("kg.score")`, say.'
        )

    def decorate(body: _Body) -> _Body:
        setattr(body, _MARK, describe(body, name, mode, timeout))
        return body

    return decorate


def describe(body: Callable[..., Any], name: str, mode: Mode, timeout: float) -> Procedure:
    """Return the `Procedure` that `@procedure` attaches to `body`.

    Raises:
        SignatureError: The name, mode, timeout or annotations cannot be used.
    """
    check_procedure_name(name)
    if mode not in ("READ", "WRITE", "SCHEMA"):
        raise SignatureError(f"`{name}` has no mode `{mode}`", hint="Use READ, WRITE or SCHEMA.")
    if not 0 < timeout <= LONGEST_TIMEOUT:
        raise SignatureError(
            f"`{name}` has a timeout that cannot be kept",
            hint="Give seconds above 0 and up to 86 400 (a day).",
        )
    signature = read_signature(body)
    parameters = tuple(
        ParameterEntry(
            name=parameter.name,
            type=str(parameter.type),
            nullable=parameter.type.nullable,
            default=None
            if parameter.default is None
            else DefaultEntry(text=parameter.default.text, any=parameter.default.by_null),
        )
        for parameter in signature.parameters
    )
    columns = tuple(
        ColumnEntry(name=column.name, type=str(column.type), description=column.description)
        for column in signature.columns
    )
    entry = ProcedureEntry(
        name=name,
        mode=mode,
        description=(inspect.getdoc(body) or "").partition("\n")[0],
        timeout_ms=max(1, round(timeout * 1000)),
        signature=signature_of(name, mode, parameters, columns),
        parameters=parameters,
        columns=columns,
    )
    return Procedure(
        body=body,
        signature=signature,
        entry=entry,
        is_async=inspect.iscoroutinefunction(body) or inspect.isasyncgenfunction(body),
        _decoders=tuple(decoder(parameter.type) for parameter in signature.parameters),
        _encoders=tuple(encoder(column.type) for column in signature.columns),
        _values_of=_values_of([column.attribute for column in signature.columns]),
    )


def _told(error: ValueTypeError | RecursionError) -> str:
    if isinstance(error, ValueTypeError):
        return error.message
    return "nests too deeply, or holds itself"


def _values_of(attributes: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    if len(attributes) == 1:
        get = operator.attrgetter(attributes[0])
        return lambda row: (get(row),)
    return operator.attrgetter(*attributes)


def procedures_in(modules: Iterable[ModuleType]) -> Iterator[Procedure]:
    """Yield the procedures that `modules` define or import, each once."""
    seen: set[int] = set()
    for module in modules:
        for value in list(vars(module).values()):
            found = getattr(value, _MARK, None) if callable(value) else None
            if isinstance(found, Procedure) and id(found) not in seen:
                seen.add(id(found))
                yield found


class Registry:
    """Every procedure of one sidecar, by its Cypher name.

    Example:
        >>> Registry([]).catalogue.procedures
        ()
    """

    def __init__(self, procedures: Iterable[Procedure]) -> None:
        self._procedures: dict[str, Procedure] = {}
        for found in procedures:
            if found.name in self._procedures:
                raise DuplicateProcedure(f"Two procedures are called `{found.name}`")
            self._procedures[found.name] = found
        self.catalogue: Final = Catalogue.build(found.entry for found in self._procedures.values())

    def __len__(self) -> int:
        """Return how many procedures there are."""
        return len(self._procedures)

    def __iter__(self) -> Iterator[Procedure]:
        """Iterate over the procedures."""
        return iter(self._procedures.values())

    def get(self, name: str) -> Procedure:
        """Return the procedure called `name`.

        Raises:
            UnknownProcedure: There is none.
        """
        try:
            return self._procedures[name]
        except KeyError:
            raise UnknownProcedure(f"The sidecar has no procedure `{name}`") from None
