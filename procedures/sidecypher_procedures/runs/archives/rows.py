"""The columns of the procedures of this package, in order."""

from datetime import datetime
from typing import Annotated

from sidecypher import Description, Row
from sidecypher_procedures.runs.rows import State


class Archived(Row):
    """A run and the file that it is in."""

    run_id: str
    file: Annotated[str, Description("relative to the folder for archives")]
    events: Annotated[int, Description("how many events it has, shared ones not counted")]
    digest: Annotated[str, Description("SHA-256 of what the file says of it")]


class Retained(Row):
    """A run that is older than it need be."""

    run_id: str
    state: State
    completed_at: datetime
    action: Annotated[str, Description("archive, delete, or stay for one that cannot be archived")]
