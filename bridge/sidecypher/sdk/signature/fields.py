"""`Options`: typed fields of a MAP argument, and their validation.

The coder of its Cypher type reads each value, as for an argument. Pydantic then checks limits and
runs the author's validators. Its own messages about wrong types would name Python's types.
"""

import re
import types as pytypes
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final, Self, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from sidecypher.errors import ArgumentError, ValueTypeError
from sidecypher.sdk.signature._annotations import (
    NoTypeError,
    cypher_type,
    description_in,
    notes_of,
)
from sidecypher.sdk.signature._defaults import literal
from sidecypher.sdk.signature.names import camel_case
from sidecypher.values.codec.containers import map_content
from sidecypher.values.codec.problems import Coder, PartError, guess, not_read
from sidecypher.values.coders import decoder, encoder
from sidecypher.values.cypher import CypherType

MAP: Final = CypherType("MAP", CypherType("ANY", nullable=True))

_SHOWABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,29}")
"""Keys that an error may show; any other may be data, and a longer one a token."""

_SHOULD: Final = re.compile(r"\A\w+ should ")
"""The start of most pydantic messages, such as `Input should be greater than 0`."""

_LIMITS: Final = {
    "ge": "at least {}",
    "gt": "above {}",
    "le": "at most {}",
    "lt": "below {}",
    "multiple_of": "a multiple of {}",
    "min_length": "a length of at least {}",
    "max_length": "a length of at most {}",
    "pattern": "matching `{}`",
}


class Options(BaseModel):
    """The fields that a MAP may have; subclass it and annotate each field.

    A parameter of this type is a MAP in Cypher, `list[...]` of it a LIST<MAP>. Cypher writes the
    names in camelCase. Unknown fields and values of another type raise SC-204. A null in the map
    counts as absent if the field has a default.

    Example:
        >>> from typing import Annotated, Literal
        >>> from pydantic import Field
        >>> from sidecypher import Description
        >>> class IssueOptions(Options):
        ...     '''How fresh an issue must be.'''
        ...     max_age: Annotated[float, Description("seconds"), Field(ge=0)] = 60.0
        ...     api: Literal["auto", "rest", "graphql"] = "auto"
        >>> IssueOptions(max_age=5)
        IssueOptions(max_age=5.0, api='auto')
    """

    model_config = ConfigDict(
        arbitrary_types_allowed=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
        strict=True,
    )

    @classmethod
    def from_map(cls, values: Mapping[str, Any], name: str = "options") -> Self:
        """Return the options in a map, validated like a MAP of a call.

        Args:
            values: The fields, named as in Cypher.
            name: The map's name in errors.

        Raises:
            ArgumentError: It is not a map, or a field is unknown, missing, or has an invalid value
                (SC-204).

        Example:
            >>> class Colours(Options):
            ...     left_wall: str = "white"
            >>> Colours.from_map({"leftWall": "red"}).left_wall
            'red'
        """
        try:
            given = dict(values) if isinstance(values, Mapping) else values
            return cast("Self", shape_of(cls).read(encoder(MAP)(given)))
        except ValueTypeError as error:
            raise ArgumentError(
                f"The argument `{name}{getattr(error, 'path', '')}` {error.message}",
                hint=error.hint,
            ) from None


class FieldError(PartError):
    """A field of a MAP is unknown, missing, or has an invalid value; the hint describes it."""


