"""Turn a typed Python function into a Cypher signature, or say at import why that cannot be.

Rules: parameters and columns are renamed from snake_case to camelCase; a name must be a plain
identifier in Python, Cypher and Java; a namespace must not be one that Neo4j keeps for itself.
"""

from sidecypher.signature.model import Answer, Column, Default, Parameter, Signature
from sidecypher.signature.names import RESERVED_NAMESPACES, camel_case, check_procedure_name
from sidecypher.signature.reader import (
    place_of,
    read_columns,
    read_function_signature,
    read_signature,
)
from sidecypher.types import CypherType

__all__ = [
    "RESERVED_NAMESPACES",
    "Answer",
    "Column",
    "CypherType",
    "Default",
    "Parameter",
    "Signature",
    "camel_case",
    "check_procedure_name",
    "place_of",
    "read_columns",
    "read_function_signature",
    "read_signature",
]
