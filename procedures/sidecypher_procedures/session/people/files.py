"""Workflow files: JSON objects whose errors name the line and the column."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sidecypher import ArgumentError
from sidecypher_procedures.names import LONGEST_NAME, is_id
from sidecypher_procedures.session.definition import check
from sidecypher_procedures.session.errors import InvalidWorkflow
from sidecypher_procedures.session.functions import SHIPPED
from sidecypher_procedures.session.options import WorkflowSpec
from sidecypher_procedures.session.validation import Finding

_NAME: Final = "workflow"
"""The field of a file that names its workflow."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]+')
_PATH: Final = re.compile(r"The argument `file(?P<path>\S*)` (?P<rest>.*)", re.DOTALL)
_UNKNOWN: Final = re.compile(r"has no field `(?P<name>.+?)`")
_INTEGERS: Final = range(-(2**63), 2**63)

Place = tuple[str | int, ...]
"""Where a value is in a JSON document: keys and indexes from the outside to the inside."""


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """A workflow file.

    Attributes:
        name: The workflow's name; None if the file does not name it.
        spec: The argument `spec` of `session.define`.
    """

    name: str | None
    spec: Mapping[str, Any] = field(repr=False)
    _text: "_Text" = field(repr=False)

    def findings(self) -> list[tuple[int | None, Finding]]:
        """Return what is wrong with the workflow, or may be, each with its line.

        A function that is not shipped is a warning, since another package may declare it.
        """
        spec = WorkflowSpec.from_map(self.spec, "file")
        try:
            _, _, found = check(self.name or "", spec, SHIPPED)
        except InvalidWorkflow as error:
            return [(None, Finding("error", "", "file", error.message))]
        lines = {each.id: self._text.line("steps", i) for i, each in enumerate(spec.steps)}
        return [(lines.get(each.step_id), _softened(each)) for each in found]


def _softened(finding: Finding) -> Finding:
    if finding.where != "function":
        return finding
    hint = "a sidecar has it only if a package declares it by `@step`"
    return Finding("warning", finding.step_id, finding.where, f"{finding.message}; {hint}")


def read_workflow_file(path: Path) -> WorkflowFile:
    """Return the workflow in a file.

    Raises:
        InvalidWorkflow: The file is not a workflow. The text names the line and the column.
    """
    try:
        text = _Text(path.name, path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InvalidWorkflow(f"`{path.name}` cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        message = f"`{path.name}` is not text in UTF-8, from byte {error.start} on"
        raise InvalidWorkflow(message) from None
    value = text.value
    if not isinstance(value, dict):
        raise text.error(0, "is not a JSON object", "Write `{...}` with `workflow` and `steps`.")
    name = value.get(_NAME)
    if name is not None and not (isinstance(name, str) and is_id(name)):
        message = f"has a `workflow` that is not a text of 1 to {LONGEST_NAME} characters"
        raise text.error(text.offset((_NAME,)), message)
    spec = {key: each for key, each in value.items() if key != _NAME}
    try:
        WorkflowSpec.from_map(spec, "file")
    except ArgumentError as error:
        raise text.located(error) from None
    return WorkflowFile(name, spec, text)


class _Text:
    """The text of a file, its value, and the places of keys and elements in it.

    Raises:
        InvalidWorkflow: It is not JSON, has a key twice, or a number that Neo4j does not have.
    """

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        try:
            self.value: Any = json.loads(text)
        except json.JSONDecodeError as error:
            raise self.error(error.pos, f"is not JSON: {error.msg}") from None
        except (ValueError, RecursionError):
            raise self.error(0, "has a number or a depth that Neo4j cannot store") from None
        self._offsets: dict[Place, int] = {}
        for place, offset in self._places():
            if place in self._offsets:
                raise self.error(offset, f"has the key `{_shown(place)}` twice")
            self._offsets[place] = offset

    def error(self, offset: int, what: str, hint: str = "") -> InvalidWorkflow:
        """Return the error for a place in the text."""
        before = self._text[:offset]
        line = before.count("\n") + 1
        column = offset - (before.rfind("\n") + 1) + 1
        return InvalidWorkflow(
            f"`{self._name}`, line {line}, column {column}: it {what}", hint=hint
        )

    def located(self, error: ArgumentError) -> InvalidWorkflow:
        """Return the error for a field that `WorkflowSpec` does not accept."""
        found = _PATH.fullmatch(error.message)
        if found is None:
            return self.error(0, error.message, error.hint)
        path = found["path"]
        unknown = _UNKNOWN.match(found["rest"])
        wanted = f"{path}.{unknown['name']}" if unknown else path
        shown = {f".{_shown(place)}": offset for place, offset in self._offsets.items()}
        # A field that is missing has no place, but the map that misses it does.
        offset = shown.get(wanted, shown.get(path, shown.get(path.rpartition(".")[0], 0)))
        where = f"field `{path.removeprefix('.')}`" if path else "file"
        return self.error(offset, f"is not a workflow: the {where} {found['rest']}", error.hint)

    def offset(self, place: Place) -> int:
        """Return where a key or an element begins, or 0 if it is not there."""
        return self._offsets.get(place, 0)

    def line(self, *place: str | int) -> int | None:
        """Return the line of a key or an element, or None if it is not there."""
        offset = self._offsets.get(place)
        return None if offset is None else self._text.count("\n", 0, offset) + 1

    def _places(self) -> Iterator[tuple[Place, int]]:
        """Yield each key and each element of a list with its offset; the text is JSON."""
        frames: list[str | int] = []
        is_key = False
        for token in _TOKEN.finditer(self._text):
            sign, offset = token[0], token.start()
            if frames and isinstance(frames[-1], int) and sign not in {",", "]"}:
                yield tuple(frames), offset
            if sign in {"{", "["}:
                is_key = sign == "{"
                frames.append("" if is_key else 0)
            elif sign in {"}", "]"}:
                frames.pop()
                is_key = False
            elif sign == ",":
                is_key = isinstance(frames[-1], str)
                if not is_key:
                    frames[-1] = int(frames[-1]) + 1
            elif sign == ":":
                is_key = False
            elif is_key:
                frames[-1] = json.loads(sign)
                yield tuple(frames), offset
            elif sign[0] != '"':
                self._check_number(sign, offset)

    def _check_number(self, sign: str, offset: int) -> None:
        value = json.loads(sign)
        is_stored = (
            value in _INTEGERS if isinstance(value, int) else value is None or math.isfinite(value)
        )
        if not is_stored:
            raise self.error(offset, "has a number that JSON or Neo4j does not have")


def _shown(place: Place) -> str:
    """Return a place as errors of arguments show it, such as `steps[0].id`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return text.removeprefix(".")
