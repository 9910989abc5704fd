"""References: `@{SESSION_ID}.step[cycle].key[index]|default` in texts, parsed and resolved."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NoReturn

from sidecypher_procedures.session.errors import InvalidReference

LATEST: Final = -1
"""The cycle of the latest output of a step."""

OWN: Final = "SESSION_ID"
"""The name in a reference that means the session which resolves it."""

MOST_DEFAULTS: Final = 20
"""The most references that are each the default of the one before."""

_OPEN: Final = "@{"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_INTEGER: Final = re.compile(r"-?[0-9]{1,15}(?=\])")
_TO_SPACE: Final = re.compile(r"\S*")
_JSON: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Fallback:
    """A default that is a value.

    Attributes:
        value: What JSON has.
        text: As it was written.
    """

    value: Any
    text: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class Reference:
    """The output of a step, or a part of it.

    Attributes:
        session: The id of another session; None for the one that resolves it.
        cycle: Which of the step's outputs, from 0; negative ones count from the latest, -1.
        path: Keys of maps and places in lists, from the outside in.
        default: What it is if the output or a part of the path is missing.

    Example:
        >>> parse_reference("@{SESSION_ID}.ask[0].response").path
        ('response',)
    """

    session: str | None
    step: str
    cycle: int = LATEST
    path: tuple[str | int, ...] = ()
    default: "Reference | Fallback | None" = None

    def __str__(self) -> str:
        return self._without_default() + _printed_default(self.default)

    def _without_default(self) -> str:
        match self.path:
            case (int(), *_) | (str(), int()):
                # Without a cycle, that number would be read as one.
                cycle = f"[{self.cycle}]"
            case _:
                cycle = "" if self.cycle == LATEST else f"[{self.cycle}]"
        keys = "".join(map(_printed_key, self.path))
        return f"{_OPEN}{self.session or OWN}}}{_printed_key(self.step)}{cycle}{keys}"


Template = tuple[str | Reference, ...]
"""A text, cut where its references begin and end."""


def _printed_key(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _NAME.fullmatch(key) else f"[{json.dumps(key)}]"


def _printed_default(default: Reference | Fallback | None) -> str:
    if default is None:
        return ""
    return f"|{default}" if isinstance(default, Reference) else f"|{to_json(default.value)}"


def to_json(value: Any) -> str:
    """Return a value as compact JSON.

    Raises:
        ValueError, TypeError: JSON does not have it.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def parse_reference(text: str) -> Reference:
    """Return the reference that is the whole text.

    Raises:
        InvalidReference: The text is not exactly one reference.
    """
    template = parse(text)
    if len(template) != 1 or not isinstance(template[0], Reference):
        raise InvalidReference("The text is not one reference", 0)
    return template[0]


def parse(text: str) -> Template:
    """Cut a text into its references and what is between them.

    A text that begins with a reference, and goes on with nothing or with a default, is that
    reference as a whole: the default runs to the end. It has no reference but at its beginning.

    Raises:
        InvalidReference: An `@{` does not begin a reference; the error says where and why.

    Example:
        >>> [str(part) for part in parse("Hello @{SESSION_ID}.ask.name|friend !")]
        ['Hello ', '@{SESSION_ID}.ask.name|"friend"', ' !']
    """
    if text.startswith(_OPEN):
        whole = _whole(text, 0)
        if whole is not None:
            return (whole,)
    return tuple(_parts(text))


def _parts(text: str) -> Iterator[str | Reference]:
    at = 0
    while (begin := text.find(_OPEN, at)) >= 0:
        if begin > at:
            yield text[at:begin]
        reference, at = _part(text, begin)
        yield reference
    if at < len(text):
        yield text[at:]


def _whole(text: str, at: int, depth: int = 1) -> Reference | None:
    """Return the reference that the rest of a text is; None if it is only a part of the rest."""
    reference, end = _without_default(text, at, depth)
    if end == len(text):
        return reference
    if text[end] != "|":
        return None
    if text.startswith(_OPEN, end + 1):
        inner = _whole(text, end + 1, depth + 1)
        return None if inner is None else replace(reference, default=inner)
    if _OPEN in text[end:]:
        return None
    return replace(reference, default=_default(text[end + 1 :]))


