"""What a run is about to do, found out without writing anything."""

from collections.abc import Mapping
from dataclasses import dataclass

from sidecypher_schema.chain import Applied, read_chain
from sidecypher_schema.errors import AssertionNotMet
from sidecypher_schema.graph import Graph
from sidecypher_schema.placeholders import fill
from sidecypher_schema.preconditions import Precondition, Server, fits
from sidecypher_schema.scripts import Script, Scripts
from sidecypher_schema.states import refuse_mismatch, standings
from sidecypher_schema.trigger_plan import TriggerPlan, plan_triggers


@dataclass(frozen=True, slots=True)
class Skipped:
    """A script that is left out, and the assumption that does not hold."""

    script: Script
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done.

    Attributes:
        chain: What was applied before.
        scripts: What will be applied.
        skipped: What is left out, for its assumptions.
        triggers: What will be done with triggers.
    """

    chain: list[Applied]
    scripts: tuple[Script, ...]
    skipped: tuple[Skipped, ...]
    triggers: TriggerPlan

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.scripts and self.triggers.is_empty


def make_plan(graph: Graph, scripts: Scripts, values: Mapping[str, str]) -> Plan:
    """Return what is to be done; everything that can be refused before a run is refused here.

    Args:
        graph: The database.
        scripts: What it shall be brought to.
        values: Of placeholders.

    Raises:
        ChainMismatch: The files are not those that were applied.
        AssertionNotMet: A script that is due asserts something that does not hold.
        BadPlaceholder: A placeholder has no value.
        TriggerRefused: A trigger cannot be installed.
    """
    chain = read_chain(graph.run, scripts.target)
    found = standings(scripts.migrations, chain)
    refuse_mismatch(found)
    due, skipped = _sort_out([each.script for each in found if each.due and each.script], graph)
    for script in due:
        for statement in script.statements:
            fill(statement, values, script.source)
    return Plan(
        chain=chain,
        scripts=tuple(due),
        skipped=tuple(skipped),
        triggers=plan_triggers(graph, scripts),
    )


def _sort_out(due: list[Script], graph: Graph) -> tuple[list[Script], list[Skipped]]:
    """Tell what runs from what is skipped."""
    if not any(script.preconditions for script in due):
        return due, []
    server = graph.server()
    runs, skipped = [], []
    for script in due:
        unmet = [each for each in script.preconditions if not _holds(each, graph, server)]
        asserted = [each for each in unmet if each.kind == "assert"]
        if asserted:
            raise AssertionNotMet(
                f"`{script.source}` has `{asserted[0].text}`, and this is Neo4j {server.version}, "
                f"{server.edition} edition"
            )
        if unmet:
            skipped.append(Skipped(script, unmet[0].text))
        else:
            runs.append(script)
    return runs, skipped


def _holds(precondition: Precondition, graph: Graph, server: Server) -> bool:
    if precondition.about != "query":
        return fits(precondition, server)
    return [list(row.values()) for row in graph.run(precondition.value)] == [[True]]
