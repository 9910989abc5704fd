"""Constraints and indexes: those that scripts declare, and those that exist."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, LiteralString

from sidecypher_schema.graph import Graph
from sidecypher_schema.lexer import Statement, tokens
from sidecypher_schema.scripts import Script

_CONSTRAINTS: Final[LiteralString] = (
    "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties "
    "RETURN name, type, labelsOrTypes AS labels, properties, 'ONLINE' AS state"
)
_INDEXES: Final[LiteralString] = (
    "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, state, owningConstraint "
    "WHERE owningConstraint IS NULL "
    "RETURN name, type, labelsOrTypes AS labels, properties, state"
)
_INDEX_TYPES: Final = frozenset({"RANGE", "TEXT", "POINT", "LOOKUP", "FULLTEXT", "VECTOR"})


@dataclass(frozen=True, slots=True)
class Item:
    """A constraint or an index.

    Attributes:
        kind: `constraint` or `index`.
        name: Its name; empty if a script does not name it.
        type: `UNIQUE` or `OTHER` for constraints, `RANGE` and so on for indexes.
        labels: Labels or relationship types, in alphabetical order.
        properties: Property names, in their order.
    """

    kind: str
    name: str
    type: str
    labels: tuple[str, ...]
    properties: tuple[str, ...]

    def __str__(self) -> str:
        named = f"`{self.name}`" if self.name else "without a name"
        return f"{self.kind} {named} of {', '.join(self.labels) or 'all'}"

    @property
    def covers(self) -> tuple[object, ...]:
        """All that it does, without its name."""
        return (self.kind, self.type, self.labels, self.properties)


@dataclass(frozen=True, slots=True)
class Existing:
    """A constraint or an index that exists.

    Attributes:
        item: The constraint or index.
        state: `ONLINE`, `POPULATING` or `FAILED`.
    """

    item: Item
    state: str


@dataclass(frozen=True, slots=True)
class Declared:
    """A constraint or an index that a script creates and no script drops.

    Attributes:
        item: The constraint or index.
        script: Script that creates it.
        statement: Statement that creates it.
    """

    item: Item
    script: Script
    statement: Statement

    def matches(self, item: Item) -> bool:
        """Return whether an existing item has the same name and does the same."""
        return item.name == self.item.name and item.covers == self.item.covers

    def problem(self, existing: Iterable[Existing]) -> str | None:
        """Return its problem in the graph: `missing`, `different`, `failed` or None."""
        found = list(existing)
        same_name = [each for each in found if self.item.name and each.item.name == self.item.name]
        same = [each for each in found if each.item.covers == self.item.covers]
        if same_name and same_name[0].item.covers != self.item.covers:
            return "different"
        # A user's own constraint or index with another name is good enough.
        for each in same_name or same:
            return "failed" if each.state == "FAILED" else None
        return "missing"


def declared(scripts: Iterable[Script], database: str | None = None) -> list[Declared]:
    """Return what scripts leave behind in a database, in the order they create it.

    Args:
        scripts: Scripts, in the order they are applied in.
        database: Name of the database that is migrated. Without it, statements after any `:use`
            are left out.
    """
    found: dict[tuple[object, ...], Declared] = {}
    for script in scripts:
        for statement in script.statements:
            if statement.database not in {None, database}:
                continue
            creates, item = read_command(statement.text) or (False, None)
            if item is None:
                continue
            key = (item.kind, item.name) if item.name else item.covers
            if creates:
                found[key] = Declared(item, script, statement)
            else:
                found.pop(key, None)
    return list(found.values())


def existing(graph: Graph) -> list[Existing]:
    """Return the constraints of a graph, and the indexes that none of them owns."""
    constraints = [("constraint", row) for row in graph.run(_CONSTRAINTS)]
    indexes = [("index", row) for row in graph.run(_INDEXES)]
    return [
        Existing(
            Item(
                kind,
                row["name"],
                row["type"] if kind == "index" else _existing_type(row["type"]),
                tuple(sorted(row["labels"] or ())),
                tuple(row["properties"] or ()),
            ),
            row["state"],
        )
        for kind, row in constraints + indexes
    ]


def _existing_type(shown: str) -> str:
    """Return the type of a constraint; Neo4j 5 and 2026 have different names for it."""
    return "UNIQUE" if shown.endswith("UNIQUENESS") else "OTHER"


def read_command(text: str) -> tuple[bool, Item] | None:
    """Return the item that a statement creates (true) or drops (false), or None if neither.

    Example:
        >>> read_command("CREATE INDEX by_name IF NOT EXISTS FOR (p:Person) ON (p.name)")[1].labels
        ('Person',)
        >>> read_command("DROP INDEX by_name IF EXISTS")
        (False, Item(kind='index', name='by_name', type='', labels=(), properties=()))
    """
    words = [_word(token.text) for token in tokens(text) if token.kind not in {"space", "comment"}]
    if _upper(words[:1]) == ["CYPHER"]:
        words = words[2:]
    command, rest = _upper(words[:1]), words[1:]
    if command not in (["CREATE"], ["DROP"]):
        return None
    if _upper(rest[:2]) == ["OR", "REPLACE"]:
        rest = rest[2:]
    index_type = "RANGE"
    if rest and rest[0].upper() in _INDEX_TYPES:
        index_type, rest = rest[0].upper(), rest[1:]
    if not rest or rest[0].upper() not in {"CONSTRAINT", "INDEX"}:
        return None
    kind, rest = rest[0].lower(), rest[1:]
    name = ""
    if rest and rest[0].upper() not in {"FOR", "IF", "ON"}:
        name, rest = rest[0], rest[1:]
    if command == ["DROP"]:
        return False, Item(kind, name, "", (), ())
    pattern, properties = _parts(rest)
    return True, Item(
        kind,
        name,
        index_type if kind == "index" else _declared_type(properties),
        tuple(sorted(_following({":", "|"}, pattern))),
        tuple(_following({"."}, properties)),
    )


def _parts(rest: list[str]) -> tuple[list[str], list[str]]:
    """Return the words of a command's pattern, and those about properties."""
    keywords = dict(reversed(list(_outside_brackets(_upper(rest)))))
    end = keywords.get("OPTIONS", len(rest))
    middle = min(keywords.get(word, end) for word in ("REQUIRE", "ASSERT", "ON"))
    return rest[:middle], rest[middle:end]


def _outside_brackets(words: list[str]) -> Iterator[tuple[str, int]]:
    """Yield words with their positions, without those that may be labels or properties."""
    depth = 0
    for place, word in enumerate(words):
        depth += (word in {"(", "[", "{"}) - (word in {")", "]", "}"})
        if depth == 0:
            yield word, place


def _following(marks: set[str], words: list[str]) -> Iterator[str]:
    return (word for before, word in pairwise(words) if before in marks and word not in marks)


def _upper(words: list[str]) -> list[str]:
    return [word.upper() for word in words]


def _word(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def _declared_type(words: list[str]) -> str:
    """Return the type of a constraint: the words after its last IS."""
    upper = _upper(words)
    last = len(upper) - upper[::-1].index("IS") if "IS" in upper else 0
    return "UNIQUE" if "UNIQUE" in upper[last:] else "OTHER"
