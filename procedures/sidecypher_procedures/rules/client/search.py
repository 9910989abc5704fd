"""Searches in place of a web search: one in the memory, and one that is disabled."""

from dataclasses import dataclass
from typing import Literal, Protocol

from sidecypher_procedures.rules.client.memory import MemoryClient
from sidecypher_procedures.rules.options import SearchInput


@dataclass(frozen=True, slots=True)
class Found:
    """A search hit.

    Attributes:
        kind: ``rule``, ``concept`` or ``extraction``.
        id: Its id.
        text: Its text, name or snippet.
        score: Relative relevance.
    """

    kind: Literal["rule", "concept", "extraction"]
    id: str
    text: str
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        provider: The name of the provider.
        found: The hits, the best first.
        reason: Why there was no search, or None.
    """

    provider: str
    found: tuple[Found, ...] = ()
    reason: str | None = None


class SearchProvider(Protocol):
    """Provider of search results in place of a web search."""

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return the results of a query.

        Args:
            user_id: The user whose memory is searched.
            query: Plain words.
            most: The most results.
        """


class DisabledSearch:
    """Provider that always reports that search is disabled.

    Example:
        >>> DisabledSearch().search("ann", "weather").reason
        'search is disabled'
    """

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return that search is disabled."""
        SearchInput.from_map({"userId": user_id, "query": query, "most": most}, "search")
        return SearchResult("disabled", reason="search is disabled")


class LocalSearch:
    """Provider that searches the memory by `rules.search`.

    Args:
        memory: The memory to search. Its mode decides what happens without an answer.
    """

    def __init__(self, memory: MemoryClient) -> None:
        self._memory = memory

    def search(self, user_id: str, query: str, *, most: int = 10) -> SearchResult:
        """Return the user's rules, concepts and extractions with words of the query.

        Raises:
            CallError: There is no user, or `most` is out of range (SC-204).
            MemoryUnavailable: There is no answer, and the mode is REQUIRED.
        """
        rows = self._memory.search(user_id, query, most=most)
        if not any(map(str.isalnum, query)):
            return SearchResult("local", reason="the query has no words")
        if rows is None:
            state = "off" if self._memory.is_off else "not available"
            return SearchResult("local", reason=f"the memory is {state}")
        found = (Found(row["kind"], row["id"], row["text"], row["score"]) for row in rows)
        return SearchResult("local", tuple(found))


def search_provider(memory: MemoryClient) -> SearchProvider:
    """Return the provider from the memory's setting `search`."""
    return LocalSearch(memory) if memory.settings.search == "local" else DisabledSearch()
