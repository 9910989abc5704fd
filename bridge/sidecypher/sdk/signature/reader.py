"""Signatures from the annotations of functions; every error names the function and its place."""

import inspect
import sys
import types as pytypes
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

from sidecypher.errors import SignatureError, ValueTypeError
from sidecypher.sdk.context import Context
from sidecypher.sdk.signature._annotations import (
    NoTypeError,
    cypher_type,
    description_in,
    notes_of,
)
from sidecypher.sdk.signature._defaults import Default, default_of
from sidecypher.sdk.signature._rows import attributes_of, is_row
from sidecypher.sdk.signature.columns import Columns
from sidecypher.sdk.signature.model import Column, Parameter, ReturnKind, Signature
from sidecypher.sdk.signature.names import camel_case, is_column_name, is_parameter_name
from sidecypher.values.coders import encoder
from sidecypher.values.cypher import CypherType

_NOTHING: Final = object()
_WIDEST: Final = 254
"""Most parameters, and most columns: Java has 255 slots for arguments, and one is `this`."""


def read_signature(function: Callable[..., Any]) -> Signature:
    """Return the Cypher signature of `function`.

    Args:
        function: A plain or async function or generator with type hints throughout.

    Raises:
        SignatureError: With file, line, and the fix.

    Example:
        >>> from sidecypher import Row
        >>> class Twice(Row):
        ...     value: int
        >>> def double(value: int) -> Twice: ...
        >>> str(read_signature(double).columns[0].type)
        'INTEGER'
    """
    return _Reader(function, place_of(function)).read()


def read_columns_signature(function: Callable[..., Any]) -> Signature:
    """Return the Cypher signature of `function`, which takes and returns columns.

    Args:
        function: A plain or async function. Each parameter is annotated with a list of what Cypher
            passes for one row, and the result with `Columns` of the class of rows.

    Raises:
        SignatureError: With file, line, and the fix.

    Example:
        >>> from sidecypher import Columns, Row
        >>> class Twice(Row):
        ...     value: int
        >>> def double(values: list[int]) -> Columns[Twice]: ...
        >>> str(read_columns_signature(double).parameters[0].type)
        'INTEGER'
    """
    return _ColumnsReader(function, place_of(function)).read()


def read_function_signature(
    function: Callable[..., Any], context: type[Any] = Context
) -> Signature:
    """Return the Cypher signature of `function`, which returns one value; its column is `value`.

    Args:
        function: A plain or async function with type hints throughout.
        context: The class that its first parameter may have instead of a Cypher type.

    Raises:
        SignatureError: With file, line, and the fix.

    Example:
        >>> def double(value: int) -> int: ...
        >>> read_function_signature(double).returns
        <ReturnKind.VALUE: 'a value'>
    """
    return _Reader(function, place_of(function), context).read_function()


def read_columns(row: type[Any]) -> tuple[Column, ...]:
    """Return the columns of a class of rows.

    Raises:
        SignatureError: It has no columns, or an unsupported one.

    Example:
        >>> from sidecypher import Row
        >>> class Twice(Row):
        ...     value: int
        >>> [column.name for column in read_columns(Twice)]
        ['value']
    """
    return _Reader(row, row.__module__).columns(row)


