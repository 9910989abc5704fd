"""Search for the concepts of a request, and for the relations between them and others."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fusion import Fused, fuse
from sidecypher_procedures.rules.options import ContextInput
from sidecypher_procedures.rules.selection import Bounds, SearchLimits
from sidecypher_procedures.rules.store import Concept, normal_name

_CONCEPTS: Final = """
    UNWIND $keys AS key
    MATCH (c:Concept {key: key})
    WHERE c.user = $user AND EXISTS {
        MATCH (e:Extraction)-[:ASSERTED|CREATED]->(c) WHERE $known IS NULL OR e.createdAt <= $known
    }
    RETURN c.key AS key, c.name AS name
"""


def names_of(ctx: Context, keys: Iterable[str], limits: SearchLimits) -> dict[str, str]:
    """Return the names of the user's concepts that still have an extraction, by key."""
    wanted = list(dict.fromkeys(keys))
    if not wanted:
        return {}
    found = ctx.run(_CONCEPTS, keys=wanted, user=limits.user, known=limits.known)
    return {each["key"]: each["name"] for each in found}


_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # kana, Han, Hangul
    "\U00020000-\U0003ffff]+"
)
_OPENING: Final = frozenset({"Ps", "Pi", "Pf"})
_CLOSING: Final = frozenset({"Pe", "Pi", "Pf", "Po"})
_QUOTES: Final = frozenset("\"'`*_")
# Marks at the end of names such as `C#` and `100%`, not of sentences.
_PART_OF_NAMES: Final = frozenset("#%&@")
_POSSESSIVE: Final = re.compile("['\u2019]s$")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases of a text.

    Attributes:
        names: Distinct phrases in their normal form, in the order of the text.
        cut: Whether a limit left out parts of the text.
    """

    names: tuple[str, ...]
    cut: bool


def find_phrases(text: str, bounds: Bounds) -> Phrases:
    """Return the phrases of a text that may be names: sequences of up to `phrase_words` words.

    Scripts without spaces between words give every run of characters up to a length. So does
    Hangul, whose particles are joined to the words.

    Example:
        >>> find_phrases("Ask Ann's bot.", Bounds(phrase_words=1)).names
        ('ask', "ann's", 'ann', 'bot.', 'bot')
    """
    folded = normal_name(text[: bounds.text_characters])
    found: dict[str, None] = {}
    for name in _candidates(folded.split(" "), bounds):
        if len(found) >= bounds.phrases:
            return Phrases(tuple(found), cut=True)
        found[name] = None
    return Phrases(tuple(found), cut=len(text) > bounds.text_characters)


def _candidates(words: list[str], bounds: Bounds) -> Iterator[str]:
    for start, word in enumerate(words):
        for length in range(1, min(bounds.phrase_words, len(words) - start) + 1):
            yield from _spellings(" ".join(words[start : start + length]))
        for run in _UNSPACED.findall(word):
            yield from _runs(run, bounds.phrase_characters)


def _spellings(phrase: str) -> Iterator[str]:
    """Yield a phrase, also without the punctuation around it, its last mark, or a possessive `'s`.

    A name may end in a mark: without only the last one, it is found at the end of a sentence.
    """
    trimmed = _trim(phrase)
    shorter = phrase[:-1] if _is_mark(phrase[-1:] or " ", _CLOSING) else ""
    yield from filter(None, (phrase, shorter, trimmed, _POSSESSIVE.sub("", trimmed)))


def _trim(phrase: str) -> str:
    start, end = 0, len(phrase)
    while start < end and _is_mark(phrase[start], _OPENING):
        start += 1
    while end > start and _is_mark(phrase[end - 1], _CLOSING):
        end -= 1
    return phrase[start:end]


def _is_mark(character: str, categories: Iterable[str]) -> bool:
    if character in _PART_OF_NAMES:
        return False
    return character in _QUOTES or unicodedata.category(character) in categories


def _runs(run: str, longest: int) -> Iterator[str]:
    for start in range(len(run)):
        for end in range(start + 1, min(start + longest, len(run)) + 1):
            yield run[start:end]


# A chunk may assert any node; nodes that are neither concepts nor facts have no keys.
_CHUNKS: Final = """
    UNWIND range(0, size($chunkIds) - 1) AS place
    WITH place, $chunkIds[place] AS chunkId
    CALL (chunkId) {
        MATCH (e:Extraction {extractionId: chunkId})-[:ASSERTED|CREATED]->(x)
        WHERE x.user = $user
        RETURN x LIMIT $neighbours
        UNION ALL
        MATCH (a:Artifact {id: chunkId})-[:MENTIONS]->(x)
        WHERE x.user = $user
        RETURN x LIMIT $neighbours
    }
    UNWIND [x.key, x.fromKey, x.toKey] AS key
    WITH DISTINCT place, key WHERE key IS NOT NULL
    ORDER BY place, key
    WITH place, collect(key) AS keys
    RETURN place, keys[..$most] AS keys, size(keys) > $most AS cut
    ORDER BY place
