"""What is wrong with a workflow, or may be: each finding names its step and place."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.conditions import read_conditions, referenced
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
        found = {step.id: {edge.to for edge in step.edges} for step in self.steps}
        for step in self.steps:
            kind, _, name = step.on_error.partition(":")
            if kind == "step":
                found[step.id].add(name)
        return found


def findings_of(workflow: Workflow, functions: Iterable[str]) -> Iterator[Finding]:
    """Yield what is wrong with a workflow, or may be.

    Args:
        functions: The names that steps can have as their function.
    """
    known = frozenset(functions)
    names = [step.id for step in workflow.steps]
    if workflow.entry not in names:
        yield Finding("error", "", "entry", f"There is no entry step `{shown_id(workflow.entry)}`")
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Finding("error", name, "id", "Several steps have this id")
    for name in workflow.stray:
        yield Finding("error", name, "NEXT", "It leads to a node that is no STEP")
    paths = _closure(workflow.targets)
    for step in workflow.steps:
        yield from _of_step(step, known, paths)
    yield from _of_ways(workflow, paths)


def _closure(targets: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return for each step the ids of all that edges lead to from it, over any others."""
    found = {}
    for name in targets:
        seen: set[str] = set()
        waiting = [*targets[name]]
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                waiting += targets.get(each, ())
        found[name] = seen
    return found


def _of_step(
    step: Step, functions: frozenset[str], paths: Mapping[str, set[str]]
) -> Iterator[Finding]:
    if step.function not in functions:
        near = get_close_matches(step.function, functions, 1)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        shown = shown_id(step.function)
        yield Finding("error", step.id, "function", f"There is no function `{shown}`{hint}")
    kind, _, name = step.on_error.partition(":")
    if kind == "step" and name not in paths:
        yield Finding("error", step.id, "onError", f"There is no step `{shown_id(name)}`")
    yield from _of_input(step, paths)
    for edge in step.edges:
        yield from _of_edge(step, edge, paths)


def _of_input(step: Step, paths: Mapping[str, set[str]]) -> Iterator[Finding]:
    try:
        given = step.read_input()
        references = list(references_in(given))
    except (StepFailed, InvalidReference) as error:
        yield Finding("error", step.id, "input", error.message)
        return
    names = REQUIRED.get(step.function)
    if names is not None and not given.keys() & {*names}:
        yield Finding("error", step.id, "input", f"It has no `{names[0]}`")
    for reference in references:
        yield from _of_reference(reference, step, "input", paths, is_after=False)


def _of_edge(step: Step, edge: Edge, paths: Mapping[str, set[str]]) -> Iterator[Finding]:
    where = f"NEXT to {shown_id(edge.to)}"
    try:
        condition = read_conditions(edge.properties)
        references = [each for value in referenced(condition) for each in references_in(value)]
    except (InvalidCondition, InvalidReference) as error:
        yield Finding("error", step.id, where, error.message)
        return
    for reference in references:
        yield from _of_reference(reference, step, where, paths, is_after=True)


def _of_reference(
    reference: Reference,
    step: Step,
    where: str,
    paths: Mapping[str, set[str]],
    *,
    is_after: bool,
) -> Iterator[Finding]:
    """Yield what is wrong with a reference, which is read before or after its step has run."""
    name = reference.step
    if reference.session is not None or (name == INPUT and name not in paths):
        return
    if name not in paths:
        yield Finding("error", step.id, where, f"`{reference}` names a step that is not there")
        return
    has_run = step.id in paths[name] or (is_after and name == step.id)
    if not has_run and reference.default is None:
        yield Finding("warning", step.id, where, f"`{reference}` names a step that cannot have run")


def _of_ways(workflow: Workflow, paths: Mapping[str, set[str]]) -> Iterator[Finding]:
    reached = paths.get(workflow.entry, set()) | {workflow.entry}
    for step in workflow.steps:
        if workflow.entry in paths and step.id not in reached:
            yield Finding("warning", step.id, "NEXT", "No way from the entry step leads to it")
    functions = {step.id: step.function for step in workflow.steps}
    told: set[str] = set()
    for step in workflow.steps:
        if step.id in paths[step.id] and step.id not in told:
            circle = {name for name in paths[step.id] if step.id in paths.get(name, ())}
            told |= circle
            if not any(functions.get(name) in _PAUSES for name in circle):
                yield Finding(
                    "warning",
                    step.id,
                    "NEXT",
                    "It is in a cycle without a request or a wait, which only `maxRounds` ends "
                    "unless a condition does",
                )
