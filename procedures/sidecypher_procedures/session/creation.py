"""Creating sessions: of a defined workflow, of a drawn one, or of steps without a workflow."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.session.errors import (
    InvalidWorkflow,
    SessionTaken,
    StepFailed,
    UnknownWorkflow,
)
from sidecypher_procedures.session.mirrors import begin_run
from sidecypher_procedures.session.options import StartOptions
from sidecypher_procedures.session.store import INPUT, Tx, output_text
from sidecypher_procedures.session.workflow import ENTRY

_DEFINED: Final = """
    OPTIONAL MATCH (w:WORKFLOW {name: $workflow})
    WITH w.version AS version, coalesce(w.entry, $entry) AS entry
    MATCH (t:STEP {workflow: $workflow, id: entry})
    WHERE coalesce(t.version, 0) = coalesce(version, 0)
    RETURN elementId(t) AS node, t.id AS id, version
"""
_DRAWN: Final = """
    MATCH (t:STEP {id: $entry}) WHERE t.workflow IS NULL
    RETURN elementId(t) AS node, t.id AS id, null AS version
"""
_CREATE: Final = """
    MERGE (s:SESSION {id: $id})
    ON CREATE SET s += $properties, s.created_at = datetime.realtime(), s.isNew = true
    WITH s, s.isNew IS NOT NULL AS created
    REMOVE s.isNew
    RETURN created, s.workflow AS workflow
"""
_BEGIN: Final = """
    MATCH (s:SESSION {id: $id}), (t:STEP) WHERE elementId(t) = $node
    SET s.updated_at = s.created_at, s.lease_until = s.created_at
    CREATE (s)-[:CURRENT]->(t)
    WITH s WHERE $input IS NOT NULL
    CREATE (s)-[:HAS_OUTPUT]->(o:OUTPUT)
    SET o = {
        sessionId: s.id, stepId: $name, cycle: 0, value: $input, seq: 1, tries: 1,
        startedAt: s.created_at, createdAt: s.created_at
    }
"""


async def create_session(
    tx: Tx,
    workflow: str | None,
    options: StartOptions,
    parent: Mapping[str, Any] | None = None,
) -> tuple[str, bool]:
    """Create a session at the entry step of a workflow, unless it exists.

    `workflow` is None for the steps without a workflow; `parent` has the properties of a session
    that a step of another one starts.

    Returns:
        The id of the session, and whether it is new.

    Raises:
        UnknownWorkflow: There is no entry step.
        InvalidWorkflow: There are several.
        SessionTaken: The id belongs to a session of another workflow.
    """
    node, entry, version = await _entry(tx, workflow)
    given = _input_text(options.input)
    session_id = options.id or str(uuid4())
    properties = {
        "workflow": workflow,
        "workflow_version": version,
        "status": "active",
        "next_steps": [entry],
        "version": 1,
        "rounds": 0,
        "seq": 0 if given is None else 1,
        "failed_steps": [],
        "compat": options.compat,
        "max_rounds": options.max_rounds,
        "max_outputs": options.max_outputs_per_step,
        "export": options.export_properties or None,
        "recorded": options.record or None,
        **(parent or {}),
    }
    [found] = await tx.run(_CREATE, id=session_id, properties=properties)
    if not found["created"]:
        if found["workflow"] != workflow:
            raise SessionTaken(
                f"The id `{shown_id(session_id)}` belongs to a session of another workflow"
            )
        return session_id, False
    await tx.run(_BEGIN, id=session_id, node=node, input=given, name=INPUT)
    if options.record:
        await begin_run(tx, session_id, workflow)
    return session_id, True


async def _entry(tx: Tx, workflow: str | None) -> tuple[str, str, int | None]:
    """Return the element id and the id of the entry step, and the version of the workflow."""
    statement = _DRAWN if workflow is None else _DEFINED
    found = list(await tx.run(statement, workflow=workflow, entry=ENTRY))
    if not found:
        named = "steps without a workflow" if workflow is None else f"`{shown_id(workflow)}`"
        raise UnknownWorkflow(f"There is no entry step `{ENTRY}` of {named}")
    if len(found) > 1:
        raise InvalidWorkflow(
            f"There are {len(found)} entry steps `{ENTRY}`",
            hint="Give the steps of each workflow a property `workflow`.",
        )
    return found[0]["node"], found[0]["id"], found[0]["version"]


def _input_text(given: Mapping[str, Any] | None) -> str | None:
    if given is None:
        return None
    try:
        return output_text(given, INPUT)
    except StepFailed as error:
        raise InvalidWorkflow(f"The option `input` cannot be stored: {error.message}") from None
