"""Client of the `rules` procedures for agents outside of Neo4j; in mode OFF it loads no driver."""

from sidecypher_procedures.rules.client.judge import ChatJudge
from sidecypher_procedures.rules.client.memory import AsyncMemoryClient, MemoryClient
from sidecypher_procedures.rules.client.model import (
    Added,
    CircuitBreaker,
    Citation,
    ClientSettings,
    Entity,
    Extractor,
    Forgotten,
    GraphContext,
    Judge,
    LeftOut,
    Mode,
    Relation,
    Remembered,
    RuleStatus,
    StyleRule,
)
from sidecypher_procedures.rules.client.search import (
    DisabledSearch,
    Found,
    LocalSearch,
    SearchProvider,
    SearchResult,
    search_provider,
)
from sidecypher_procedures.rules.errors import ClientSettingsError, MemoryUnavailable

__all__ = [
    "Added",
    "AsyncMemoryClient",
    "ChatJudge",
    "CircuitBreaker",
    "Citation",
    "ClientSettings",
    "ClientSettingsError",
    "DisabledSearch",
    "Entity",
    "Extractor",
    "Forgotten",
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
    "RuleStatus",
    "SearchProvider",
    "SearchResult",
    "StyleRule",
    "search_provider",
]