def place_of(function: Callable[..., Any]) -> str:
    """Return the file and line of a function, such as `similar.py:12`.

    Raises:
        SignatureError: It is not a function.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        raise SignatureError(
            f"A {type(function).__name__} cannot be a procedure",
            hint="Decorate a function, `def` or `async def`.",
        )
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


class _Reader:
    """Reader of one function, or of a class of rows; errors name its place in the source."""

    def __init__(
        self, function: Callable[..., Any], place: str, context: type[Any] = Context
    ) -> None:
        self.function = function
        self.place = place
        self.context = context

    def read(self) -> Signature:
        hints = self.hints(self.function)
        takes_context, parameters = self.parameters(hints)
        row, returns = self.return_kind(hints.get("return", _NOTHING))
        columns = () if returns is ReturnKind.VOID else self.columns(row)
        return Signature(parameters, columns, takes_context, row, returns)

    def read_function(self) -> Signature:
        hints = self.hints(self.function)
        takes_context, parameters = self.parameters(hints)
        if "return" not in hints:
            self.refuse("has no return type", "Write the type of its value, `-> str`, say.")
        if _is_generator(self.function):
            self.refuse("is a generator, and a function returns one value", "Return a `list[...]`.")
        column = Column("value", "value", self.type(hints["return"], "its result"), "")
        return Signature(parameters, (column,), takes_context, object, ReturnKind.VALUE)

    def parameters(self, hints: dict[str, Any]) -> tuple[bool, tuple[Parameter, ...]]:
        parameters = list(inspect.signature(self.function).parameters.values())
        takes_context = bool(parameters) and self.is_context(parameters[0], hints)
        read = tuple(
            replace(
                self.parameter(each, hints), description=description_in(notes_of(hints[each.name]))
            )
            for each in parameters[takes_context:]
        )
        self.check_names([parameter.name for parameter in read], "parameters")
        return takes_context, read

    def is_context(self, parameter: inspect.Parameter, hints: dict[str, Any]) -> bool:
        if hints.get(parameter.name) is self.context:
            return True
        if parameter.name == "ctx":
            self.refuse(
                "has a parameter `ctx` that is not annotated as the context",
                f"Write `ctx: {self.context.__name__}` "
                f"(`from sidecypher import {self.context.__name__}`), or another name.",
            )
        return False

    def hints(self, annotated: Any) -> dict[str, Any]:
        try:
            return typing.get_type_hints(annotated, include_extras=True)
        except NameError as error:
            self.refuse(f"uses the unknown name `{error.name}` in an annotation", "Import it.")
        # An annotation may be any text or expression, so reading it may raise anything.
        except Exception as error:  # noqa: BLE001
            self.refuse(
                f"has an annotation that cannot be read ({type(error).__name__})",
                "Write types, such as `int` or `list[str]`.",
            )

    def refuse(self, what: str, hint: str) -> NoReturn:
        raise SignatureError(
            f"`{self.function.__qualname__}` ({self.place}) {what}", hint=hint
        ) from None

    def check_names(self, names: list[str], kind: str) -> None:
        if len(names) > _WIDEST:
            self.refuse(
                f"has {len(names)} {kind}, and Java allows {_WIDEST}", "Put some of them in a MAP."
            )
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            self.refuse(
                f"has two {kind} that are both `{doubled.pop()}` in Cypher", "Rename one of them."
            )

    def parameter(self, parameter: inspect.Parameter, hints: dict[str, Any]) -> Parameter:
        if parameter.kind not in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}:
            self.refuse(
                f"has the parameter `{parameter}`, and Cypher has only positional ones",
                "Take a LIST or a MAP.",
            )
        if parameter.name not in hints:
            self.refuse(
                f"has no type for `{parameter.name}`", f"Write `{parameter.name}: str`, say."
            )
        context = self.context.__name__
        if hints[parameter.name] is self.context:
            self.refuse(
                f"has the context as its parameter `{parameter.name}`, which is not the first",
                f"Write `{parameter.name}: {context}` as the first parameter, and only there.",
            )
        if hints[parameter.name] is Context:
            self.refuse(
                f"has the context of a call as its parameter `{parameter.name}`",
                f"Write `{parameter.name}: {context}` (`from sidecypher import {context}`).",
            )
        name = self.identifier(parameter.name, "parameter", is_parameter_name)
        if "sidecypher.sdk.signature.fields" in sys.modules:
            options = self.options(parameter, name, hints[parameter.name])
            if options is not None:
                return options
        kind = self.type(hints[parameter.name], f"the parameter `{parameter.name}`")
        if parameter.default is inspect.Parameter.empty:
            return Parameter(name, kind, None)
        return Parameter(name, kind, self.default(parameter, kind))

    def options(self, parameter: inspect.Parameter, name: str, annotation: Any) -> Parameter | None:
        """Return the parameter if its type is a class of options."""
        # It imports pydantic, and so did the module of any such class.
        from sidecypher.sdk.signature import fields  # noqa: PLC0415

        found = fields.options_in(annotation)
        if found is None:
            return None
        model, kind = found
        try:
            shape = fields.shape_of(model)
        except fields.FieldRefusedError as error:
            self.refuse(str(error), error.hint)
        if parameter.default is inspect.Parameter.empty:
            return Parameter(name, kind, None, shape)
        if parameter.default is not None:
            # Null means the default.
            kind = replace(kind, nullable=True)
        default = self.default(parameter.replace(default=fields.as_map(parameter.default)), kind)
        try:
            shape.reader(kind)(encoder(kind)(default.value))
        except ValueTypeError as error:
            self.refuse(
                f"has a default for `{parameter.name}` that {error.message}",
                f"Write `{model.__name__}(...)`.",
            )
        return Parameter(name, kind, default, shape)

    def default(self, parameter: inspect.Parameter, kind: CypherType) -> Default:
        if parameter.default is None and not kind.nullable:
            self.refuse(
                f"has the default None for `{parameter.name}`, whose type is {kind}",
                f"Write `{parameter.name}: ... | None = None`.",
            )
        try:
            return default_of(parameter.default, kind)
        except ValueTypeError as error:
            self.refuse(
                f"has a default for `{parameter.name}` that {error.message}",
                "Write a default of the annotated type, or `| None = None`.",
            )

    def return_kind(self, annotation: Any) -> tuple[type[Any], ReturnKind]:
        if annotation is type(None):
            if _is_generator(self.function):
                self.refuse("is a generator that returns no rows", self.stream_hint())
            return type(None), ReturnKind.VOID
        plain = annotation.__origin__ if typing.get_origin(annotation) is Annotated else annotation
        row, returns = self.rows_in(plain)
        if row is None:
            self.refuse(
                "has no return type with rows",
                "Return a Row, dataclass or model, `MyRow | None`, `list[MyRow]`, or "
                "`Iterator[MyRow]` (`AsyncIterator[MyRow]` from an async generator); "
                "or None for no rows.",
            )
        if returns is not ReturnKind.ITERATOR and _is_generator(self.function):
            self.refuse("is a generator, and its return type is not a stream", self.stream_hint())
        return row, returns

    def rows_in(self, plain: Any) -> tuple[type[Any] | None, ReturnKind]:
        origin, arguments = typing.get_origin(plain), typing.get_args(plain)
        if is_row(plain):
            return plain, ReturnKind.ROW
        if origin in {typing.Union, pytypes.UnionType} and type(None) in arguments:
            rows = [argument for argument in arguments if argument is not type(None)]
            if len(rows) == 1 and is_row(rows[0]):
                return rows[0], ReturnKind.OPTIONAL_ROW
        if origin is list and arguments and is_row(arguments[0]):
            return arguments[0], ReturnKind.LIST
        if origin in self.streams() and arguments and is_row(arguments[0]):
            return arguments[0], ReturnKind.ITERATOR
        return None, ReturnKind.VOID

    def streams(self) -> set[Any]:
        """Return what a stream of this function may be annotated with."""
        if inspect.isasyncgenfunction(self.function):
            return {AsyncIterator}
        return set() if inspect.iscoroutinefunction(self.function) else {Iterator}

    def stream_hint(self) -> str:
        [stream] = self.streams()
        return f"Return `{stream.__name__}[MyRow]`."

    def columns(self, row: type[Any]) -> tuple[Column, ...]:
        hints, attributes = self.hints(row), attributes_of(row)
        if not attributes:
            self.refuse(f"returns `{row.__name__}`, which has no columns", "Annotate one.")
        columns = tuple(
            self.column(row, attribute, hints[attribute], description)
            for attribute, description in attributes.items()
        )
        self.check_names([column.name for column in columns], "columns")
        return columns

    def column(self, row: type[Any], attribute: str, hint: Any, description: str) -> Column:
        name = self.identifier(attribute, "column", is_column_name)
        kind = self.type(hint, f"the column `{row.__name__}.{attribute}`")
        return Column(name, attribute, kind, description_in(notes_of(hint)) or description)

    def identifier(self, name: str, what: str, fits: Callable[[str], bool]) -> str:
        cypher = camel_case(name)
        if not fits(cypher):
            self.refuse(
                f"has the {what} `{name}`, which cannot be a name in Java or Cypher",
                "Use lower-case ASCII words joined by underscores, and no Java keyword.",
            )
        return cypher

    def type(self, annotation: Any, where: str) -> CypherType:
        try:
            return cypher_type(annotation)
        except NoTypeError as error:
            self.refuse(f"annotates {where} with {error}", error.hint)


class _ColumnsReader(_Reader):
    """Reader of a function that takes and returns columns."""

    def read(self) -> Signature:
        signature = super().read()
        if not signature.parameters:
            self.refuse("has no column to take", "Write a parameter, such as `texts: list[str]`.")
        return signature

    def hints(self, annotated: Any) -> dict[str, Any]:
        hints = super().hints(annotated)
        if annotated is not self.function:
            return hints
        return {name: self.of_one_row(name, hint) for name, hint in hints.items()}

    def of_one_row(self, name: str, hint: Any) -> Any:
        origin, arguments = typing.get_origin(hint), typing.get_args(hint)
        if origin is Annotated:
            return Annotated[(self.of_one_row(name, hint.__origin__), *hint.__metadata__)]
        if name == "return":
            if origin is Columns:
                return arguments[0]
            self.refuse("does not return columns", "Write `-> Columns[MyRow]`.")
        if hint is self.context:
            return hint
        if origin is list and arguments:
            return arguments[0]
        self.refuse(
            f"has the parameter `{name}`, which is not annotated as a list",
            f"Write `{name}: list[str]`, say: it gets the arguments of all rows.",
        )

    def default(self, parameter: inspect.Parameter, kind: CypherType) -> Default:
        self.refuse(
            f"has a default for `{parameter.name}`, which gets the arguments of all rows",
            f"Leave it out, or annotate `{parameter.name}: list[{kind.name.lower()} | None]`.",
        )


def _is_generator(function: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