"""


@dataclass(frozen=True, slots=True)
class Seeds:
    """Concepts of a request, the best first, and their names by key.

    Attributes:
        cut: Whether a limit left out concepts or parts of the text.
    """

    found: tuple[Fused, ...]
    names: dict[str, str]
    cut: bool


def find_seeds(ctx: Context, request: ContextInput, limits: SearchLimits) -> Seeds:
    """Find the concepts of a request, merged from its ids, texts and chunks."""
    bounds = limits.bounds
    proposed, chunks_cut = _of_chunks(ctx, request, bounds)
    prompt = find_phrases(request.prompt, bounds)
    artifact = find_phrases(request.artifact_text, bounds)
    texts = find_phrases("\n".join(request.chunk_texts), bounds)
    lists = {
        "entities": list(dict.fromkeys(request.entity_ids)),
        "prompt": _keys(request.user_id, prompt),
        "artifact": _keys(request.user_id, artifact),
        "chunks": proposed,
        "chunkTexts": _keys(request.user_id, texts),
    }
    names = names_of(ctx, chain.from_iterable(lists.values()), limits)
    fused = fuse(
        {name: [(key, 0.0) for key in keys if key in names] for name, keys in lists.items()}
    )
    most = min(bounds.seeds, bounds.entities)
    cut = chunks_cut or any(each.cut for each in (prompt, artifact, texts)) or len(fused) > most
    return Seeds(tuple(fused[:most]), names, cut)


def _keys(user: str, phrases: Phrases) -> list[str]:
    """Return the keys of phrases: the longest first, as the most specific, then the earliest."""
    names = sorted(phrases.names, key=lambda name: -len(name))
    return list(dict.fromkeys(Concept(user, name).key for name in names))


def _of_chunks(ctx: Context, request: ContextInput, bounds: Bounds) -> tuple[list[str], bool]:
    """Return the concepts of the chunks, in order of the chunks, and whether there are more."""
    if not request.chunk_ids:
        return [], False
    found = ctx.run(
        _CHUNKS,
        chunkIds=list(dict.fromkeys(request.chunk_ids)),
        user=request.user_id,
        neighbours=bounds.neighbours,
        most=bounds.chunk_concepts,
    )
    chunks = list(found)
    keys = dict.fromkeys(key for chunk in chunks for key in chunk["keys"])
    return list(keys), any(chunk["cut"] for chunk in chunks)


# A fact holds unless what was said last ended it.
_HOLDS: Final = """
    f.factId > '' AND f.user = $user AND EXISTS {
        MATCH (e:Extraction)-[:ASSERTED|CREATED]->(f)
        WHERE $known IS NULL OR e.createdAt <= $known
    } AND NOT EXISTS {
        MATCH (e:Extraction)-[:ENDED]->(f)
        WHERE ($known IS NULL OR e.createdAt <= $known) AND NOT EXISTS {
            MATCH (later:Extraction)-[:ASSERTED|CREATED]->(f)
            WHERE later.createdAt > e.createdAt AND ($known IS NULL OR later.createdAt <= $known)
        }
    }
"""
# With `fromKey` in ORDER BY the index provides the order.
_FACTS: Final = f"""
    UNWIND range(0, size($keys) - 1) AS place
    WITH place, $keys[place] AS key
    CALL (key) {{
        MATCH (f:Fact) WHERE f.fromKey = key AND {_HOLDS}
        RETURN f ORDER BY f.fromKey, f.factId LIMIT $most
        UNION
        MATCH (f:Fact) WHERE f.toKey = key AND {_HOLDS}
        RETURN f ORDER BY f.toKey, f.factId LIMIT $most
    }}
    RETURN place, f.factId AS factId, f.type AS type, f.fromKey AS source, f.toKey AS target
    ORDER BY place, factId
"""


@dataclass(frozen=True, slots=True)
class Relation:
    """A fact about two concepts, given by their keys."""

    fact_id: str
    source: str
    type: str
    target: str


@dataclass(slots=True)
class Neighbourhood:
    """Names of concepts by key and relations by id, in the order in which they were found.

    Attributes:
        cut: Whether a limit left out some.
    """

    names: dict[str, str] = field(default_factory=dict)
    relations: dict[str, Relation] = field(default_factory=dict)
    cut: bool = False

    def add(self, relation: Relation, names: dict[str, str], bounds: Bounds) -> None:
        """Add a relation and its new concepts from `names`, unless that exceeds the bounds."""
        ends = (relation.source, relation.target)
        new = {end: names[end] for end in ends if end in names and end not in self.names}
        if relation.fact_id in self.relations or not all(
            end in self.names or end in new for end in ends
        ):
            return
        if len(self.relations) >= bounds.relations or len(self.names) + len(new) > bounds.entities:
            self.cut = True
            return
        self.names |= new
        self.relations[relation.fact_id] = relation


def expand(ctx: Context, seeds: Seeds, limits: SearchLimits) -> Neighbourhood:
    """Follow relations from the seeds, in both directions, breadth first."""
    around = Neighbourhood({each.id: seeds.names[each.id] for each in seeds.found})
    reached = list(around.names)
    for hop in range(limits.bounds.hops):
        if not reached or limits.deadline.expired():
            break
        before = len(around.names)
        # The seeds are sorted by score already and have their own bound.
        most = limits.bounds.frontier if hop else len(reached)
        around.cut |= len(reached) > most
        _hop(ctx, around, reached[:most], limits)
        reached = list(around.names)[before:]
    return around


def _hop(ctx: Context, around: Neighbourhood, frontier: list[str], limits: SearchLimits) -> None:
    most = limits.bounds.node_relations
    found = ctx.run(_FACTS, keys=frontier, user=limits.user, known=limits.known, most=most + 1)
    counts = [0] * len(frontier)
    relations = []
    for fact in found:
        counts[fact["place"]] += 1
        if counts[fact["place"]] <= most:
            relations.append(Relation(fact["factId"], fact["source"], fact["type"], fact["target"]))
    around.cut |= any(count > most for count in counts)
    ends = (end for each in relations for end in (each.source, each.target))
    names = names_of(ctx, (end for end in ends if end not in around.names), limits)
    for each in relations:
        around.add(each, names, limits.bounds)
