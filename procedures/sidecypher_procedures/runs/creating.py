"""Beginning a run, with what it is about and who began it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from uuid import uuid4

from sidecypher import Context
from sidecypher_procedures.fields import LONGEST_NAME, Fields, shown_id
from sidecypher_procedures.runs.attaching import tie
from sidecypher_procedures.runs.digests import canonical
from sidecypher_procedures.runs.errors import InvalidOption, RunTaken
from sidecypher_procedures.runs.inputs import read_metadata
from sidecypher_procedures.runs.targets import BASES, DELIVERY, USER, Target

OPTION_KEYS: Final = (*("id", "basedOn", "initiatedBy", "triggeredBy", "postToGithub", "metadata"),)

_CREATE: Final = """
    MERGE (r:WorkflowRun {id: $id})
    ON CREATE SET r += $properties, r.createdAt = datetime.transaction(),
        r.touchedAt = datetime.realtime(), r.isNew = true
    WITH r, r.isNew IS NOT NULL AS created
    REMOVE r.isNew
    RETURN created, r.type AS type, r.state AS state
"""


@dataclass(frozen=True, slots=True)
class RunInput:
    """A run as a caller wants it.

    Attributes:
        id: Its id, made here unless given.
        type: What kind of workflow it is; any text.
        targets: What it is based on, who began it, and the delivery that did.
        post_to_github: Whether its results are meant for GitHub, None if nobody said.
        metadata: JSON of a MAP, or None.
    """

    id: str
    type: str
    targets: tuple[Target, ...]
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
            targets=tuple(_read_targets(fields)),
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
        UnknownReference: What it is based on, or the delivery that triggered it, is not there.
        UnknownOnGithub: GitHub does not have what it is to be based on.
    """
    found = ctx.run(_CREATE, id=run.id, properties=run.properties).single()
    if not found["created"]:
        if found["type"] != run.type:
            raise RunTaken(f"The id `{shown_id(run.id)}` belongs to a run of another type")
        return False
    ties = [each for target in run.targets for each in target.find(ctx).ties]
    if ties:
        tie(ctx, run.id, ties)
    return True


def _read_targets(fields: Fields) -> Iterator[Target]:
    bases = Fields(fields.map("basedOn"), "basis", tuple(BASES), InvalidOption)
    read = (
        *(Target.read(kind, bases, name) for name, kind in BASES.items()),
        Target.read(USER, fields, "initiatedBy"),
        Target.read(DELIVERY, fields, "triggeredBy"),
    )
    yield from (target for target in read if target is not None)
