"""Workflows as they are defined: validated, stored as a new version, and read from the graph."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.errors import InvalidWorkflow, UnknownWorkflow
from sidecypher_procedures.session.options import EdgeSpec, StepSpec, WorkflowSpec
from sidecypher_procedures.session.references import to_json
from sidecypher_procedures.session.store import OUTPUT_BYTES, Tx
from sidecypher_procedures.session.validation import Finding, Workflow, findings_of
from sidecypher_procedures.session.workflow import ENTRY, Edge, Step, read_step

# The MERGE locks the name, so that two definitions get two versions.
_DEFINE: Final = """
    MERGE (w:WORKFLOW {name: $workflow})
    SET w.updatedAt = datetime.transaction()
    WITH w, coalesce(w.version, 0) + 1 AS version
    SET w.version = version, w.entry = $entry
    WITH w, version
    CALL (w, version) {
        UNWIND $steps AS each
        CREATE (w)-[:HAS_STEP]->(t:STEP)
        SET t = each, t.workflow = w.name, t.version = version
    }
    CALL (w, version) {
        UNWIND $edges AS each
        MATCH (t:STEP {workflow: w.name, version: version, id: each.from})
        MATCH (u:STEP {workflow: w.name, version: version, id: each.to})
        CREATE (t)-[n:NEXT]->(u)
        SET n = each.properties
    }
    RETURN version
"""
_READ: Final = """
    MATCH (t:STEP)
    WHERE t.workflow = $workflow AND t.id IS NOT NULL AND coalesce(t.version, 0) = $version
    RETURN elementId(t) AS node, properties(t) AS properties,
        COLLECT {
            MATCH (t)-[n:NEXT]->(u)
            RETURN {
                properties: properties(n), to: coalesce(u.id, ''), node: elementId(u),
                isStep: u:STEP
            }
        } AS edges
    ORDER BY t.id
"""
_READ_DRAWN: Final = _READ.replace(
    "t.workflow = $workflow AND t.id IS NOT NULL AND coalesce(t.version, 0) = $version",
    "t.workflow IS NULL",
)
_VERSION: Final = """
    MATCH (w:WORKFLOW {name: $workflow}) RETURN w.version AS version, w.entry AS entry
"""


async def define(
    tx: Tx, name: str, spec: WorkflowSpec, functions: Iterable[str]
) -> tuple[int, list[Finding]]:
    """Store a workflow as the next version of its name; sessions that run keep theirs.

    Returns:
        The version, and what may be wrong with it.

    Raises:
        InvalidWorkflow: Something is wrong with it; nothing was written.
    """
    steps, edges, findings = check(name, spec, functions)
    wrong = next((each for each in findings if each.severity == "error"), None)
    if wrong is not None:
        raise InvalidWorkflow(f"{wrong.place}: {wrong.message}")
    [record] = await tx.run(_DEFINE, workflow=name, entry=spec.entry, steps=steps, edges=edges)
    return record["version"], findings


def check(
    name: str, spec: WorkflowSpec, functions: Iterable[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[Finding]]:
    """Return the steps and the edges of a workflow as they are stored, and its findings.

    Raises:
        InvalidWorkflow: An edge names a step that is not there, or a value cannot be stored.
    """
    steps = [_step_properties(each) for each in spec.steps]
    known = {each["id"] for each in steps}
    for edge in spec.next:
        for end in (edge.from_, edge.to):
            if end not in known:
                raise InvalidWorkflow(
                    f"An edge from `{shown_id(edge.from_)}` to `{shown_id(edge.to)}` names the "
                    f"step `{shown_id(end)}`, which is not among the `steps`"
                )
    edges = [
        {"from": each.from_, "to": each.to, "properties": _edge_properties(each)}
        for each in spec.next
    ]
    return steps, edges, list(findings_of(_workflow(name, spec.entry, steps, edges), functions))


def _step_properties(spec: StepSpec) -> dict[str, Any]:
    text = _json(spec.input or {}, f"The `input` of the step `{shown_id(spec.id)}`")
    properties = {
        "id": spec.id,
        "function": spec.function,
        "input": text,
        "description": spec.description,
        "join": spec.join,
        "retries": spec.retries or None,
        "backoffMs": spec.backoff_ms if spec.retries else None,
        "timeoutMs": spec.timeout_ms,
        "onError": None if spec.on_error == "fail" else spec.on_error,
    }
    return {name: value for name, value in properties.items() if value is not None}


def _edge_properties(spec: EdgeSpec) -> dict[str, Any]:
    where = f"The `conditions` from `{shown_id(spec.from_)}` to `{shown_id(spec.to)}`"
    properties = {
        "id": spec.id,
        "order": spec.order,
        "conditions": _json(spec.conditions, where) if spec.conditions else None,
    }
    return {name: value for name, value in properties.items() if value is not None}


def _json(value: Any, where: str) -> str:
    try:
        text = to_json(value)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        raise InvalidWorkflow(f"{where} has a value that JSON does not have") from None
    if size > OUTPUT_BYTES:
        raise InvalidWorkflow(f"{where} has {size} bytes; give at most {OUTPUT_BYTES}")
    return text


def _workflow(
    name: str, entry: str, steps: Iterable[Mapping[str, Any]], edges: Iterable[Mapping[str, Any]]
) -> Workflow:
    found = [
        Step(
            each["id"],
            each["id"],
            each,
            tuple(
                Edge(edge["properties"], edge["to"], edge["to"])
                for edge in edges
                if edge["from"] == each["id"]
            ),
        )
        for each in steps
    ]
    return Workflow(name, entry, found)


async def read_workflow(tx: Tx, name: str | None) -> Workflow:
    """Return the latest version of a workflow of the graph.

    Raises:
        UnknownWorkflow: It has no steps.
    """
    entry = ENTRY
    if name is None:
        records = await tx.run(_READ_DRAWN)
    else:
        defined = next(iter(await tx.run(_VERSION, workflow=name)), None)
        entry, version = (ENTRY, 0) if defined is None else (defined["entry"], defined["version"])
        records = await tx.run(_READ, workflow=name, version=version)
    steps = []
    stray = []
    for record in records:
        edges = [each for each in record["edges"] if each["isStep"]]
        step = read_step({**record, "edges": edges})
        steps.append(step)
        stray += [step.id] * (len(record["edges"]) - len(edges))
    if not steps:
        named = "steps without a workflow" if name is None else f"workflow `{shown_id(name)}`"
        raise UnknownWorkflow(f"There are no {named}" if name is None else f"There is no {named}")
    return Workflow(name, entry, steps, tuple(stray))
