"""What the names in a program are of, by SCIP indexes.

An index may be older than the files. So nothing of it counts for a file that it does not fit: each
text that it names must be in the line, be a whole word, and not be the name of something else.
"""

from codecs import BOM_UTF8
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, NamedTuple, TypeAlias

from sidecypher_procedures.code.model import At, Place, SourceFile, Targets
from sidecypher_procedures.code.scip.columns import word_at
from sidecypher_procedures.code.scip.format import Document, Encoding, Index
from sidecypher_procedures.code.scip.symbols import is_local, is_module, is_type, symbol_of

MOST_TARGETS: Final = 8
"""The most targets of a name: more say nothing."""

_LONGEST_CHAIN: Final = 5
"""How many names hand a function on, such as those of the properties in ``{ price }``."""

Spot: TypeAlias = tuple[str, At]
"""A place in a file."""


@dataclass(slots=True)
class Resolved:
    """What indexes say of a program.

    Attributes:
        targets: The declarations that names are of; none for a name of something that is not in the
            repository or is no entity, such as a parameter.
        misfits: How many places of an index do not fit a file, by its path.
    """

    targets: Targets
    misfits: Mapping[str, int]


def resolve(
    indexes: Sequence[Index], files: Iterable[SourceFile], sources: Mapping[str, bytes]
) -> Resolved:
    """Find what the names in a program are of.

    Args:
        indexes: The indexes. Of two that know a name, the first one counts.
        files: What the syntax of the files shows.
        sources: The bytes of the files.

    Raises:
        BadIndex: A document of an index is damaged.
    """
    reading = _Reading(_Syntax(files))
    for number, index in enumerate(indexes):
        for document in index.documents(sources):
            reading.read(number, document, sources[document.path])
    return reading.resolved()


class _Syntax:
    """The places of a program that an index is asked about."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._declared: dict[Spot, Place] = {}
        self._named: dict[tuple[str, int, str], Place] = {}
        self.calls: set[Spot] = set()
        self.names: set[Spot] = set()
        self.aliases: set[Spot] = set()
        self._imported: dict[str, set[str]] = {}
        for file in files:
            path = file.path
            self._imported[path] = {each.alias or each.name for each in file.imports}
            for index, declared in enumerate(file.declarations[1:], 1):
                place = Place(path, index)
                self._declared[path, At(declared.line, declared.column)] = place
                self._named[path, declared.line, declared.name] = place
            self.calls.update((path, each.name_at) for each in file.calls)
            for sites in (file.calls, file.uses, file.bases):
                self.names.update((path, each.name_at) for each in sites)
            self.aliases.update((path, at) for at in file.aliases)

    def declaration(self, spot: Spot, text: str) -> Place | None:
        """Return what has its name at a place; in Python, declarations begin before their names."""
        path, at = spot
        return self._declared.get(spot) or self._named.get((path, at.line, text))

    def is_imported(self, path: str, name: str) -> bool:
        """Return whether a file imports a name."""
        return name in self._imported[path]


class _Named(NamedTuple):
    """A text that a document says to name a symbol.

    Attributes:
        source: The document, by the number of its index and the file.
        symbol: The symbol; that of a local one has the document after its name.
    """

    source: tuple[int, str]
    at: At
    text: str
    symbol: str
    is_definition: bool

    @property
    def spot(self) -> Spot:
        return self.source[1], self.at


class _Reading:
    """Keeps of documents what says something of the program."""

    def __init__(self, syntax: _Syntax) -> None:
        self._syntax = syntax
        self._definitions: dict[str, list[_Named]] = defaultdict(list)
        self._lost: set[str] = set()  # symbols that are not defined where an index says
        self._aliases: set[tuple[str, str]] = set()
        self._asked: list[_Named] = []
        self._doubtful: list[_Named] = []
        self._shared: dict[tuple[tuple[int, str], At], set[str]] = {}
        self._misfits: Counter[tuple[int, str]] = Counter()

    def read(self, number: int, document: Document, source: bytes) -> None:
        """Read a document; one that does not fit its file is left out."""
        origin = (number, document.path)
        lines = source.removeprefix(BOM_UTF8).split(b"\n")
        encodings = document.encodings[:1] if source.isascii() else document.encodings
        fitting = (_fitting(origin, document, lines, encoding) for encoding in encodings)
        named, misfits = min(fitting, key=lambda found: (found[1], _count_doubts(found[0])))
        if misfits:
            self._misfits[origin] += misfits
            self._lost.update(each.symbol for each in document.occurrences if each.is_definition)
            return
        together: dict[At, set[str]] = defaultdict(set)
        for each in named:
            together[each.at].add(each.symbol)
            self._keep(each)
        self._shared |= {(origin, at): found for at, found in together.items() if len(found) > 1}

    def _keep(self, named: _Named) -> None:
        name = symbol_of(named.symbol).name
        if named.spot in self._syntax.aliases:
            self._aliases.add((named.text, named.symbol))
        elif name and not _is_alike(named.text, name):
            self._doubtful.append(named)
            if named.is_definition:
                self._lost.add(named.symbol)
        elif named.is_definition:
            self._definitions[named.symbol].append(named)
        if named.spot in self._syntax.names:
            self._asked.append(named)

    def resolved(self) -> Resolved:
        """Return what the documents say that fit the program."""
        names = {(symbol_of(symbol).name, is_type(symbol)) for symbol in self._definitions}
        for each in self._doubtful:
            is_taken = (each.text, is_type(each.symbol)) in names
            if is_taken and not self._is_name(each.text, each.symbol):
                self._misfits[each.source] += 1
        # Whether all symbols are types by which a place is known to name a declaration.
        answers: dict[Spot, tuple[int, dict[Place, bool]]] = {}
        for each in self._asked:
            found = self._targets(each)
            if found is not None:
                number, _ = each.source
                first, targets = answers.setdefault(each.spot, (number, {}))
                if first == number:
                    for target in found:
                        targets[target] = is_type(each.symbol) and targets.get(target, True)
        return Resolved(
            {spot: self._chosen(spot, targets) for spot, (_, targets) in answers.items()},
            {path: misfits for (_, path), misfits in sorted(self._misfits.items())},
        )

    def _chosen(self, spot: Spot, targets: Mapping[Place, bool]) -> Sequence[Place]:
        """Choose what a name is of: a function is called, not the interface of its name."""
        chosen = [*targets]
        if spot in self._syntax.calls:
            chosen = [target for target, is_only_type in targets.items() if not is_only_type]
        return tuple(chosen or targets) if len(targets) <= MOST_TARGETS else ()

    def _is_name(self, text: str, symbol: str) -> bool:
        """Return whether a text names a symbol: by its own name, its class's, or an alias."""
        name, owner, outer = symbol_of(symbol)
        return (
            text in {name, owner}
            or (text, symbol) in self._aliases
            or (not name and (text, outer) in self._aliases)
            or any(text == each.text for each in self._definitions.get(symbol, ()))
        )

    def _targets(self, named: _Named) -> Sequence[Place] | None:
        """Return the declarations of a name, None if they are not known."""
        if named.source in self._misfits or not self._is_name(named.text, named.symbol):
            return None
        found = self._declarations(named.symbol, 0)
        path, _ = named.spot
        # What an import of something unknown names is a local variable for some indexers.
        is_binding = not found and self._syntax.is_imported(path, named.text)
        return None if is_binding and self._is_in(named.symbol, path) else found

    def _is_in(self, symbol: str, path: str) -> bool:
        return any(each.spot[0] == path for each in self._definitions.get(symbol, ()))

    def _declarations(self, symbol: str, depth: int) -> Sequence[Place] | None:
        definitions = self._definitions.get(symbol, [])
        if not definitions:
            return None if is_local(symbol) or symbol in self._lost else ()
        fitting = [each for each in definitions if each.source not in self._misfits]
        if not fitting:
            return None
        places = [
            *filter(None, (self._syntax.declaration(each.spot, each.text) for each in fitting))
        ]
        if places:
            # The body of an overloaded function follows its signatures.
            return [max(places, key=lambda place: (place.path, place.index))]
        return [*self._handed_on(symbol, fitting, depth)]

    def _handed_on(self, symbol: str, definitions: Iterable[_Named], depth: int) -> Iterator[Place]:
        """Yield what is named where a symbol is defined, such as in ``{ price }``."""
        if depth == _LONGEST_CHAIN:
            return
        for each in definitions:
            for other in sorted(self._shared.get((each.source, each.at), ())):
                if other != symbol:
                    yield from self._declarations(other, depth + 1) or ()


