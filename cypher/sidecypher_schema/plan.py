"""What a run is about to do, found out without writing anything."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sidecypher_schema.apoc import Apoc, Installed, check, find_apoc
from sidecypher_schema.chain import Applied, read_chain
from sidecypher_schema.errors import AssertionNotMet, TriggerRefused
from sidecypher_schema.graph import Graph
from sidecypher_schema.placeholders import fill
from sidecypher_schema.preconditions import Precondition, Server, fits
from sidecypher_schema.scripts import Script, Scripts
from sidecypher_schema.states import refuse_mismatch, standings
from sidecypher_schema.trigger_files import Trigger

TriggerState = Literal["applied", "pending", "changed", "stopped", "missing", "unavailable"]
"""`missing`: it is installed, and there is no file any more; `unavailable`: there is no APOC."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A script that is left out, and the assumption that does not hold."""

    script: Script
    reason: str


@dataclass(frozen=True, slots=True)
class TriggerStanding:
    """A trigger, in files, Neo4j or both.

    Attributes:
        name: Its name.
        source: Its file; empty if there is none any more.
        state: What is to be said of it.
    """

    name: str
    source: str
    state: TriggerState


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done.

    Attributes:
        chain: What was applied before.
        scripts: What will be applied.
        skipped: What is left out, for its assumptions.
        install: Triggers that will be installed.
        start: Names of triggers of ours that somebody has stopped.
        drop: Names of triggers of ours that have no file any more.
        apoc: What installs triggers.
    """

    chain: list[Applied]
    scripts: tuple[Script, ...]
    skipped: tuple[Skipped, ...]
    install: tuple[Trigger, ...]
    start: tuple[str, ...]
    drop: tuple[str, ...]
    apoc: Apoc

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.scripts or self.install or self.start or self.drop)


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
    apoc = find_apoc(graph)
    installed = apoc.triggers()
    states = {each.name: each.state for each in trigger_standings(scripts, apoc)}
    install = [each for each in scripts.triggers if states[each.name] in {"pending", "changed"}]
    for trigger in install:
        _refuse_foreign(trigger, installed)
        check(graph, trigger)
    return Plan(
        chain=chain,
        scripts=tuple(due),
        skipped=tuple(skipped),
        install=tuple(install),
        start=tuple(name for name, state in states.items() if state == "stopped"),
        drop=tuple(name for name, state in states.items() if state == "missing"),
        apoc=apoc,
    )


def trigger_standings(scripts: Scripts, apoc: Apoc) -> list[TriggerStanding]:
    """Return all triggers: those of the files, then those without one."""
    installed, target = apoc.triggers(), scripts.target
    named = {trigger.name for trigger in scripts.triggers}
    without_file = [
        name for name, one in installed.items() if one.target == target and name not in named
    ]
    return [
        *(
            TriggerStanding(each.name, each.source, _state_of(each, installed, target, apoc))
            for each in scripts.triggers
        ),
        *(TriggerStanding(name, "", "missing") for name in without_file),
    ]


def _state_of(
    trigger: Trigger, installed: Mapping[str, Installed], target: str, apoc: Apoc
) -> TriggerState:
    if apoc.problem:
        return "unavailable"
    found = installed.get(trigger.name)
    if found is None:
        return "pending"
    if not found.is_from(trigger, target):
        return "changed"
    return "stopped" if found.paused else "applied"


def _refuse_foreign(trigger: Trigger, installed: Mapping[str, Installed]) -> None:
    found = installed.get(trigger.name)
    if found is not None and found.target is None:
        raise TriggerRefused(
            f"There is a trigger `{trigger.name}` that sidecypher has not installed",
            hint="Drop it by `apoc.trigger.drop`, or rename one of the two.",
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
