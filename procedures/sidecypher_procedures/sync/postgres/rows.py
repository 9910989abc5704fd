"""Rows of the procedures about drafts."""

from datetime import datetime
from typing import Annotated, Any, Literal

from sidecypher import Description, Row


class DraftRow(Row):
    """A draft of a run."""

    id: str
    content_type: str
    content: str
    metadata: dict[str, Any]
    status: Annotated[str, Description("draft, published or discarded")]
    version: Annotated[int, Description("from 1; each edit adds one")]
    created_by: Annotated[str, Description("id of a user")]
    created_at: datetime
    updated_at: datetime


class BrokenReference(Row):
    """A draft and a run, of which one does not exist."""

    draft_id: str
    run_id: str
    missing: Annotated[Literal["run", "draft"], Description("which of both does not exist")]
