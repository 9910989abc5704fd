"""From source files and resolved calls to the entities, chunks and relationships of a graph."""

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from sidecypher_procedures.code.languages.syntax import LONGEST_TEXT
from sidecypher_procedures.code.model import (
    Chunk,
    CodeGraph,
    Declaration,
    Entity,
    EntityType,
    Link,
    Place,
    Relationship,
    RelationshipType,
    Resolution,
    SourceFile,
)
from sidecypher_procedures.code.python.modules import module_name
from sidecypher_procedures.code.words import lines_of

CONFIDENCES: Final[Mapping[Resolution, float]] = {
    "exact": 1.0,
    "typed": 0.95,
    "flow": 0.9,
    "unique_name": 0.5,
    "class_family": 0.5,
}
"""How sure a way of resolution is."""

LONGEST_CHUNK: Final = 200
"""The most lines of a chunk; a longer class is split at its methods."""

_CHARACTERS_PER_TOKEN: Final = 4

_NO_NAMES: Final = frozenset({"", "*", "_"})
"""What stands for the name of an import that brings no name, or many."""


class Assembly:
    """Makes the graph of one repository.

    Args:
        repo_id: The repository, which is part of every id.
    """

    def __init__(self, repo_id: str) -> None:
        self._repo_id = repo_id
        self._ids: dict[Place, str] = {}
        self._external: set[str] = set()
        self._calls: list[tuple[str, int, int]] = []
        self._resolved: set[tuple[str, int, int]] = set()
        self.graph: Final = CodeGraph()

    def add_file(self, file: SourceFile, source: bytes) -> None:
        """Add what a file declares, and its chunks."""
        lines = lines_of(source.decode("utf-8", "replace"))
        chunks = list(self._chunks(file, lines))
        self.graph.chunks += chunks
        if file.error:
            self.graph.failed[file.path] = file.error
        self._calls += [(file.path, call.line, call.column) for call in file.calls]
        counts: dict[tuple[str, EntityType], int] = {}
        module = _module_of(file)
        for index, declared in enumerate(file.declarations):
            name = f"{module}.{declared.path_in_file}" if declared.path_in_file else module
            number = counts[name, declared.type] = counts.get((name, declared.type), 0) + 1
            entity = Entity(
                id=self._id(file.language, file.path, name, declared.type, str(number)),
                name=declared.name,
                qualified_name=name,
                type=declared.type,
                path=file.path,
                language=file.language,
                start_line=declared.start_line,
                end_line=declared.end_line,
                signature=declared.signature,
                docstring=declared.docstring,
                chunk_id=_chunk_of(chunks, declared.start_line),
            )
            self.graph.entities.append(entity)
            self._ids[Place(file.path, index)] = entity.id
            if declared.parent is not None:
                parent = Place(file.path, declared.parent)
                self.add(
                    [
                        Link(
                            parent,
                            Place(file.path, index),
                            "contains",
                            "exact",
                            declared.line,
                            declared.column,
                        )
                    ]
                )
        self._add_imports(file, lines, chunks)

    def _add_imports(self, file: SourceFile, lines: list[str], chunks: list[Chunk]) -> None:
        """Add an entity for each name that a file imports, contained in the file."""
        module = _module_of(file)
        for name, line in _imported(file).items():
            qualified = f"{module}.{name}"
            entity = Entity(
                id=self._id(file.language, file.path, qualified, "import", "1"),
                name=name,
                qualified_name=qualified,
                type="import",
                path=file.path,
                language=file.language,
                start_line=line,
                end_line=line,
                signature="".join(lines[line - 1 : line]).strip()[:LONGEST_TEXT],
                chunk_id=_chunk_of(chunks, line),
            )
            self.graph.entities.append(entity)
            self._relate(Place(file.path, 0), entity.id, "contains", line)

    def add(self, links: Iterable[Link]) -> None:
        """Add relationships; the first of several between the same entities stays."""
        for link in links:
            source, target = self._ids.get(link.source), self._ids.get(link.target)
            if source is None or target is None:
                continue
            if link.type == "calls":
                self._resolved.add((link.source.path, link.line, link.column))
            self.graph.relationships.append(
                Relationship(
                    source=source,
                    target=target,
                    type=link.type,
                    resolution=link.resolution,
                    confidence=CONFIDENCES[link.resolution],
                    path=link.source.path,
                    line=link.line,
                    column=link.column,
                )
            )

    def add_external(self, file: SourceFile, package: str, line: int) -> None:
        """Add the import of a package that is not part of the repository."""
        entity_id = self._id(file.language, package, "external")
        if entity_id not in self._external:
            self._external.add(entity_id)
            self.graph.entities.append(
                Entity(
                    id=entity_id,
                    name=package,
                    qualified_name=package,
                    type="module",
                    path="",
                    language=file.language,
                    start_line=0,
                    end_line=0,
                    external=True,
                )
            )
        self._relate(Place(file.path, 0), entity_id, "imports", line)

    def _relate(
        self, source: Place, target: str, relationship: RelationshipType, line: int
    ) -> None:
        self.graph.relationships.append(
            Relationship(
                source=self._ids[source],
                target=target,
                type=relationship,
                resolution="exact",
                confidence=1.0,
                path=source.path,
                line=line,
                column=0,
            )
        )

    def finish(self) -> CodeGraph:
        """Return the graph, in an order that does not depend on that of the files."""
        graph = self.graph
        open_calls = (path for path, *at in self._calls if (path, *at) not in self._resolved)
        graph.unresolved = dict(sorted(Counter(open_calls).items()))
        graph.entities.sort(key=lambda entity: entity.id)
        graph.chunks.sort(key=lambda chunk: chunk.id)
        calls = {(each.source, each.target) for each in graph.relationships if each.type == "calls"}
        graph.relationships = [
            each
            for each in graph.relationships
            if each.type != "references" or (each.source, each.target) not in calls
        ]
        first: dict[tuple[str, str, str], Relationship] = {}
        graph.relationships.sort(key=_place_order)
        for each in graph.relationships:
            first.setdefault((each.type, each.source, each.target), each)
        graph.relationships = [first[key] for key in sorted(first)]
        return graph

    def _id(self, *parts: str) -> str:
        text = "\0".join((self._repo_id, *parts))
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()

    def _chunks(self, file: SourceFile, lines: list[str]) -> Iterator[Chunk]:
        """Split a file at its top-level definitions; large classes at their methods."""
        counts: dict[str, int] = {}
        for name, start, end in _parts(file, len(lines)):
            text = "\n".join(lines[start - 1 : end])
            if not text.strip():
                continue
            number = counts[name] = counts.get(name, 0) + 1
            yield Chunk(
                id=self._id(file.path, name, "chunk", str(number)),
                path=file.path,
                start_line=start,
                end_line=end,
                text=text,
                tokens=max(1, len(text) // _CHARACTERS_PER_TOKEN),
            )


def _module_of(file: SourceFile) -> str:
    """Return the dotted name of a file, which begins the names of all that it declares."""
    if file.language == "python":
        return module_name(file.path)
    return ".".join(PurePosixPath(file.path).with_suffix("").parts)


def _place_order(each: Relationship) -> tuple[str, int, int, str]:
    return (each.path, each.line, each.column, each.resolution)


def _parts(file: SourceFile, lines: int) -> Iterator[tuple[str, int, int]]:
    """Yield name, first and last line of the parts of a file, without gaps."""
    begin, name = 1, ""
    for declared in _split_at(file):
        if declared.start_line > begin:
            yield from _cut(name, begin, declared.start_line - 1)
            begin = declared.start_line
        name = declared.path_in_file
    if lines >= begin:
        yield from _cut(name, begin, lines)


def _split_at(file: SourceFile) -> Iterator[Declaration]:
    for declared in file.declarations[1:]:
        if declared.type not in {"function", "class"} or declared.parent is None:
            continue
        parent = file.declarations[declared.parent]
        length = parent.end_line - parent.start_line + 1
        if declared.parent == 0 or (parent.type == "class" and length > LONGEST_CHUNK):
            yield declared


def _cut(name: str, begin: int, end: int) -> Iterator[tuple[str, int, int]]:
    for number, start in enumerate(range(begin, end + 1, LONGEST_CHUNK)):
        part = f"{name}+{number}" if number else name
        yield part, start, min(end, start + LONGEST_CHUNK - 1)


def _imported(file: SourceFile) -> dict[str, int]:
    """Return the names that a file imports, each with its first line; a module if all of it is."""
    lines: dict[str, int] = {}
    for each in file.imports:
        names = (name for name in (each.alias, each.name) if name not in _NO_NAMES)
        name = next(names, each.module)
        if name:
            lines[name] = min(each.line, lines.get(name, each.line))
    return lines


def _chunk_of(chunks: list[Chunk], line: int) -> str | None:
    number = bisect_right(chunks, line, key=lambda chunk: chunk.start_line) - 1
    return chunks[number].id if chunks else None
