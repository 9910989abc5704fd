"""Turn a typed Python function into a Cypher signature, or say at import why that cannot be.

Rules: parameters and columns are renamed from snake_case to camelCase; a name must be a plain
identifier in Python, Cypher and Java; a namespace must not be one that Neo4j keeps for itself.
"""

import inspect
import math
import re
import sys
import types as pytypes
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

from sidecypher.errors import SignatureError
from sidecypher.rows import Row
from sidecypher.types import (
    INTEGER_MAX,
    INTEGER_MIN,
    CypherTypeName,
    DateTime,
    Description,
    Duration,
    Node,
    Point,
    Relationship,
    Time,
)
from sidecypher.types import Path as CypherPath

RESERVED_NAMESPACES: Final = frozenset(
    "abac builtin cdc coll date datetime db dbms duration graph internal localdatetime localtime "
    "math plugin point stored string time tx unsupported vector".split()
)
"""First name parts that Neo4j 5.26 refuses or has announced to refuse."""

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z][A-Za-z0-9]*)+\Z")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_IDENTIFIER: Final = re.compile(r"[a-z][A-Za-z0-9]*\Z")

_JAVA_WORDS: Final = frozenset(
    "abstract assert boolean break byte case catch char class const continue default do double "
    "else enum extends final finally float for goto if implements import instanceof int interface "
    "long native new package private protected public return short static strictfp super switch "
    "synchronized this throw throws transient try void volatile while true false null".split()
)
_RECORD_METHODS: Final = frozenset(
    "clone finalize getClass hashCode notify notifyAll toString wait".split()
)

_SCALARS: Final[tuple[tuple[object, str], ...]] = (
    (bool, "BOOLEAN"),
    (int, "INTEGER"),
    (float, "FLOAT"),
    (str, "STRING"),
    (bytes, "BYTES"),
    (date, "DATE"),
    (time, "ZONED TIME"),
    (Time, "ZONED TIME"),
    (datetime, "ZONED DATETIME"),
    (DateTime, "ZONED DATETIME"),
    (Duration, "DURATION"),
    (Point, "POINT"),
    (Node, "NODE"),
    (Relationship, "RELATIONSHIP"),
    (CypherPath, "PATH"),
    (Any, "ANY"),
    (object, "ANY"),
)
_NOTHING: Final = object()
_WITH_LITERALS: Final = frozenset({"BOOLEAN", "FLOAT", "INTEGER", "LIST", "MAP", "STRING"})
"""Types whose defaults Neo4j can read; for the others null stands for the default."""


@dataclass(frozen=True, slots=True)
class CypherType:
    """A Cypher type as the bridge checks it.

    Attributes:
        name: `INTEGER`, `LIST`, `MAP`, ...
        item: Type of a LIST's items or a MAP's values; None for scalars and ANY.
        nullable: Whether null belongs to the type.
    """

    name: str
    item: "CypherType | None" = None
    nullable: bool = False

    def __str__(self) -> str:
        """Return the type as Cypher writes it, such as `LIST<STRING>`."""
        if self.name == "LIST" and self.item is not None:
            return f"LIST<{self.item}>"
        return self.name


@dataclass(frozen=True, slots=True)
class Default:
    """A parameter's default, on both sides.

    Attributes:
        value: The Python value.
        text: The text Neo4j parses, or `"null"` when only Python knows the default.
        by_null: Neo4j cannot express the default: null stands for it.
    """

    value: Any
    text: str
    by_null: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a procedure, by its Cypher name."""

    name: str
    type: CypherType
    default: Default | None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a procedure: its Cypher name and the Row attribute it is read from."""

    name: str
    attribute: str
    type: CypherType
    description: str


class Answer(Enum):
    """How a body hands over its rows."""

    ROW = "one row"
    MAYBE = "one row or none"
    LIST = "a list of rows"
    ITERATOR = "an iterator of rows"
    VOID = "None"
    VALUE = "a value"


@dataclass(frozen=True, slots=True)
class Signature:
    """The Cypher signature of a Python function.

    Attributes:
        takes_context: Whether the first Python parameter is the `Context`.
        row: The class whose attributes are the columns; `NoneType` of a void procedure, `object` of
            a function.
        answer: How the body hands over its rows.
    """

    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...]
    takes_context: bool
    row: type[Any]
    answer: Answer


def camel_case(name: str) -> str:
    """Return a snake_case name as Cypher writes it.

    Example:
        >>> camel_case("element_id")
        'elementId'
    """
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def check_procedure_name(name: str) -> str:
    """Return `name` if it can be a procedure's name.

    Args:
        name: Namespace and name, such as `kg.score`.

    Raises:
        SignatureError: The name has no namespace, another character than letters and digits, a
            Java keyword as a part, or a reserved namespace.
    """
    if not _NAME.match(name):
        raise SignatureError(
            f"`{name}` is not a procedure name",
            hint="Write a namespace, a dot and a name of letters and digits, such as `kg.score`.",
        )
    parts = name.split(".")
    if parts[0] in RESERVED_NAMESPACES:
        raise SignatureError(
            f"`{name}` is in the namespace `{parts[0]}`, which Neo4j keeps for itself",
            hint="Choose a namespace of your own.",
        )
    for part in parts:
        if part in _JAVA_WORDS:
            raise SignatureError(
                f"`{name}` holds the Java keyword `{part}`", hint="Choose another word."
            )
    return name


