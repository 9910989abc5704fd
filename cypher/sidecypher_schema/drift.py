"""Differences between a graph and the files."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sidecypher_schema.catalog import Declared, declared, existing
from sidecypher_schema.chain import read_chain
from sidecypher_schema.graph import Graph
from sidecypher_schema.scripts import Scripts
from sidecypher_schema.states import MigrationState, migration_states
from sidecypher_schema.trigger_plan import read_triggers

DriftKind = Literal["script", "constraint", "index", "trigger"]


@dataclass(frozen=True, slots=True)
class Drift:
    """One difference.

    Attributes:
        what: Kind of thing that differs.
        name: Name of the file, constraint, index or trigger.
        problem: `pending`, `changed`, `missing` (a constraint or index does not exist, or a script
            or trigger has no file any more), `different`, `failed`, `stopped` or `unavailable`
            (a trigger, without APOC).
    """

    what: DriftKind
    name: str
    problem: str


def find_drift(graph: Graph, scripts: Scripts) -> list[Drift]:
    """Return all differences; an empty list if the graph agrees with the files."""
    found = migration_states(scripts.migrations, read_chain(graph.run, scripts.target))
    return [
        *(Drift("script", each.source, each.state) for each in found if each.state != "applied"),
        *(
            Drift("index" if one.item.kind == "index" else "constraint", str(one.item), problem)
            for one, problem in schema_problems(graph, found)
        ),
        *(
            Drift("trigger", each.name, each.state)
            for each in read_triggers(graph, scripts)
            if each.state != "applied"
        ),
    ]


def schema_problems(graph: Graph, found: list[MigrationState]) -> Iterator[tuple[Declared, str]]:
    """Yield constraints and indexes of applied scripts that have a problem in the graph."""
    there = existing(graph)
    applied = (each.script for each in found if each.applied and each.script)
    for one in declared(applied, graph.database):
        problem = one.problem(there)
        if problem is not None:
            yield one, problem
