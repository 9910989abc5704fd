"""What is wrong with a workflow, or may be: each finding names its step and place."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Final, Literal

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.conditions import referenced
from sidecypher_procedures.session.errors import InvalidCondition, InvalidReference, StepFailed
from sidecypher_procedures.session.functions import REQUIRED
from sidecypher_procedures.session.references import Reference, references_in
from sidecypher_procedures.session.store import INPUT
from sidecypher_procedures.session.workflow import Edge, Step

Severity = Literal["error", "warning"]

_PAUSES: Final = frozenset({"request", "wait", "session"})


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a workflow, or may be.

    Attributes:
        severity: `error` if sessions will fail there, `warning` if they may.
        step_id: The step that it is about; empty if it is about none.
        where: The property, or the edge, of the step.
        message: What is wrong, and what to do.
    """

    severity: Severity
    step_id: str
    where: str
    message: str

    @property
    def place(self) -> str:
        """The step and the place in it, for a sentence."""
        return f"The step `{shown_id(self.step_id)}` ({self.where})" if self.step_id else self.where


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow.

    Attributes:
        name: None for the steps without a workflow.
        entry: The id of its first step.
        stray: Ids of steps with a NEXT relationship to a node that is no STEP.
    """

    name: str | None
    entry: str
    steps: list[Step]
    stray: tuple[str, ...] = ()

    @property
    def targets(self) -> dict[str, set[str]]:
        """The ids of the steps that follow each step, those of `onError` included."""
        found: dict[str, set[str]] = {step.id: set() for step in self.steps}
        for step in self.steps:
            found[step.id] |= {edge.to for edge in step.edges}
            kind, _, name = step.on_error.partition(":")
            if kind == "step":
                found[step.id].add(name)
        return found


class _Ways:
    """What leads to what in a workflow."""

    def __init__(self, workflow: Workflow) -> None:
        self.targets = workflow.targets
        self.behind = cache(self._behind)

    def _behind(self, name: str) -> set[str]:
        """Return the ids of all that edges lead to from a step, over any others."""
        return _reached(name, self.targets)


def _reached(name: str, targets: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        further = targets.get(waiting.pop(), set()) - seen
        seen |= further
        waiting += further
    return seen


def findings_of(workflow: Workflow, functions: Iterable[str]) -> Iterator[Finding]:
    """Yield what is wrong with a workflow, or may be.

    Args:
        workflow: As it is in the graph, or is to be.
        functions: The names that steps can have as their function.
    """
    known = frozenset(functions)
    ways = _Ways(workflow)
    if workflow.entry not in ways.targets:
        yield Finding("error", "", "entry", f"There is no entry step `{shown_id(workflow.entry)}`")
    for name, count in sorted(Counter(step.id for step in workflow.steps).items()):
        if not name:
            yield Finding("error", "", "id", "A step has no `id`, or one that is no text")
        elif count > 1:
            yield Finding("error", name, "id", "Several steps have this id")
    for name in workflow.stray:
        yield Finding("error", name, "NEXT", "It leads to a node that is no STEP")
    for step in workflow.steps:
        yield from _of_function(step, known)
        yield from _of_error(step, ways)
        yield from _of_input(step, ways)
        for edge in step.edges:
            yield from _of_edge(step, edge, ways)
    yield from _of_way(workflow, ways)
    yield from _of_cycles(workflow, ways)


def _of_function(step: Step, functions: frozenset[str]) -> Iterator[Finding]:
    if step.function not in functions:
        near = get_close_matches(step.function, functions, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        shown = shown_id(step.function)
        yield Finding("error", step.id, "function", f"There is no function `{shown}`{hint}")


def _of_error(step: Step, ways: _Ways) -> Iterator[Finding]:
    kind, _, name = step.on_error.partition(":")
    if kind == "step" and name not in ways.targets:
        yield Finding("error", step.id, "onError", f"There is no step `{shown_id(name)}`")
    elif kind != "step" and step.on_error not in {"fail", "continue"}:
        message = "It is neither `fail`, `continue` nor `step:` and an id"
        yield Finding("error", step.id, "onError", message)


def _of_input(step: Step, ways: _Ways) -> Iterator[Finding]:
    try:
        given = step.input
        references = list(references_in(given))
    except (StepFailed, InvalidReference) as error:
        yield Finding("error", step.id, "input", error.message)
        return
    names = REQUIRED.get(step.function, ())
    if names and all(given.get(name) is None for name in names):
        yield Finding("error", step.id, "input", f"It has no `{names[0]}`")
    for reference in references:
        yield from _of_reference(reference, step, "input", ways)


def _of_edge(step: Step, edge: Edge, ways: _Ways) -> Iterator[Finding]:
    where = f"NEXT to {shown_id(edge.to)}"
    try:
        condition = edge.condition
        references = [each for value in referenced(condition) for each in references_in(value)]
    except (InvalidCondition, InvalidReference) as error:
        yield Finding("error", step.id, where, error.message)
        return
    for reference in references:
        # The condition is looked at when the step has run.
        if reference.session is not None or reference.step != step.id:
            yield from _of_reference(reference, step, where, ways)


def _of_reference(reference: Reference, step: Step, where: str, ways: _Ways) -> Iterator[Finding]:
    shown = shown_id(str(replace(reference, default=None)))
    has_default = reference.default is not None
    if reference.session is not None:
        if reference.session in ways.targets:
            message = f"`{shown}` names a step where a session is named; write `@{{SESSION_ID}}.`"
            yield Finding("warning", step.id, where, message)
    elif reference.step not in ways.targets:
        if reference.step != INPUT:
            severity: Severity = "warning" if has_default else "error"
            message = f"`{shown}` names a step that is not there"
            yield Finding(severity, step.id, where, message)
    elif (
        not has_default
        and step.id not in ways.behind(reference.step)
        # A step of a parallel branch may have run; this one, or one behind it, cannot have.
        and reference.step in {step.id, *ways.behind(step.id)}
    ):
        message = f"`{shown}` names a step that cannot have run"
        yield Finding("warning", step.id, where, message)


def _of_way(workflow: Workflow, ways: _Ways) -> Iterator[Finding]:
    if workflow.entry not in ways.targets:
        return
    reached = ways.behind(workflow.entry) | {workflow.entry}
    for step in workflow.steps:
        if step.id not in reached:
            yield Finding("warning", step.id, "NEXT", "No way from the entry step leads to it")


def _of_cycles(workflow: Workflow, ways: _Ways) -> Iterator[Finding]:
    """Yield one finding for steps that lead to each other, past everything that pauses."""
    pausing = {step.id for step in workflow.steps if step.function in _PAUSES}
    left = {name: targets for name, targets in ways.targets.items() if name not in pausing}
    ended: set[str] = set()
    sorter = TopologicalSorter(left)
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        sorter.done(*ready)
        ended.update(ready)
    left = {name: targets - ended for name, targets in left.items() if name not in ended}
    back: dict[str, set[str]] = {name: set() for name in left}
    for name, targets in left.items():
        for target in targets:
            back[target].add(name)
    told: set[str] = set()
    for name in left:
        circle = set() if name in told else _reached(name, left) & _reached(name, back)
        if name in circle:
            told |= circle
            message = (
                "It is in a cycle without a request or a wait, which only `maxRounds` ends unless "
                "a condition does"
            )
            yield Finding("warning", name, "NEXT", message)
