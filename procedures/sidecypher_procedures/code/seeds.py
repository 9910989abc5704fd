"""Where a search in the graph begins: the entities that a query names."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, LiteralString

from sidecypher_procedures.code.expansion import Reached
from sidecypher_procedures.code.store import Run
from sidecypher_procedures.code.words import identifiers, is_plain, words

MOST_IDENTIFIERS: Final = 32
MOST_WORDS: Final = 64
"""The most identifiers and words of a query that are looked for; those behind are left out."""

_PER_NAME: Final = 10
_PER_QUERY: Final = 20
_SHORTEST: Final = 3
"""The fewest characters of a part of a name: shorter parts are in every name."""

_EXACT: Final = 1.0
_PREFIX: Final = 0.6
_WORDS: Final = 0.5
_CONTAINS: Final = 0.3
_PLAIN: Final = 0.5
"""What a word that may be plain English counts as a name, if it is one of several."""

_EXACT_OR_PREFIX: Final[LiteralString] = """
    UNWIND $names AS name
    CALL (name) {
        MATCH (e:Entity {repo_id: $repoId, name_lower: name.last})
        WHERE e.type IN $entityTypes AND NOT e.external
            AND (name.whole = name.last OR toLower('.' + e.qualified_name) ENDS WITH name.dotted)
        RETURN e, true AS isExact ORDER BY e.id LIMIT $most
        UNION ALL
        MATCH (e:Entity {repo_id: $repoId})
        WHERE name.isLong AND e.name_lower STARTS WITH name.whole AND e.name_lower <> name.whole
            AND e.type IN $entityTypes AND NOT e.external
        RETURN e, false AS isExact ORDER BY size(e.name_lower), e.id LIMIT $most
    }
    RETURN e.id AS id, e.name AS name, e.qualified_name AS qualified_name, e.type AS type,
        e.chunk_id AS chunk_id, name.place AS place, isExact
"""
_CONTAINING: Final[LiteralString] = """
    UNWIND $names AS name
    CALL (name) {
        MATCH (e:Entity)
        USING TEXT INDEX e:Entity(name_lower)
        WHERE e.name_lower CONTAINS name.whole AND e.repo_id = $repoId
            AND e.type IN $entityTypes AND NOT e.external
        RETURN e ORDER BY size(e.name_lower), e.id LIMIT $most
    }
    RETURN e.id AS id, e.name AS name, e.qualified_name AS qualified_name, e.type AS type,
        e.chunk_id AS chunk_id, name.place AS place
"""
_WITH_WORDS: Final[LiteralString] = """
    CALL db.index.fulltext.queryNodes('entity_words', $text, {limit: $most}) YIELD node AS e, score
    // A query of stop words alone matches everything, with this score.
    WHERE score > 0
    WITH e, score ORDER BY score DESC, e.id
    RETURN count(*) AS read, collect(
        CASE WHEN e.repo_id = $repoId AND e.type IN $entityTypes AND NOT e.external
            THEN e {.id, .name, .qualified_name, .type, .chunk_id, score: score}
        END
    ) AS found
"""
_WIDER: Final = 4
"""How many times the entries that are wanted are read from an index of all repositories."""

_DEEPEST: Final = 20_000
"""After so many entries no more are read: a quarter of a second for 30 000 vectors."""


async def find_seeds(
    run: Run, repo_id: str, query: str, entity_types: Iterable[str]
) -> list[Reached]:
    """Return the entities that a query names, each with how well.

    A name that is a definition's counts most, then one that it begins with, then words of its name
    or its docstring, and last a part of its name.
    """
    names = _names(query)
    common = {"repoId": repo_id, "entityTypes": [*entity_types]}
    found: dict[str, Reached] = {}
    records = [*await run(_EXACT_OR_PREFIX, names=names, most=_PER_NAME, **common)]
    exact = [record["place"] for record in records if record["isExact"]]
    for record in records:
        name = names[record["place"]]
        quality, reason = (_EXACT, "is named") if record["isExact"] else (_PREFIX, "begins with")
        if record["isExact"]:
            # The more have the name, the less it says.
            quality /= exact.count(record["place"]) ** 0.5
        _note(found, record, quality * name["weight"], f"{reason} `{name['text']}`")
    text = full_text(repo_id, query, docstring=True)
    records = await read_index(run, _WITH_WORDS, _PER_QUERY, text=text, **common)
    for record in records:
        share = record["score"] / records[0]["score"]
        _note(found, record, _WORDS * share, "has words of the query")
    open_names = [name for name in names if name["isLong"] and name["place"] not in exact]
    if open_names:
        for record in await run(_CONTAINING, names=open_names, most=_PER_NAME, **common):
            name = names[record["place"]]
            _note(found, record, _CONTAINS * name["weight"], f"contains `{name['text']}`")
    return [*found.values()]


async def read_index(
    run: Run, statement: LiteralString, wanted: int, **parameters: Any
) -> list[Mapping[str, Any]]:
    """Return the best entries of one repository from an index of all of them.

    More are read as long as others take their places: such as those of a repository whose id has
    the same words, or whose code is alike. Up to 80 000 are read.

    Args:
        run: Runs the statement.
        statement: Reads the `$most` best entries. It returns how many there are, and those of the
            repository in order.
        wanted: The most entries.
        parameters: Its other parameters.
    """
    most = wanted
    while True:
        most *= _WIDER
        [record] = await run(statement, most=most, **parameters)
        if len(record["found"]) >= wanted or record["read"] < most or most >= _DEEPEST:
            return [*record["found"]][:wanted]


def full_text(repo_id: str, query: str, *, docstring: bool = False) -> str:
    """Return a query for the full-text indexes; "" if the text has no word.

    Args:
        repo_id: The repository that is searched.
        query: What a user asks.
        docstring: Whether words of docstrings count, too, half as much as those of names.

    Example:
        >>> full_text("shop", "Where is price_of?")
        '+repo_id:"shop"^0 +words:(where is price of)'
    """
    found = list(dict.fromkeys(words(query)))[:MOST_WORDS]
    if not found:
        return ""
    phrase = repo_id.replace("\\", "\\\\").replace('"', '\\"')
    asked = " ".join(found)
    wanted = f"(words:({asked})^2 docstring:({asked}))" if docstring else f"words:({asked})"
    return f'+repo_id:"{phrase}"^0 +{wanted}'


def _names(query: str) -> list[dict[str, Any]]:
    found = [*dict.fromkeys(identifiers(query))][:MOST_IDENTIFIERS]
    return [
        {
            "place": place,
            "text": text,
            "whole": text.lower(),
            "last": text.rpartition(".")[2].lower(),
            "dotted": f".{text.lower()}",
            "isLong": len(text) >= _SHORTEST,
            "weight": _PLAIN if is_plain(text) and len(found) > 1 else 1.0,
        }
        for place, text in enumerate(found)
    ]


def _note(
    found: dict[str, Reached], record: Mapping[str, Any], quality: float, reason: str
) -> None:
    """Keep the best reason for each entity."""
    known = found.get(record["id"])
    if known is None or known.score < quality:
        reason = f"{record['qualified_name']} {reason}"
        found[record["id"]] = Reached.of(record, quality, reason=reason)
