"""A search that stands in for one of the web: of what is known here, or none."""

import re
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from sidecypher_procedures.fields import Fields
from sidecypher_procedures.rules.client.memory import MemoryClient
from sidecypher_procedures.rules.errors import InvalidInput
from sidecypher_procedures.rules.findings import LONGEST_TEXT

MOST: Final = 50
"""Things that one search finds at most."""

_KEYS: Final = ("user", "query", "most")
_WORD: Final = re.compile(r"\w+")
_MOST_WORDS: Final = 32
# Words in quotes are no syntax of the index. Whose an extraction is, what it says tells.
_SEARCH: Final = """
    CALL () {
        CALL db.index.fulltext.queryNodes('concept_text', $words) YIELD node, score
        WHERE node.user = $user
        RETURN 'concept' AS kind, node.key AS id, node.name AS text, score
        ORDER BY score DESC, id LIMIT $most
        UNION ALL
        CALL db.index.fulltext.queryNodes('extraction_text', $words) YIELD node, score
        WHERE EXISTS {
            MATCH (node)-[:ASSERTED|CONFIRMED|RETRACTED]->(x) WHERE x.user = $user
        }
        RETURN 'extraction' AS kind, node.extractionId AS id, node.rawSnippet AS text, score
        ORDER BY score DESC, id LIMIT $most
    }
    RETURN kind, id, text, score
    ORDER BY score DESC, kind, id LIMIT $most
"""


@dataclass(frozen=True, slots=True)
class Found:
    """Something that was found.

    Attributes:
        kind: ``concept`` or ``extraction``.
        id: Its id.
        text: Its name or snippet.
        score: How well it fits; only good for comparing.
    """

    kind: Literal["concept", "extraction"]
    id: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search gave.

    Attributes:
        provider: Who searched.
        found: The best first.
        reason: Why nothing could be found, or None.
    """

    provider: str
    found: tuple[Found, ...] = ()
    reason: str | None = None


class SearchProvider(Protocol):
    """What answers where an agent would ask the web."""

    def search(self, user: str, query: str, *, most: int = 10) -> SearchResult:
        """Return what fits a query.

        Args:
            user: Whose memory may be searched.
            query: Plain words.
            most: Things to find at most.
        """


class DisabledSearch:
    """Finds nothing, and says so, always in the same words.

    Example:
        >>> DisabledSearch().search("ann", "weather").reason
        'search is disabled'
    """

    def search(self, user: str, query: str, *, most: int = 10) -> SearchResult:
        """Return that search is disabled."""
        _check(user, query, most)
        return SearchResult("disabled", reason="search is disabled")


class LocalSearch:
    """Searches names of concepts and snippets of extractions of the user, by full text.

    Args:
        memory: The memory to search; its mode says what happens when there is none.
    """

    def __init__(self, memory: MemoryClient) -> None:
        self._memory = memory

    def search(self, user: str, query: str, *, most: int = 10) -> SearchResult:
        """Return the concepts and extractions of the user that have words of the query.

        Raises:
            InvalidInput: There is no user, or `most` is out of range.
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        _check(user, query, most)
        words = dict.fromkeys(_WORD.findall(query.casefold()))
        if not words:
            return SearchResult("local", reason="the query has no words")
        quoted = " ".join(f'"{word}"' for word in list(words)[:_MOST_WORDS])
        rows = self._memory.read(_SEARCH, words=quoted, user=user, most=most)
        if rows is None:
            return SearchResult("local", reason="the memory is not available")
        found = (Found(row["kind"], row["id"], row["text"], row["score"]) for row in rows)
        return SearchResult("local", tuple(found))


def search_provider(memory: MemoryClient) -> SearchProvider:
    """Return the provider that the memory's setting `search` names."""
    return LocalSearch(memory) if memory.settings.search == "local" else DisabledSearch()


def _check(user: str, query: str, most: int) -> None:
    fields = Fields({"user": user, "query": query, "most": most}, "search", _KEYS, InvalidInput)
    fields.required_text("user")
    if "query" not in fields:
        raise fields.refuse("lacks its query", "Give a text, which may be empty.")
    fields.text("query", longest=LONGEST_TEXT)
    fields.count("most", 1, largest=MOST)