def _part(text: str, at: int, depth: int = 1) -> tuple[Reference, int]:
    """Return a reference inside a text and where it ends, its default included."""
    reference, end = _without_default(text, at, depth)
    if not text.startswith("|", end):
        return reference, end
    begin = end + 1
    if text.startswith(_OPEN, begin):
        inner, end = _part(text, begin, depth + 1)
        return replace(reference, default=inner), end
    if text.startswith('"', begin):
        try:
            value, end = _JSON.raw_decode(text, begin)
        except ValueError:
            _refuse("the quoted default does not end", begin)
        return replace(reference, default=Fallback(value, str(value))), end
    end = _match(_TO_SPACE, text, begin).end()
    return replace(reference, default=_default(text[begin:end])), end


def _default(text: str) -> Fallback:
    """Return a default: a value if it is JSON, else the text."""
    try:
        return Fallback(json.loads(text, parse_constant=_refuse_constant), text)
    except (ValueError, RecursionError):
        return Fallback(text, text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _without_default(text: str, at: int, depth: int) -> tuple[Reference, int]:
    if depth > MOST_DEFAULTS:
        _refuse(f"it is the {MOST_DEFAULTS + 1}th of a chain of defaults", at)
    end = text.find("}", at)
    if end < 0:
        _refuse("its brace is not closed", at)
    session = text[at + len(_OPEN) : end]
    if not session:
        _refuse("it names no session", at)
    step, end = _key(text, end + 1)
    if not isinstance(step, str):
        _refuse("it names no step", end)
    path: list[str | int] = []
    while True:
        key, after = _key(text, end)
        if key is None:
            break
        path.append(key)
        end = after
    cycle, path = _split_cycle(path)
    return Reference(None if session == OWN else session, step, cycle, tuple(path)), end


def _split_cycle(path: list[str | int]) -> tuple[int, list[str | int]]:
    """Take the cycle out of a path: `[i]` behind the step, or alone behind the first key."""
    match path:
        case [int() as cycle, *rest]:
            return cycle, rest
        case [str() as key, int() as cycle]:
            return cycle, [key]
    return LATEST, path


def _key(text: str, at: int) -> tuple[str | int | None, int]:
    """Return the key, or the place in a list, that begins there, and where it ends.

    It is None if none begins there. A dot that no name follows ends a sentence.
    """
    if text.startswith(".", at):
        name = _NAME.match(text, at + 1)
        if name is not None:
            return name[0], name.end()
        return _bracketed(text, at + 1) if text.startswith('["', at + 1) else (None, at)
    return _bracketed(text, at) if text.startswith("[", at) else (None, at)


def _bracketed(text: str, at: int) -> tuple[str | int | None, int]:
    number = _INTEGER.match(text, at + 1)
    if number is not None:
        return int(number[0]), number.end() + 1
    if not text.startswith('"', at + 1):
        return None, at
    try:
        key, end = _JSON.raw_decode(text, at + 1)
    except ValueError:
        _refuse("the quoted key does not end", at)
    if not text.startswith("]", end):
        _refuse("the bracket is not closed", at)
    return key, end + 1


def _match(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    found = pattern.match(text, at)
    assert found is not None  # noqa: S101 - it matches the empty text
    return found


def _refuse(why: str, position: int) -> NoReturn:
    raise InvalidReference(
        f"The reference at character {position + 1} cannot be read: {why}",
        position,
        hint="Write `@{SESSION_ID}.step.key`, with `[0]` for a cycle and `|` before a default.",
    )


def references_in(value: Any) -> Iterator[Reference]:
    """Yield the references in all texts of a value, defaults included.

    Raises:
        InvalidReference: One cannot be read.

    Example:
        >>> [reference.step for reference in references_in({"a": ["@{SESSION_ID}.x.y|1"]})]
        ['x']
    """
    for text in _texts(value):
        for part in parse(text):
            while isinstance(part, Reference):
                yield part
                part = part.default  # type: ignore[assignment]  # noqa: PLW2901


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, Mapping):
            waiting.extend(reversed([*each.values()]))
        elif isinstance(each, Sequence):
            waiting.extend(reversed(each))


class Missing(Exception):
    """A reference without a default refers to what is not there.

    Attributes:
        reference: The last one that was tried.
    """

    def __init__(self, reference: Reference) -> None:
        super().__init__(str(reference))
        self.reference = reference


NOTHING: Final = object()
"""What a `Lookup` returns where there is no output."""

Lookup = Callable[[str | None, str, int], Any]
"""Returns the output of a step of a session in a cycle, or `NOTHING`."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What references come to, where engines differ.

    Attributes:
        missing: What becomes of a reference without a default to what is not there: an error, its
            own text, or null.
        has_json_defaults: Whether a default that is JSON is that value; else it is a text.
        keeps_type: Whether a text that is one reference becomes its value; else the text of it.
        has_paths: Whether `a.b` is the key `b` of the map `a`; else it is one key.
        has_cycles: Whether `[0]` names a cycle or a place in a list; else nothing is there.
        inserts_python: Whether values in texts are written as Python does; else as JSON.
    """

    missing: Literal["error", "text", "null"] = "error"
    has_json_defaults: bool = True
    keeps_type: bool = True
    has_paths: bool = True
    has_cycles: bool = True
    inserts_python: bool = False


STRICT: Final = Dialect()
"""The references of this engine."""

DIALECTS: Final[Mapping[str, Dialect]] = {
    "graphie": Dialect(
        missing="text",
        has_json_defaults=False,
        keeps_type=False,
        has_paths=False,
        has_cycles=False,
        inserts_python=True,
    ),
    "luna": Dialect(missing="null", has_json_defaults=False, inserts_python=True),
}
"""The references of older engines, by the value of the option `compat`."""


def resolve(value: Any, lookup: Lookup, dialect: Dialect = STRICT) -> Any:
    """Return a value with what its references refer to; keys of maps stay as they are.

    Raises:
        InvalidReference: A reference cannot be read.
        Missing: A reference without a default refers to what is not there.

    Example:
        >>> memory = {"ask": {"name": "Ann"}}
        >>> lookup = lambda session, step, cycle: memory.get(step, NOTHING)
        >>> resolve({"text": "Hello @{SESSION_ID}.ask.name"}, lookup)
        {'text': 'Hello Ann'}
    """
    if isinstance(value, str):
        return _resolve_text(value, lookup, dialect)
    if isinstance(value, Mapping):
        return {key: resolve(each, lookup, dialect) for key, each in value.items()}
    if isinstance(value, list):
        return [resolve(each, lookup, dialect) for each in value]
    return value


def _resolve_text(text: str, lookup: Lookup, dialect: Dialect) -> Any:
    if _OPEN not in text:
        return text
    template = parse(text)
    if len(template) == 1 and isinstance(template[0], Reference):
        value = find(template[0], lookup, dialect)
        return value if dialect.keeps_type else inserted(value, dialect)
    return "".join(
        part if isinstance(part, str) else inserted(find(part, lookup, dialect), dialect)
        for part in template
    )


def inserted(value: Any, dialect: Dialect = STRICT) -> str:
    """Return a value as it stands inside a text: a text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    return str(value) if dialect.inserts_python else to_json(value)


def find(reference: Reference, lookup: Lookup, dialect: Dialect = STRICT) -> Any:
    """Return what a reference refers to, or its default.

    Raises:
        Missing: It has no default and refers to what is not there.
    """
    while True:
        found = _found(reference, lookup, dialect)
        if found is not NOTHING:
            return found
        match reference.default:
            case None if dialect.missing == "error":
                raise Missing(reference)
            case None:
                return str(reference) if dialect.missing == "text" else None
            case Fallback(value, text):
                return value if dialect.has_json_defaults else text
            case Reference() as default:
                reference = default


def is_missing(reference: Reference, lookup: Lookup, dialect: Dialect = STRICT) -> bool:
    """Return whether a reference without a default refers to what is not there."""
    try:
        find(reference, lookup, dialect)
    except Missing:
        return True
    return False


def _found(reference: Reference, lookup: Lookup, dialect: Dialect) -> Any:
    path = reference.path
    if not dialect.has_cycles and (
        reference.cycle != LATEST or any(isinstance(key, int) for key in path)
    ):
        return NOTHING
    if not dialect.has_paths and path:
        path = (".".join(map(str, path)),)
    return _follow(lookup(reference.session, reference.step, reference.cycle), path)


def _follow(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(str(key), NOTHING)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return NOTHING
    return value
