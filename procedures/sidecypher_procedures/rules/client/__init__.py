"""The memory as an agent outside of Neo4j uses it: OFF, OPTIONAL or REQUIRED.

The driver is imported by the first call of a client that is not OFF, and by nothing else.

Example:
    >>> with MemoryClient(ClientSettings(mode="OFF")) as memory:
    ...     memory.context({"user": "ann", "prompt": "Go on."}) is None
    True
"""

from sidecypher_procedures.rules.client.breaker import CircuitBreaker
from sidecypher_procedures.rules.client.extracting import Extractor
from sidecypher_procedures.rules.client.judging import Judge
from sidecypher_procedures.rules.client.memory import MemoryClient
from sidecypher_procedures.rules.client.results import (
    Added,
    Citation,
    Entity,
    GraphContext,
    LeftOut,
    Relation,
    Remembered,
    Standing,
    StyleRule,
)
from sidecypher_procedures.rules.client.searching import (
    DisabledSearch,
    Found,
    LocalSearch,
    SearchProvider,
    SearchResult,
    search_provider,
)
from sidecypher_procedures.rules.client.settings import ClientSettings, Mode
from sidecypher_procedures.rules.errors import ClientSettingsError, MemoryUnavailable

__all__ = [
    "Added",
    "CircuitBreaker",
    "Citation",
    "ClientSettings",
    "ClientSettingsError",
    "DisabledSearch",
    "Entity",
    "Extractor",
    "Found",
    "GraphContext",
    "Judge",
    "LeftOut",
    "LocalSearch",
    "MemoryClient",
    "MemoryUnavailable",
    "Mode",
    "Relation",
    "Remembered",
    "SearchProvider",
    "SearchResult",
    "Standing",
    "StyleRule",
    "search_provider",
]
