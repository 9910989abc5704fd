"""Beginning a run, with what it is about and who began it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, LiteralString, Self
from uuid import uuid4

from sidecypher import Context
from sidecypher_procedures.fields import LONGEST_NAME, Fields, shown_id
from sidecypher_procedures.runs.digests import canonical
from sidecypher_procedures.runs.errors import InvalidOption, RunTaken, UnknownReference
from sidecypher_procedures.runs.inputs import read_metadata

OPTION_KEYS: Final = (*("id", "initiatedBy", "triggeredBy", "postToGithub", "metadata"),)

_CREATE: Final = """
    MERGE (r:WorkflowRun {id: $id})
    ON CREATE SET r += $properties, r.createdAt = datetime.transaction(),
        r.touchedAt = datetime.realtime(), r.isNew = true
    WITH r, r.isNew IS NOT NULL AS created
    REMOVE r.isNew
    RETURN created, r.type AS type, r.state AS state
"""
_INITIATED_BY: Final = """
    MATCH (r:WorkflowRun {id: $id})
    MERGE (u:User {id: $target})
    CREATE (r)-[:INITIATED_BY]->(u)
    RETURN u.id AS id
"""
_TRIGGERED_BY: Final = """
    MATCH (r:WorkflowRun {id: $id}), (w:GithubWebhookEvent {id: $target})
    CREATE (r)-[:TRIGGERED_BY]->(w)
    RETURN w.id AS id
"""


@dataclass(frozen=True, slots=True)
class RunInput:
    """A run as a caller wants it.

    Attributes:
        id: Its id, made here unless given.
        type: What kind of workflow it is; any text.
        initiated_by: The id of the user who began it, or None.
        triggered_by: The id of the delivery that began it, or None.
        post_to_github: Whether its results are meant for GitHub, None if nobody said.
        metadata: JSON of a MAP, or None.
    """

    id: str
    type: str
    initiated_by: str | None
    triggered_by: str | None
    post_to_github: bool | None
    metadata: str | None

    @classmethod
    def parse(cls, type_name: str, options: Mapping[str, Any]) -> Self:
        """Check the arguments of `runs.create`.

        Raises:
            InvalidOption: One is unknown or has an unusable value.
        """
        fields = Fields(options, "list of options", OPTION_KEYS, InvalidOption)
        name = type_name.strip()
        if not 0 < len(name) <= LONGEST_NAME:
            raise InvalidOption(
                f"The run has a `type` of {len(name)} characters",
                hint=f"Give the name of a workflow, of at most {LONGEST_NAME}.",
            )
        metadata = read_metadata(fields)
        return cls(
            id=fields.identifier("id") or str(uuid4()),
            type=name,
            initiated_by=fields.identifier("initiatedBy"),
            triggered_by=fields.identifier("triggeredBy"),
            post_to_github=fields.flag("postToGithub") if "postToGithub" in fields else None,
            metadata=None if metadata is None else canonical(metadata),
        )

    @property
    def properties(self) -> dict[str, Any]:
        """What a new run has, under both seeds' names."""
        return {
            "type": self.type,
            "workflowType": self.type,
            "state": "pending",
            "status": "pending",
            "lastSeq": 0,
            "postToGithub": self.post_to_github,
            "metadata": self.metadata,
        }


def create_run(ctx: Context, run: RunInput) -> bool:
    """Write a run, unless it is there already; tell whether it was new.

    Raises:
        RunTaken: The id belongs to a run of another type.
        UnknownReference: The delivery that triggered it is not there.
    """
    found = ctx.run(_CREATE, id=run.id, properties=run.properties).single()
    if not found["created"]:
        if found["type"] != run.type:
            raise RunTaken(f"The id `{shown_id(run.id)}` belongs to a run of another type")
        return False
    _attach(ctx, _INITIATED_BY, run.id, run.initiated_by, "user")
    _attach(ctx, _TRIGGERED_BY, run.id, run.triggered_by, "delivery")
    return True


def _attach(
    ctx: Context, statement: LiteralString, run_id: str, target: str | None, noun: str
) -> None:
    if target is not None and not len(ctx.run(statement, id=run_id, target=target)):
        raise UnknownReference(f"There is no {noun} `{shown_id(target)}`")
