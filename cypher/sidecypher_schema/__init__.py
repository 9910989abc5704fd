"""Cypher files that hold the schema sidecypher's own procedures rely on, and what applies them."""

from sidecypher_schema.lexer import split
from sidecypher_schema.migrating import migrate
from sidecypher_schema.scripts import own_scripts, shipped_scripts

__all__ = ["migrate", "own_scripts", "shipped_scripts", "split"]
