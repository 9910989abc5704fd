"""The plan of a run, made without writing to the graph."""

from dataclasses import dataclass

from sidecypher_schema.chain import Applied, read_chain
from sidecypher_schema.graph import Graph
from sidecypher_schema.scripts import Script, Scripts
from sidecypher_schema.states import migration_states, refuse_mismatch
from sidecypher_schema.trigger_plan import TriggerPlan, plan_triggers


@dataclass(frozen=True, slots=True)
class Plan:
    """Scripts and triggers that a run will apply.

    Attributes:
        chain: Scripts that were applied before.
        scripts: Scripts to apply.
        triggers: Changes of triggers.
    """

    chain: list[Applied]
    scripts: tuple[Script, ...]
    triggers: TriggerPlan

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.scripts and self.triggers.is_empty


def make_plan(graph: Graph, scripts: Scripts) -> Plan:
    """Return the plan of a run; all that can be refused before a run is refused here.

    Args:
        graph: The database.
        scripts: Scripts for it.

    Raises:
        ChainMismatch: The files are not those that were applied.
        TriggerRefused: A trigger cannot be installed.
    """
    chain = read_chain(graph.run, scripts.target)
    found = migration_states(scripts.migrations, chain)
    refuse_mismatch(found)
    return Plan(
        chain=chain,
        scripts=tuple(each.script for each in found if each.due and each.script),
        triggers=plan_triggers(graph, scripts),
    )
