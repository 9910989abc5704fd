"""Changes of triggers, from a comparison of the files with Neo4j."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sidecypher_schema.apoc import Apoc, Installed, check, find_apoc
from sidecypher_schema.errors import TriggerRefused
from sidecypher_schema.graph import Graph
from sidecypher_schema.scripts import Scripts
from sidecypher_schema.trigger_files import Trigger

TriggerState = Literal["applied", "pending", "changed", "stopped", "missing", "unavailable"]
"""State of a trigger; `missing` has no file any more, `unavailable` means that APOC is missing."""


@dataclass(frozen=True, slots=True)
class TriggerStatus:
    """A trigger, in files, Neo4j or both.

    Attributes:
        name: Its name.
        source: Its file, or empty.
        state: State from the comparison of file and Neo4j.
    """

    name: str
    source: str
    state: TriggerState


@dataclass(frozen=True, slots=True)
class TriggerPlan:
    """Triggers to install, start and drop.

    Attributes:
        install: Triggers to install.
        start: Names of triggers of this chain that somebody has stopped, and of triggers of any
            chain that a killed run has stopped.
        drop: Names of triggers of this chain that have no file any more.
        target: Chain of their scripts.
        apoc: Triggers of the database.
    """

    install: tuple[Trigger, ...]
    start: tuple[str, ...]
    drop: tuple[str, ...]
    target: str
    apoc: Apoc

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.install or self.start or self.drop)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all triggers that will change."""
        return (*(trigger.name for trigger in self.install), *self.start, *self.drop)

    def carry_out(self) -> None:
        """Apply the plan, and wait until Neo4j shows the result.

        Raises:
            TriggerNotSeen: Neo4j does not show the result in time.
        """
        self.apoc.drop(self.drop)
        self.apoc.install(self.install, self.target)
        self.apoc.start(self.start)


def plan_triggers(graph: Graph, scripts: Scripts) -> TriggerPlan:
    """Return the changes of triggers; all that can be refused is refused here.

    Args:
        graph: The database.
        scripts: Scripts for it.

    Raises:
        TriggerRefused: A trigger cannot be installed.
    """
    apoc = find_apoc(graph)
    installed = apoc.triggers()
    states = {each.name: each.state for each in trigger_states(scripts, apoc, installed)}
    install = [each for each in scripts.triggers if states[each.name] in {"pending", "changed"}]
    for trigger in install:
        _refuse_foreign(trigger, installed, scripts.target)
        check(graph, trigger)
    return TriggerPlan(
        install=tuple(install),
        start=tuple(name for name, state in states.items() if state == "stopped"),
        drop=tuple(name for name, state in states.items() if state == "missing"),
        target=scripts.target,
        apoc=apoc,
    )


def trigger_states(
    scripts: Scripts, apoc: Apoc, installed: Mapping[str, Installed]
) -> list[TriggerStatus]:
    """Return all triggers: with a file, without one, and stopped by a killed run."""
    target = scripts.target
    named = {trigger.name for trigger in scripts.triggers}
    without_file = [
        name for name, one in installed.items() if one.target == target and name not in named
    ]
    return [
        *(
            TriggerStatus(each.name, each.source, _state_of(each, installed, target, apoc))
            for each in scripts.triggers
        ),
        *(TriggerStatus(name, "", "missing") for name in without_file),
        *(
            TriggerStatus(one.name, "", "stopped")
            for one in apoc.left_stopped(installed)
            if one.target != target
        ),
    ]


def read_triggers(graph: Graph, scripts: Scripts) -> list[TriggerStatus]:
    """Return all triggers of a database with their state."""
    apoc = find_apoc(graph)
    return trigger_states(scripts, apoc, apoc.triggers())


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


def _refuse_foreign(trigger: Trigger, installed: Mapping[str, Installed], target: str) -> None:
    found = installed.get(trigger.name)
    if found is None or found.target == target:
        return
    if found.target is None:
        raise TriggerRefused(
            f"There is a trigger `{trigger.name}` that sidecypher has not installed",
            hint="Drop it by `apoc.trigger.drop`, or rename one of the two.",
        )
    raise TriggerRefused(
        f"There is a trigger `{trigger.name}` that came with the scripts of `{found.target}`",
        hint=f"Rename the one in `{trigger.source}`.",
    )
