"""References: `@{SESSION_ID}.step[cycle].key[index]|default` in texts, parsed and resolved."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NoReturn

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.errors import InvalidReference

LATEST: Final = -1
"""The cycle of the latest output of a step."""

OWN: Final = "SESSION_ID"
"""The name in a reference that means the session which resolves it."""

MOST_DEFAULTS: Final = 20
"""The most references that are each the default of the one before."""

MOST_DEPTH: Final = 100
"""How deep maps and lists may be inside each other."""

_OPEN: Final = "@{"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_INTEGER: Final = re.compile(r"-?[0-9]{1,15}(?=\])")
_TO_SPACE: Final = re.compile(r"\S*")
_JSON: Final = json.JSONDecoder()
_INTEGERS: Final = range(-(2**63), 2**63)
_LONGEST_INTEGER: Final = len(str(_INTEGERS[0]))


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
    if isinstance(default, Reference):
        return f"|{default}"
    # JSON has these two characters in texts only.
    return "|" + to_json(default.value).replace(_OPEN, "@\\u007b")


def to_json(value: Any) -> str:
    """Return a value as compact JSON.

    Raises:
        ValueError, TypeError: JSON, or Cypher, does not have it, or it is deeper than `MOST_DEPTH`.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    _check(value)
    return text


def from_json(text: str) -> Any:
    """Return what a JSON text has; whole numbers beyond 64 bits become floats.

    Raises:
        ValueError: It is not JSON, a map has a key twice, or a value is one that `to_json` refuses.
            The error's text goes on after the name of what was read, and says where or why.

    Example:
        >>> from_json('{"a": 1')
        Traceback (most recent call last):
        ...
        ValueError: is not JSON at line 1, column 8: Expecting ',' delimiter
    """
    try:
        value = json.loads(
            text,
            object_pairs_hook=_map,
            parse_int=_number,
            parse_float=_number,
            parse_constant=_number,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"is not JSON at {place}: {error.msg}") from None
    except RecursionError:
        raise _too_deep() from None
    _check(value)
    return value


def _map(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"has the key `{shown_id(twice)}` twice in one map")
    return found


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("has a number that is too large, or none")
    is_whole = text.removeprefix("-").isdecimal() and len(text) <= _LONGEST_INTEGER
    return int(text) if is_whole and int(text) in _INTEGERS else number


def _check(value: Any) -> None:
    """Check that a value is not too deep, and that its numbers and texts are also Cypher's.

    Raises:
        ValueError: It is not so.
    """
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                if not each.isascii():
                    _check_text(each)
            elif isinstance(each, int):
                if each not in _INTEGERS:
                    raise ValueError("has a whole number beyond 64 bits")
            elif isinstance(each, Mapping):
                below += each
                below += each.values()
            elif isinstance(each, list | tuple):
                below += each
        if not below:
            return
        level = below
    raise _too_deep()


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("has half of a character, such as `\\ud83d` alone") from None


def _too_deep() -> ValueError:
    return ValueError(f"is nested deeper than {MOST_DEPTH} maps and lists")


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
    reference as a whole: the default runs to the end. It has no reference but at its beginning, and
    nothing behind it if it is quoted.

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
    begin = end + 1
    if text.startswith(_OPEN, begin):
        inner = _whole(text, begin, depth + 1)
        return None if inner is None else replace(reference, default=inner)
    if text.find(_OPEN, begin) >= 0 or _end_of_quoted(text, begin) not in {None, len(text)}:
        return None
    return replace(reference, default=_default(text[begin:]))


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
        end_of_quoted = _end_of_quoted(text, begin)
        if end_of_quoted is None:
            _refuse("the quoted default does not end", begin)
        end = end_of_quoted
    else:
        end = _match(_TO_SPACE, text, begin).end()
    return replace(reference, default=_default(text[begin:end])), end


def _end_of_quoted(text: str, at: int) -> int | None:
    """Return where a quoted text ends that begins there; None if none does."""
    if not text.startswith('"', at):
        return None
    try:
        return _JSON.raw_decode(text, at)[1]
    except ValueError:
        return None


def _default(text: str) -> Fallback:
    """Return a default: a value if it is JSON, else the text."""
    try:
        return Fallback(from_json(text), text)
    except ValueError:
        return Fallback(text, text)


def _without_default(text: str, at: int, depth: int) -> tuple[Reference, int]:
    if depth > MOST_DEFAULTS:
        _refuse(f"it is the {MOST_DEFAULTS + 1}th of a chain of defaults", at)
    end = text.find("}", at)
    session = text[at + len(_OPEN) : end]
    if end < 0 or _OPEN in session:
        _refuse("its brace is not closed", at)
    if not session.strip():
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
        keeps_scalars: Whether a number or a boolean that is a whole text stays one; else it is
            inserted.
        inserts_python: Whether values in texts are written as Python does; else as JSON.
    """

    missing: Literal["error", "text", "null"] = "error"
    has_json_defaults: bool = True
    keeps_scalars: bool = True
    inserts_python: bool = False


STRICT: Final = Dialect()
"""The references of this engine."""

DIALECTS: Final[Mapping[str, Dialect]] = {
    "graphie": Dialect(
        missing="text", has_json_defaults=False, keeps_scalars=False, inserts_python=True
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
        is_text = not dialect.keeps_scalars and isinstance(value, bool | int | float)
        return inserted(value, dialect) if is_text else value
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
        output = lookup(reference.session, reference.step, reference.cycle)
        found = _follow(output, reference.path)
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


def _follow(value: Any, path: Sequence[str | int]) -> Any:
    for key in path:
        if isinstance(value, Mapping):
            value = value.get(str(key), NOTHING)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return NOTHING
    return value