class FieldRefusedError(Exception):
    """A class of options has a field that is not supported.

    Attributes:
        hint: The fix.
    """

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a class of options.

    Attributes:
        name: Its name in Cypher.
        attribute: Its name in Python.
        default: Its default as a Cypher literal, `null` if Cypher has no literal for it; None if
            the field is required.
        sent_default: Its default in the form in which values are sent.
        limits: Numbers and lengths that pydantic checks, by pydantic's name for the limit.
        shape: The fields of the MAP, or of each MAP of the LIST, if its type is `Options`.
    """

    name: str
    attribute: str
    type: CypherType
    default: str | None
    sent_default: Any
    description: str
    limits: dict[str, Any]
    shape: "Shape | None"

    @property
    def meaning(self) -> str:
        """Allowed values and description, in one line."""
        return self.allowed + (f": {self.description}" if self.description else "")

    @property
    def allowed(self) -> str:
        """Allowed values: the type, the limits, and the default."""
        is_text_or_map = self.shape is not None and self.type.name == "ANY"
        parts = [
            "STRING or MAP" if is_text_or_map else str(self.type),
            *([f"one of {self.type.choices}"] if self.type.allowed else []),
            *_limits(self.limits),
            "required" if self.default is None else f"default {self.default}",
        ]
        return ", ".join(parts)


class Shape:
    """The fields of a MAP of one class of options.

    Attributes:
        fields: In the order of the class, those of base classes first.
        description: The docstring of the class.
    """

    def __init__(self, model: type[Options], within: tuple[type[Options], ...] = ()) -> None:
        """Read a class.

        Raises:
            FieldRefusedError: A field has a type, name or default that Cypher cannot have.
        """
        if model in within:
            raise FieldRefusedError(
                f"holds itself in `{model.__name__}`", "Annotate the inner one as `dict[str, Any]`."
            )
        if not model.__pydantic_complete__ and not model.model_rebuild(raise_errors=False):
            raise FieldRefusedError(
                f"has an unknown name in an annotation of `{model.__name__}`", "Import it."
            )
        self.model: Final = model
        self.description: Final = model.__dict__.get("__doc__") or ""
        read = [
            _field(model, attribute, info, (*within, model))
            for attribute, info in model.model_fields.items()
        ]
        self.fields: Final = tuple(field for field, _ in read)
        self._readers: Final = {
            field.name: (field.attribute, coder, field.default is not None) for field, coder in read
        }
        self._names: Final = {field.attribute: field.name for field in self.fields}
        if len(self._readers) < len(read):
            raise FieldRefusedError(
                f"has two fields of `{model.__name__}` with one name in Cypher", "Rename one."
            )

    def read(self, value: Any) -> Options:
        """Return the options in a MAP, from its JSON form.

        Raises:
            FieldError: A field is unknown, missing, or has an invalid value.
            ValueTypeError: It is not a MAP.
        """
        fields = {}
        for name, item in map_content(value).items():
            reader = self._readers.get(name)
            if reader is None:
                raise self._unknown(name)
            attribute, decode, is_optional = reader
            if item is None and is_optional:
                continue
            try:
                fields[attribute] = decode(item)
            except FieldError as error:
                raise FieldError.within(f".{name}", error, error.hint or self._hint(name)) from None
            except ValueTypeError as error:
                hint = f"{error.hint} {self._hint(name)}".lstrip()
                raise FieldError.within(f".{name}", error, hint) from None
        try:
            return self.model.model_validate(fields)
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
        # Outside of `except`: the original holds the values.
        raise self._refusal(problem)

    def read_all(self, value: Any) -> list[Options]:
        """Return the options in each MAP of a LIST.

        Raises:
            ValueTypeError: As `read` does, or it is not a LIST.
        """
        if not isinstance(value, list):
            raise not_read(value, "LIST<MAP>")
        found = []
        for index, item in enumerate(value):
            try:
                found.append(self.read(item))
            except ValueTypeError as error:
                raise FieldError.within(f"[{index}]", error) from None
        return found

    def read_or_text(self, value: Any) -> Options | str:
        """Return the options in a MAP, or a STRING as it is.

        Raises:
            ValueTypeError: As `read` does, or it is neither.
        """
        if isinstance(value, str):
            return value
        if not isinstance(value, dict):
            raise not_read(value, "STRING or MAP")
        return self.read(value)

    def reader(self, kind: CypherType, sent_default: Any = None) -> Coder:
        """Return a reader of a MAP, LIST<MAP>, or STRING or MAP; null means the default."""
        readers = {"LIST": self.read_all, "ANY": self.read_or_text}
        read = readers.get(kind.name, self.read)
        if sent_default is None and not kind.nullable:
            return read
        if sent_default is None:
            return lambda value: None if value is None else read(value)
        return lambda value: read(sent_default if value is None else value)

    def walk(self, path: str) -> Iterator[tuple[str, Field]]:
        """Yield each field with its path; the fields of an inner MAP follow its own field."""
        for field in self.fields:
            inner = f"{path}.{field.name}"
            yield inner, field
            if field.shape is not None:
                yield from field.shape.walk(inner + "[]" * (field.type.name == "LIST"))

    def _unknown(self, name: str) -> FieldError:
        shown = f"`{name}`" if _SHOWABLE.fullmatch(name) else "of one of its names"
        known = ", ".join(f"`{each}`" for each in self._readers)
        hint = f"{guess(name, self._readers)} Its fields: {known}.".lstrip()
        return FieldError(f"has no field {shown}", path="", hint=hint)

    def _hint(self, name: str) -> str:
        meaning = next(field.meaning for field in self.fields if field.name == name)
        return f"`{name}` is {meaning}."

    def _refusal(self, problem: ErrorDetails) -> FieldError:
        text = problem["msg"]
        if not problem["loc"]:
            return FieldError(_message(problem["type"], text), path="")
        attribute, *inner = problem["loc"]
        name = self._names[str(attribute)]
        path = "".join(map(_path_part, (name, *inner)))
        return FieldError(_message(problem["type"], text), path=path, hint=self._hint(name))


@cache
def shape_of(model: type[Options]) -> Shape:
    """Return the fields of a class of options.

    Raises:
        FieldRefusedError: A field has a type, name or default that Cypher cannot have.
    """
    return Shape(model)


def options_in(annotation: Any) -> tuple[type[Options], CypherType] | None:
    """Return the class of options that an annotation names, and the Cypher type of its values.

    Example:
        >>> class Colours(Options):
        ...     wall: str = "white"
        >>> str(options_in(list[Colours])[1])
        'LIST<MAP>'
    """
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return options_in(annotation.__origin__)
    if origin in {typing.Union, pytypes.UnionType}:
        found = [each for each in map(options_in, arguments) if each is not None]
        others = [each for each in arguments if options_in(each) is None]
        if len(found) == 1 and set(others) <= {type(None), *([str] if found[0][1] == MAP else [])}:
            model, kind = found[0]
            kind = CypherType("ANY") if str in others else kind
            return model, replace(kind, nullable=type(None) in others)
    elif origin is list and any(map(_is_options, arguments)):
        return arguments[0], CypherType("LIST", MAP)
    elif _is_options(annotation):
        return annotation, MAP
    return None


def as_map(value: Any) -> Any:
    """Return options as Cypher would send them: a MAP of the fields that were set.

    Example:
        >>> class Colours(Options):
        ...     left_wall: str = "white"
        >>> as_map(Colours(left_wall="red"))
        {'leftWall': 'red'}
    """
    if isinstance(value, Options):
        return {
            camel_case(name): as_map(getattr(value, name))
            for name in type(value).model_fields
            if name in value.model_fields_set
        }
    return [as_map(item) for item in value] if isinstance(value, list | tuple) else value


def _is_options(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Options)


def _field(
    model: type[Options], attribute: str, info: FieldInfo, within: tuple[type[Options], ...]
) -> tuple[Field, Coder]:
    where = f"the field `{model.__name__}.{attribute}`"
    annotation: Any = info.annotation
    if info.metadata:
        annotation = Annotated[(annotation, *info.metadata)]
    notes = [*_flat(notes_of(annotation))]
    found = options_in(annotation)
    shape = None if found is None else Shape(found[0], within)
    try:
        kind = cypher_type(annotation) if found is None else found[1]
    except NoTypeError as error:
        raise FieldRefusedError(f"annotates {where} with {error}", error.hint) from None
    default, sent = _default(where, info, kind)
    field = Field(
        name=camel_case(attribute),
        attribute=attribute,
        type=kind,
        default=None if info.is_required() else literal(default, kind),
        sent_default=sent,
        description=description_in(notes) or info.description or "",
        limits={
            name: limit
            for note in notes
            for name in _LIMITS
            if (limit := getattr(note, name, None)) is not None
        },
        shape=shape,
    )
    return field, decoder(kind) if shape is None else shape.reader(kind)


def _limits(limits: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of limits; a length with equal bounds has one text."""
    length = limits.get("min_length")
    is_exact = length is not None and length == limits.get("max_length")
    if is_exact:
        yield f"a length of {length}"
    for name, limit in limits.items():
        if not (is_exact and name in {"min_length", "max_length"}):
            yield _LIMITS[name].format(limit)


def _flat(notes: tuple[object, ...]) -> Iterator[object]:
    for note in notes:
        yield from note.metadata if isinstance(note, FieldInfo) else (note,)


def _default(where: str, info: FieldInfo, kind: CypherType) -> tuple[Any, Any]:
    """Return the default as a value and in its sent form; None for both if it is required."""
    if info.is_required():
        return None, None
    value = as_map(info.get_default(call_default_factory=True, validated_data={}))
    try:
        return value, encoder(kind)(value)
    except ValueTypeError as error:
        raise FieldRefusedError(
            f"has a default for {where} that {error.message}", "Write one of the annotated type."
        ) from None


def _path_part(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _SHOWABLE.fullmatch(part) else "[...]"


def _message(kind: str, text: str) -> str:
    if kind == "missing":
        return "is missing"
    text, count = _SHOULD.subn("must ", text, count=1)
    if count:
        return text
    for prefix in ("Value error, ", "Assertion failed, "):
        text = text.removeprefix(prefix)
    return f"cannot be used: {text}"
