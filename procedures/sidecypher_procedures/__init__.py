"""The procedures that ship with sidecypher, one module or package per Cypher namespace."""