def read_signature(function: Callable[..., Any]) -> Signature:
    """Return the Cypher signature of `function`.

    Args:
        function: A plain or async function or generator with type hints throughout.

    Raises:
        SignatureError: With file, line, and what to write instead.

    Example:
        >>> class Twice(Row):
        ...     value: int
        >>> def double(value: int) -> Twice: ...
        >>> str(read_signature(double).columns[0].type)
        'INTEGER'
    """
    return _Reader(function).read()


def read_function_signature(function: Callable[..., Any]) -> Signature:
    """Return the Cypher signature of `function`, which gives one value; its column is `value`.

    Raises:
        SignatureError: With file, line, and what to write instead.

    Example:
        >>> def double(value: int) -> int: ...
        >>> read_function_signature(double).answer
        <Answer.VALUE: 'a value'>
    """
    return _Reader(function).read_function()


def place_of(function: Callable[..., Any]) -> str:
    """Return where a function is written, such as `similar.py:12`.

    Raises:
        SignatureError: It is no function.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        raise SignatureError(
            f"A {type(function).__name__} cannot be a procedure",
            hint="Decorate a function, `def` or `async def`.",
        )
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


class _Reader:
    """Reads one function; knows its place in the source for the errors."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.place = place_of(function)

    def read(self) -> Signature:
        hints = self.hints(self.function)
        takes_context, parameters = self.parameters(hints)
        row, answer = self.answer(hints.get("return", _NOTHING))
        columns = () if answer is Answer.VOID else self.columns(row)
        return Signature(parameters, columns, takes_context, row, answer)

    def read_function(self) -> Signature:
        hints = self.hints(self.function)
        takes_context, parameters = self.parameters(hints)
        if "return" not in hints:
            self.refuse("has no return type", "Write the type of its value, `-> str`, say.")
        if _is_generator(self.function):
            self.refuse("is a generator, and a function gives one value", "Return a `list[...]`.")
        column = Column("value", "value", self.type(hints["return"], "the result"), "")
        return Signature(parameters, (column,), takes_context, object, Answer.VALUE)

    def parameters(self, hints: dict[str, Any]) -> tuple[bool, tuple[Parameter, ...]]:
        parameters = list(inspect.signature(self.function).parameters.values())
        takes_context = bool(parameters) and parameters[0].name == "ctx"
        read = tuple(self.parameter(each, hints) for each in parameters[takes_context:])
        self.distinct([parameter.name for parameter in read], "parameters")
        return takes_context, read

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

    def distinct(self, names: list[str], kind: str) -> None:
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            self.refuse(
                f"has two {kind} that are both `{doubled.pop()}` in Cypher", "Rename one of them."
            )

    def parameter(self, parameter: inspect.Parameter, hints: dict[str, Any]) -> Parameter:
        if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            self.refuse(
                f"has the parameter `{parameter}`, and Cypher has only positional ones",
                "Take a LIST or a MAP.",
            )
        if parameter.name not in hints:
            self.refuse(
                f"has no type for `{parameter.name}`", f"Write `{parameter.name}: str`, say."
            )
        name = self.identifier(parameter.name, "parameter", frozenset())
        kind = self.type(hints[parameter.name], f"parameter `{parameter.name}`")
        if parameter.default is inspect.Parameter.empty:
            return Parameter(name, kind, None)
        return Parameter(name, kind, self.default(parameter, kind))

    def default(self, parameter: inspect.Parameter, kind: CypherType) -> Default:
        value = parameter.default
        if value is None and not kind.nullable:
            self.refuse(
                f"has the default None for `{parameter.name}`, whose type is {kind}",
                f"Write `{parameter.name}: ... | None = None`.",
            )
        if value is None or kind.name not in _WITH_LITERALS:
            return Default(value, "null", by_null=True)
        if not _fits(value, kind):
            self.refuse(
                f"has a default for `{parameter.name}` that is no {kind}",
                "Write a default of the annotated type, or `| None = None`.",
            )
        # Neo4j takes the default of a STRING parameter as it stands, without quotes.
        text = value if kind.name == "STRING" else _literal(value, kind)
        return Default(value, text, by_null=False)

    def answer(self, annotation: Any) -> tuple[type[Any], Answer]:
        if annotation is type(None):
            if _is_generator(self.function):
                self.refuse("is a generator that gives no rows", "Return `Iterator[MyRow]`.")
            return type(None), Answer.VOID
        plain = annotation.__origin__ if typing.get_origin(annotation) is Annotated else annotation
        origin, arguments = typing.get_origin(plain), typing.get_args(plain)
        if _is_row(plain):
            return plain, Answer.ROW
        if origin in {typing.Union, pytypes.UnionType} and type(None) in arguments:
            rows = [argument for argument in arguments if argument is not type(None)]
            if len(rows) == 1 and _is_row(rows[0]):
                return rows[0], Answer.MAYBE
        if origin is list and arguments and _is_row(arguments[0]):
            return arguments[0], Answer.LIST
        streams = {AsyncIterator} if inspect.isasyncgenfunction(self.function) else {Iterator}
        if origin in streams and arguments and _is_row(arguments[0]):
            return arguments[0], Answer.ITERATOR
        self.refuse(
            "has no return type that gives rows",
            "Return a Row class, `MyRow | None`, `list[MyRow]`, or `Iterator[MyRow]` "
            "(`AsyncIterator[MyRow]` from an async generator); or None for no rows.",
        )

    def columns(self, row: type[Row]) -> tuple[Column, ...]:
        hints = self.hints(row)
        if not hints:
            self.refuse(f"returns `{row.__name__}`, which has no columns", "Annotate one.")
        columns = tuple(self.column(row, attribute, hint) for attribute, hint in hints.items())
        self.distinct([column.name for column in columns], "columns")
        return columns

    def column(self, row: type[Row], attribute: str, hint: Any) -> Column:
        name = self.identifier(attribute, "column", _JAVA_WORDS | _RECORD_METHODS)
        described = [note for note in _notes(hint) if isinstance(note, Description)]
        return Column(
            name,
            attribute,
            self.type(hint, f"column `{row.__name__}.{attribute}`"),
            described[0].text if described else "",
        )

    def identifier(self, name: str, what: str, refused: frozenset[str]) -> str:
        cypher = camel_case(name)
        if not _IDENTIFIER.match(cypher) or cypher in refused:
            self.refuse(
                f"has the {what} `{name}`, which cannot be a name in Java or Cypher",
                "Use lower-case ASCII words joined by underscores, and no Java keyword.",
            )
        return cypher

    def type(self, annotation: Any, where: str) -> CypherType:
        if typing.get_origin(annotation) is Annotated:
            for note in _notes(annotation):
                if isinstance(note, CypherTypeName):
                    return CypherType(note.name)
            return self.type(annotation.__origin__, where)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in {typing.Union, pytypes.UnionType} and type(None) in arguments:
            rest = [argument for argument in arguments if argument is not type(None)]
            if len(rest) == 1:
                inner = self.type(rest[0], where)
                return CypherType(inner.name, inner.item, nullable=True)
        for python_type, name in _SCALARS:
            if annotation is python_type:
                return CypherType(name, nullable=name == "ANY")
        if annotation is list or origin is list:
            return CypherType("LIST", self.type(arguments[0] if arguments else Any, where))
        if annotation is dict or (origin is dict and arguments[:1] in {(), (str,)}):
            return CypherType("MAP", self.type(arguments[1] if arguments else Any, where))
        self.refuse(
            f"has a type for {where} that is no Cypher type",
            "Use bool, int, float, str, bytes, date, time, LocalTime, datetime, LocalDateTime, "
            "Duration, Point, Node, Relationship, Path, list[T], dict[str, T], Any, or one of "
            "these with `| None`.",
        )


