"""`rules.search` and `rules.facts`: ask the memory of a user in words, or for what it relates."""

import re
from collections.abc import Iterator
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fusion import fuse
from sidecypher_procedures.rules.options import FactsOptions
from sidecypher_procedures.rules.rows import Found, Related
from sidecypher_procedures.rules.store import Concept, fact_type

_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 32
_RULES: Final = """
    CALL db.index.fulltext.queryNodes('style_rule_text', $words) YIELD node, score
    WHERE node.user = $user AND EXISTS { (:User)-[p:PREFERS]->(node) WHERE p.retractedAt IS NULL }
    RETURN node.ruleId AS id, node.text AS text, score
    ORDER BY score DESC, id LIMIT $most
"""
_CONCEPTS: Final = """
    CALL db.index.fulltext.queryNodes('concept_text', $words) YIELD node, score
    WHERE node.user = $user
    RETURN node.key AS id, node.name AS text, score
    ORDER BY score DESC, id LIMIT $most
"""
# An older extraction has no `user`: it belongs to the one of what it says.
_EXTRACTIONS: Final = """
    CALL db.index.fulltext.queryNodes('extraction_text', $words) YIELD node, score
    WHERE node.user = $user OR node.user IS NULL AND EXISTS {
        (node)-[:ASSERTED|CONFIRMED|RETRACTED]->({user: $user})
    }
    RETURN node.extractionId AS id, node.rawSnippet AS text, score
    ORDER BY score DESC, id LIMIT $most
"""
_LEGS: Final = {"rule": _RULES, "concept": _CONCEPTS, "extraction": _EXTRACTIONS}


def search(ctx: Context, user: str, query: str, most: int) -> Iterator[Found]:
    """Yield what has words of a query, the best first: rules, concepts and extractions.

    Scores of different indexes cannot be compared, so the three lists are joined by rank.
    """
    words = list(dict.fromkeys(_WORD.findall(query.casefold())))[:_MOST_WORDS]
    if not words:
        return
    # A quoted word is never syntax of the index.
    quoted = " ".join(f'"{word}"' for word in words)
    legs: dict[str, list[tuple[str, float]]] = {}
    texts: dict[str, str] = {}
    for kind, statement in _LEGS.items():
        rows = list(ctx.run(statement, words=quoted, user=user, most=most))
        legs[kind] = [(f"{kind} {row['id']}", row["score"]) for row in rows]
        texts |= {f"{kind} {row['id']}": row["text"] for row in rows}
    for each in fuse(legs)[:most]:
        kind, _, identifier = each.id.partition(" ")
        yield Found(kind=kind, id=identifier, text=texts[each.id], score=each.score)


_OF_USER: Final = """
    MATCH (from:Concept {user: $user}) WHERE from.name IS NOT NULL
    MATCH (f:Fact) WHERE f.fromKey = from.key AND f.factId > $cursor
"""
_OF_CONCEPT: Final = """
    CALL () {
        MATCH (f:Fact) WHERE f.fromKey = $concept AND f.factId > $cursor
        RETURN f
        UNION
        MATCH (f:Fact) WHERE f.toKey = $concept AND f.factId > $cursor
        RETURN f
    }
    MATCH (from:Concept {key: f.fromKey})
"""
_FACTS: Final = """
    WITH f, from
    WHERE f.user = $user AND ($type IS NULL OR f.type = $type)
    CALL (f) {
        MATCH (e:Extraction)-[said:ASSERTED|CREATED|ENDED]->(f)
        WHERE $known IS NULL OR e.createdAt <= $known
        WITH e, type(said) = 'ENDED' AS ended ORDER BY e.createdAt, ended, e.extractionId
        WITH collect({at: e.createdAt, id: e.extractionId, ended: ended}) AS said
        RETURN said[0].at AS since, said[-1].id AS extractionId,
            CASE WHEN said[-1].ended THEN said[-1].at END AS ended
    }
    WITH f, from, since, extractionId, ended
    WHERE since IS NOT NULL AND ($ended OR ended IS NULL)
    MATCH (to:Concept {key: f.toKey})
    RETURN f.factId AS fact_id, from.name AS source, f.type AS type, to.name AS target,
        since, ended, extractionId AS extraction_id
    ORDER BY fact_id LIMIT $limit
"""


def facts(ctx: Context, user: str, options: FactsOptions) -> Iterator[Related]:
    """Yield the facts of a user, in the order of their ids."""
    concept = Concept(user, options.concept).key if options.concept else None
    found = ctx.run(
        (_OF_USER if concept is None else _OF_CONCEPT) + _FACTS,
        user=user,
        concept=concept,
        type=fact_type(options.type) or None,
        ended=options.ended,
        known=options.known,
        cursor=options.cursor or "",
        limit=options.limit,
    )
    for row in found:
        yield Related(**dict(row))
