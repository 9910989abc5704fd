"""The graph of a repository's code: entities, chunks and the relationships between entities."""

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

Language: TypeAlias = Literal["python", "javascript", "typescript", "go", "java", "rust", "ruby"]
EntityType: TypeAlias = Literal["function", "class", "module", "variable", "import"]
RelationshipType: TypeAlias = Literal["calls", "imports", "inherits", "contains", "references"]
Resolution: TypeAlias = Literal["exact", "typed", "flow", "unique_name", "class_family"]
Algorithm: TypeAlias = Literal["louvain", "leiden", "label_propagation", "none"]

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
ENTITY_TYPES: Final[tuple[EntityType, ...]] = get_args(EntityType)
RELATIONSHIP_TYPES: Final[tuple[RelationshipType, ...]] = get_args(RelationshipType)


class At(NamedTuple):
    """A place in a file.

    Attributes:
        line: The line, from 1.
        column: The byte in that line, from 0.
    """

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """A definition in a file, as its syntax shows it.

    Attributes:
        name: Its own name, such as ``func``; ``<lambda1>`` for the first lambda of its parent.
        path_in_file: Its name after those of its parents, such as ``A.func``; "" for the file.
        type: What it is; the file itself is a ``module``.
        line: The line of its keyword in Python, such as `def`, and of its name elsewhere, from 1;
            1 for a file. Decorators are above.
        column: The byte in that line, from 0.
        start_line: Its first line, decorators included.
        end_line: Its last line.
        parent: The index of the declaration around it; None for the file.
        signature: Its first line or lines up to the body, without spaces at the ends.
        docstring: What documents it, without quotes or comment marks; "" if nothing does.
    """

    name: str
    path_in_file: str
    type: EntityType
    line: int
    column: int
    start_line: int
    end_line: int
    parent: int | None
    signature: str = ""
    docstring: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A name that is called or read, as the syntax shows it.

    Attributes:
        name: The name, such as ``LIMIT`` in ``prices.LIMIT``; "" if what is called has none.
        receiver: What stands before it, such as ``prices``; "" if nothing does.
        line: The line where it begins, from 1.
        column: The byte in that line, from 0.
        name_at: Where the name is.
        inside: The index of the declaration that it is in.
    """

    name: str
    receiver: str
    line: int
    column: int
    name_at: At
    inside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """A name that a file imports.

    Attributes:
        module: The module as it is written, such as ``.cart``, ``./cart`` or ``shop.cart``.
        name: The name in the module; "" for the module itself, ``*`` for all.
        alias: The name it has in the file; "" if it has none.
        line: The line, from 1.
        inside: The index of the declaration that the import is in.
    """

    module: str
    name: str
    alias: str
    line: int
    inside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A base class or an interface that a class names.

    Attributes:
        name: The name as it is written, such as ``shop.Cart``.
        name_at: Where the last part of the name is.
        inside: The index of the class.
    """

    name: str
    line: int
    name_at: At
    inside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """What the syntax of a file shows.

    Attributes:
        path: The path below the root, with ``/``.
        declarations: The file itself, and after it all that it defines, parents first.
        uses: The first reading of each name in each declaration, except local variables; none for
            Python, see `python`.
        aliases: Where something gets another name, as in imports.
        error: Where its syntax is wrong; "" if it is right. What could be read is there anyway.
    """

    path: str
    language: Language
    declarations: tuple[Declaration, ...]
    calls: tuple[Use, ...] = ()
    uses: tuple[Use, ...] = ()
    imports: tuple[Import, ...] = ()
    bases: tuple[Base, ...] = ()
    aliases: tuple[At, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A symbol or a file of a repository.

    Attributes:
        id: An id that edits elsewhere never change.
        qualified_name: The dotted path from the root and the nested names, such as
            ``shop.cart.Cart.add``.
        path: The file, below the root.
        start_line: Its first line, decorators included, from 1.
        chunk_id: The chunk that it is defined in.
        external: Whether it is a package that the repository only imports.
    """

    id: str
    name: str
    qualified_name: str
    type: EntityType
    path: str
    language: Language
    start_line: int
    end_line: int
    signature: str = ""
    docstring: str = ""
    chunk_id: str | None = None
    external: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A part of a file that search returns.

    Attributes:
        tokens: About how many tokens of a language model its text has.
    """

    id: str
    path: str
    start_line: int
    end_line: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Relationship:
    """A relationship between two entities, with the reason for it.

    Attributes:
        source: The id of the entity that calls, imports, inherits, contains or refers.
        target: The id of the other entity.
        resolution: How the target was found.
        confidence: The share of such relationships that are right, from 0 to 1.
        path: The file of the place that shows it.
        line: The line of that place, from 1.
        column: The byte in that line, from 0.
    """

    source: str
    target: str
    type: RelationshipType
    resolution: Resolution
    confidence: float
    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Place:
    """A declaration, by its file and its index in `SourceFile.declarations`."""

    path: str
    index: int


Targets: TypeAlias = Mapping[tuple[str, At], Sequence[Place]]
"""The declarations that names are of, by the files and the places of the names."""


@dataclass(frozen=True, slots=True)
class Link:
    """A relationship that a resolver found between two declarations."""

    source: Place
    target: Place
    type: RelationshipType
    resolution: Resolution
    line: int
    column: int


@dataclass(slots=True)
class CodeGraph:
    """What a repository's files hold.

    Attributes:
        unresolved: How many calls of each file have no target in the repository.
        failed: Why a file could not be read or parsed, by path.
    """

    entities: list[Entity] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    relationships: list[Relationship] = field(default_factory=list)
    unresolved: dict[str, int] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def keep(
        self, entity_types: Collection[EntityType], rel_types: Collection[RelationshipType]
    ) -> None:
        """Drop entities and relationships of other types; relationships go with their ends."""
        self.entities = [each for each in self.entities if each.type in entity_types]
        kept = {each.id for each in self.entities}
        self.relationships = [
            each
            for each in self.relationships
            if each.type in rel_types and kept.issuperset((each.source, each.target))
        ]


VERBS: Final[Mapping[str, str]] = {
    "CALLS": "calls",
    "INHERITS": "inherits from",
    "REFERENCES": "refers to",
    "CONTAINS": "contains",
    "IMPORTS": "imports",
}
"""How a sentence says what a relationship of each type in Neo4j means."""

PHASES: Final = ("read", "resolve", "compare", "write")
"""What an indexing does, in order: files, calls, what differs, and statements."""

LENGTH: Final = struct.Struct("<I")
"""The length of a `Request` in bytes, which comes before it on the input of the analysis."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to analyse.

    Attributes:
        root: The folder.
        resolve: Whether type checkers resolve calls, too.
        scip: The SCIP indexes that say what calls reach, by their paths from the root.
        communities: The algorithm that finds communities.
        entity_types: The types of entities that are kept.
        rel_types: The types of relationships that are kept.
        digest: That of the last analysis; "" if it is not known.
    """

    repo_id: str
    root: str
    languages: tuple[Language, ...]
    resolve: bool = True
    scip: tuple[str, ...] = ()
    communities: Algorithm = "louvain"
    entity_types: tuple[EntityType, ...] = ENTITY_TYPES
    rel_types: tuple[RelationshipType, ...] = RELATIONSHIP_TYPES
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Nothing that the graph depends on has changed since the last analysis."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no graph.

    Attributes:
        code: The code of the error.
    """

    code: str
    message: str
