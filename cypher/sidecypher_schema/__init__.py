"""Cypher files with the schema that sidecypher's procedures rely on, and functions to apply them.

`migrate` applies the files to a graph and `find_drift` lists the differences. `repair` corrects a
graph and `clean` removes the schema. All accept the scripts of `shipped_scripts` or `own_scripts`.

Example:
    >>> [each.version for each in shipped_scripts().migrations][0]
    '001'
"""

from sidecypher_schema.chain import read_chain
from sidecypher_schema.drift import Drift, find_drift
from sidecypher_schema.errors import CleanRefused, SchemaError
from sidecypher_schema.graph import Graph, connect
from sidecypher_schema.lexer import Statement, split
from sidecypher_schema.migrating import Migrated, migrate
from sidecypher_schema.plan import Plan, make_plan
from sidecypher_schema.repair import Cleaned, Repaired, clean, repair
from sidecypher_schema.rows import Overview, migration_rows, overview
from sidecypher_schema.scripts import Script, Scripts, own_scripts, shipped_scripts
from sidecypher_schema.states import migration_states

__all__ = [
    "CleanRefused",
    "Cleaned",
    "Drift",
    "Graph",
    "Migrated",
    "Overview",
    "Plan",
    "Repaired",
    "SchemaError",
    "Script",
    "Scripts",
    "Statement",
    "clean",
    "connect",
    "find_drift",
    "make_plan",
    "migrate",
    "migration_rows",
    "migration_states",
    "overview",
    "own_scripts",
    "read_chain",
    "repair",
    "shipped_scripts",
    "split",
]