def _fitting(
    origin: tuple[int, str], document: Document, lines: Sequence[bytes], encoding: Encoding
) -> tuple[list[_Named], int]:
    """Return what a document names in a file, and how many places do not fit the file."""
    named, misfits = [], 0
    for row, start, end, symbol, is_definition in document.occurrences:
        line = lines[row] if 0 <= row < len(lines) else b""
        word = word_at(line, start, end, encoding)
        if word is None:
            misfits += 1
            continue
        column, text = word
        at, name = At(row + 1, column), text.decode("utf-8", "replace")
        known_as = f"{symbol} {origin}" if is_local(symbol) else symbol
        named.append(_Named(origin, at, name, known_as, is_definition))
    return named, misfits + _count_misnamed_locals(named) + sum(map(_is_elsewhere, named))


def _count_doubts(named: Iterable[_Named]) -> int:
    """Count texts that have not the name of their symbol."""
    return sum(not _is_alike(each.text, symbol_of(each.symbol).name) for each in named)


def _count_misnamed_locals(named: Iterable[_Named]) -> int:
    """Count local variables that have another name than where they are defined."""
    texts: dict[str, list[str]] = defaultdict(list)
    for each in named:
        if each.is_definition and is_local(each.symbol):
            texts[each.symbol].append(each.text)
    return sum(
        each.symbol in texts and not any(_is_alike(each.text, text) for text in texts[each.symbol])
        for each in named
    )


def _is_elsewhere(named: _Named) -> bool:
    """Return whether a module has another name than the relative path that imports it."""
    path = named.text.strip("'\"")
    if path == named.text or not path.startswith(".") or not is_module(named.symbol):
        return False
    return PurePosixPath(path).stem.strip(".") not in named.symbol


def _is_alike(one: str, other: str) -> bool:
    """Return whether names may be of the same: some indexers add to a name, as in ``size=``."""
    return one in other or other in one