def _is_generator(function: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)


def _is_row(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Row) and annotation is not Row


def _notes(annotation: Any) -> tuple[object, ...]:
    """Return what is noted on an annotation, or on a part of a union."""
    own: tuple[object, ...] = getattr(annotation, "__metadata__", ())
    if typing.get_origin(annotation) in {typing.Union, pytypes.UnionType}:
        return own + sum(map(_notes, typing.get_args(annotation)), ())
    return own


def _fits(value: object, kind: CypherType) -> bool:
    """Tell whether a default has a literal of type `kind` in Cypher."""
    match kind.name, value:
        case "ANY", None | str():
            return True
        case (("BOOLEAN" | "ANY"), bool()):
            return True
        case (("INTEGER" | "ANY"), int()) if not isinstance(value, bool):
            return INTEGER_MIN <= value <= INTEGER_MAX
        case "FLOAT", int() | float() if not isinstance(value, bool):
            return abs(value) <= sys.float_info.max
        case "ANY", float():
            return math.isfinite(value)
        case "STRING", str():
            return True
        case (("LIST" | "ANY"), list()):
            return all(_fits(item, kind.item or CypherType("ANY")) for item in value)
        case (("MAP" | "ANY"), dict()):
            return all(
                # Neo4j reads `\\u` as an escape even between backticks.
                isinstance(key, str)
                and "\\u" not in key
                and _fits(item, kind.item or CypherType("ANY"))
                for key, item in value.items()
            )
    return value is None and kind.nullable


def _literal(value: object, kind: CypherType) -> str:
    """Return the Cypher literal of a default that `_fits`."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if kind.name == "FLOAT":
            return repr(float(value))
        case int() | float():
            return repr(value)
        case list():
            inner = kind.item or CypherType("ANY")
            return "[" + ", ".join(_literal(item, inner) for item in value) + "]"
        case dict():
            inner = kind.item or CypherType("ANY")
            pairs = (f"{_quoted_key(key)}: {_literal(item, inner)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _quoted_key(key: str) -> str:
    return key if _PLAIN_KEY.match(key) else "`" + key.replace("`", "``") + "`"
