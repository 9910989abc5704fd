"""Declarations, calls, imports and bases of a source file, as its syntax shows them."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import cleandoc
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from tree_sitter import Node

from sidecypher_procedures.code.languages.grammars import grammar_of
from sidecypher_procedures.code.languages.syntax import LONGEST_TEXT, TYPES, Match, Syntax, last_row
from sidecypher_procedures.code.model import (
    At,
    Base,
    Declaration,
    EntityType,
    Import,
    Language,
    SourceFile,
    Use,
)

_SEPARATORS: Final = re.compile(r"::|\.")

DEEPEST: Final = 100
"""The most declarations around another: each name contains those of its parents."""


def extract(path: str, language: Language, source: bytes) -> SourceFile:
    r"""Return what the syntax of a source file shows, whatever its bytes are.

    Lines end with a line feed. A declaration is where its keyword is in Python and where its name
    is in other languages.

    Args:
        path: The path below the root, with ``/``.
        language: Its language.
        source: Its content.

    Example:
        >>> file = extract("shop/cart.py", "python", b"class Cart:\n    def add(self): ...")
        >>> [declaration.path_in_file for declaration in file.declarations]
        ['', 'Cart', 'Cart.add']
    """
    syntax = Syntax(source.removeprefix(BOM_UTF8), grammar_of(path, language))
    return _Reading(_file_draft(path, syntax.source), syntax).file(path, language)


@dataclass(slots=True, kw_only=True, eq=False)
class _Draft:
    """A declaration that has no index yet.

    Attributes:
        path: Its name after those of its parents.
        home: The path of the class it belongs to, if that is not what it is in.
        lambdas: How many lambdas it has.
        names: The variables it has.
        hidden: The names of its parameters and local variables that are nothing else in it.
    """

    name: str
    path: str
    type: EntityType
    line: int
    column: int
    start_line: int
    end_line: int
    parent: "_Draft | None"
    signature: str = ""
    docstring: str = ""
    home: str = ""
    index: int = 0
    lambdas: int = 0
    names: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    children: list["_Draft"] = field(default_factory=list)

    def sees(self, name: str) -> bool:
        """Return whether a name in it is not that of a local variable."""
        around: _Draft | None = self
        while around is not None and name not in around.hidden:
            around = around.parent
        return around is None

    def declaration(self) -> Declaration:
        """Return the declaration; its parent has an index."""
        return Declaration(
            name=self.name,
            path_in_file=self.path,
            type=self.type,
            line=self.line,
            column=self.column,
            start_line=self.start_line,
            end_line=self.end_line,
            parent=self.parent.index if self.parent else None,
            signature=self.signature,
            docstring=self.docstring,
        )


def _file_draft(path: str, source: bytes) -> _Draft:
    return _Draft(
        name=PurePosixPath(path).stem,
        path="",
        type="module",
        line=1,
        column=0,
        start_line=1,
        end_line=source.count(b"\n") + (not source.endswith(b"\n")),
        parent=None,
    )


class _Scope(NamedTuple):
    """What encloses a place.

    Attributes:
        draft: The declaration.
        end: The byte where the scope ends.
        label: What comes before the names in it.
    """

    draft: _Draft
    end: int
    label: str = ""


class _Reading:
    """Reads matches in the order of the file, with the scopes around each."""

    def __init__(self, file: _Draft, syntax: Syntax) -> None:
        self._syntax = syntax
        self._file = file
        self._drafts: list[_Draft] = []
        self._by_node: dict[int, _Draft] = {}
        self._scopes = [_Scope(file, len(syntax.source) + 1)]
        self._calls: list[tuple[_Draft, Node, str, str, At]] = []
        self._uses: dict[tuple[int, str, str], tuple[_Draft, Node, At]] = {}
        self._end_of_others = 0
        self._imports: list[tuple[_Draft, int, str, str, str]] = []
        self._bases: list[tuple[_Draft | str, int, str, At]] = []
        self._aliases: list[At] = []
        for event in sorted(self._events(), key=_event_order):
            self._leave_scopes(event.start)
            event.read(event.match)

    def _events(self) -> Iterator["_Event"]:
        """Yield what to read; the body of a definition comes before what is as long as it."""
        readers: Mapping[str, Callable[[Match], None]] = {
            "call": self._call,
            "import": self._import,
            "base": self._base,
            "docstring": self._docstring,
            "scope": self._scope,
            "local": self._local,
            "other": self._other,
            "use": self._use,
            "renamed": self._renamed,
        }
        for match in self._syntax.matches:
            node = match.node
            if match.kind not in TYPES:
                rank = 3 if match.kind == "use" else 2
                yield _Event(node.start_byte, node.end_byte, rank, readers[match.kind], match)
                continue
            yield _Event(node.start_byte, node.end_byte, 1, self._define, match)
            for body in match.captures.get("body", ()):
                yield _Event(body.start_byte, body.end_byte, 0, self._enter, match)

    def _leave_scopes(self, place: int) -> None:
        while self._scopes[-1].end <= place:
            self._scopes.pop()

    def _text(self, match: Match, capture: str) -> str:
        """Return the text of a capture, "" if the match has none."""
        nodes = match.captures.get(capture)
        return self._syntax.text(nodes[0]) if nodes else ""

    def _define(self, match: Match) -> None:
        scope = self._scopes[-1]
        name = self._name(match, scope.draft)
        if name is None or len(self._scopes) > DEEPEST:
            return
        draft = self._draft(match, name, scope)
        self._drafts.append(draft)
        self._by_node[match.node.id] = draft
        if draft.type != "variable" and "body" not in match.captures:
            self._scopes.append(_Scope(draft, match.node.end_byte))

    def _name(self, match: Match, parent: _Draft) -> str | None:
        """Return the name of a definition, None if it is not kept.

        Local variables, those defined before, and classes without a name are not kept.
        """
        name = self._text(match, "name")
        if TYPES[match.kind] == "variable":
            local = parent.type == "function" or (match.kind == "variable" and parent.path != "")
            if local or name in parent.names:
                return None
            parent.names.add(name)
        elif match.kind == "function" and not name:
            parent.lambdas += 1
            return f"<lambda{parent.lambdas}>"
        return name or None

    def _draft(self, match: Match, name: str, scope: _Scope) -> _Draft:
        captures = match.captures
        node = captures.get("whole", [match.node])[0]
        place = captures.get("place") or captures.get("name") or [node]
        row, column = place[0].start_point
        start, comment = self._syntax.start_of(node)
        label = self._text(match, "label") or scope.label
        home = _joined(scope.draft.path, label) if label else ""
        return _Draft(
            name=name,
            path=_joined(home or scope.draft.path, name),
            type=TYPES[match.kind],
            line=row + 1,
            column=column,
            start_line=start + 1,
            end_line=last_row(node) + 1,
            parent=scope.draft,
            signature=self._signature(node, captures.get("until")),
            docstring=comment,
            home=home,
        )

    def _signature(self, node: Node, until: Sequence[Node] | None) -> str:
        start = node.start_byte
        end = until[0].start_byte if until else node.end_byte
        text = self._syntax.between(start, min(end, start + LONGEST_TEXT)).strip()
        return text if until else text.partition("\n")[0].rstrip()

    def _enter(self, match: Match) -> None:
        draft = self._by_node.get(match.node.id)
        if draft is not None:
            self._scopes.append(_Scope(draft, match.captures["body"][0].end_byte))

    def _scope(self, match: Match) -> None:
        draft, _, label = self._scopes[-1]
        inner = self._text(match, "label")
        label = f"{label}::{inner}" if label else inner
        self._scopes.append(_Scope(draft, match.node.end_byte, label[:LONGEST_TEXT]))

    def _docstring(self, match: Match) -> None:
        text = self._syntax.text(match.node, len(self._syntax.source))
        self._scopes[-1].draft.docstring = cleandoc(text)

    def _call(self, match: Match) -> None:
        name, receiver = self._text(match, "name"), self._text(match, "receiver")
        place = match.captures.get("name", [match.node])[0]
        for callee in match.captures.get("callee", ()):
            name, place = self._field(callee, match.settings["name"])
            receiver, _ = self._field(callee, match.settings["receiver"])
        self._calls.append((self._scopes[-1].draft, match.node, name, receiver, _at(place)))

    def _field(self, node: Node, name: str | None) -> tuple[str, Node]:
        """Return the text and the node of a field, "" and the node itself if it has none."""
        child = node.child_by_field_name(name or "")
        return (self._syntax.text(child), child) if child else ("", node)

    def _local(self, match: Match) -> None:
        draft = self._scopes[-1].draft
        if draft.type == "function":
            draft.hidden.add(self._syntax.text(match.node))

    def _other(self, match: Match) -> None:
        self._end_of_others = max(self._end_of_others, match.node.end_byte)

    def _use(self, match: Match) -> None:
        node, settings = match.node, match.settings
        if node.start_byte < self._end_of_others:
            return
        name, place, receiver = self._syntax.text(node), node, ""
        if "name" in settings:
            name, place = self._field(node, settings["name"])
            receiver, _ = self._field(node, settings["receiver"])
        draft = self._scopes[-1].draft
        self._uses.setdefault((id(draft), name, receiver), (draft, node, _at(place)))

    def _renamed(self, match: Match) -> None:
        self._aliases.append(_at(match.node))

    def _import(self, match: Match) -> None:
        self._other(match)
        scope, settings = self._scopes[-1], match.settings
        module = (settings.get("before") or "") + self._text(match, "module")
        if scope.label:
            module = f"{scope.label}::{module}" if module else scope.label
        name = settings.get("imported") or self._text(match, "imported")
        row = match.node.start_point.row
        self._imports.append((scope.draft, row, module, name, self._text(match, "alias")))

    def _base(self, match: Match) -> None:
        draft, _, label = self._scopes[-1]
        owner: _Draft | str | None = _joined(draft.path, label) if label else draft
        if "derived" in match.captures:
            owner = self._by_node.get(match.captures["derived"][0].id)
        if owner is not None:
            name = self._text(match, "base")
            row, end = match.node.end_point
            at = At(row + 1, end - len(_SEPARATORS.split(name)[-1].encode()))
            self._bases.append((owner, match.node.start_point.row, name, at))

    def file(self, path: str, language: Language) -> SourceFile:
        """Return all that has been read, after giving each declaration its index."""
        classes = {draft.path: draft for draft in self._drafts if draft.type == "class"}
        for draft in self._drafts:
            draft.parent = classes.get(draft.home, draft.parent) if draft.home else draft.parent
            if draft.parent is not None:
                draft.parent.children.append(draft)
                draft.parent.hidden.discard(draft.name)
        return SourceFile(
            path=path,
            language=language,
            declarations=tuple(draft.declaration() for draft in _numbered(self._file)),
            calls=tuple(self._call_sites()),
            uses=tuple(self._seen_uses()),
            imports=tuple(
                Import(module=module, name=name, alias=alias, line=row + 1, inside=draft.index)
                for draft, row, module, name, alias in self._imports
            ),
            bases=tuple(self._found_bases(classes)),
            aliases=tuple(self._aliases),
            error=self._syntax.error(),
        )

    def _call_sites(self) -> Iterator[Use]:
        for draft, node, name, receiver, at in self._calls:
            yield _use(draft, node, name, receiver, at)

    def _seen_uses(self) -> Iterator[Use]:
        for (_, name, receiver), (draft, node, at) in self._uses.items():
            if draft.sees(_SEPARATORS.split(receiver or name)[0]):
                yield _use(draft, node, name, receiver, at)

    def _found_bases(self, classes: Mapping[str, _Draft]) -> Iterator[Base]:
        for owner, row, name, at in self._bases:
            draft = classes.get(owner) if isinstance(owner, str) else owner
            if draft is not None:
                yield Base(name=name, line=row + 1, name_at=at, inside=draft.index)


class _Event(NamedTuple):
    """A match to read, and where it is.

    Attributes:
        rank: Its place among those with the same bytes.
    """

    start: int
    end: int
    rank: int
    read: Callable[[Match], None]
    match: Match


def _event_order(event: _Event) -> tuple[int, int, int]:
    """Return the place of an event: what contains another comes first."""
    return event.start, -event.end, event.rank


def _use(draft: _Draft, node: Node, name: str, receiver: str, at: At) -> Use:
    row, column = node.start_point
    return Use(
        name=name, receiver=receiver, line=row + 1, column=column, name_at=at, inside=draft.index
    )


def _at(node: Node) -> At:
    row, column = node.start_point
    return At(row + 1, column)


def _joined(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def _numbered(file: _Draft) -> list[_Draft]:
    """Return a draft and all that are in it, parents first, each with its index."""
    ordered: list[_Draft] = []
    waiting = [file]
    while waiting:
        draft = waiting.pop()
        draft.index = len(ordered)
        ordered.append(draft)
        waiting.extend(reversed(draft.children))
    return ordered
