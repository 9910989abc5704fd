"""Reading what an agent should know before it writes: entities, relations, rules, citations."""

from sidecypher_procedures.rules.retrieval.assembling import graph_context
from sidecypher_procedures.rules.retrieval.bounds import BOUNDS, Bounds, Reach
from sidecypher_procedures.rules.retrieval.request import CONTEXT_KEYS, ContextRequest

__all__ = ["BOUNDS", "CONTEXT_KEYS", "Bounds", "ContextRequest", "Reach", "graph_context"]
