"""Pages of what is listed newest first."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from sidecypher_procedures.fields import Fields
from sidecypher_procedures.runs.reading import NO_LIMIT

PAGE_KEYS: Final = ("limit", "before", "beforeId")
_LATEST: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list that is ordered by time and id, both descending.

    Attributes:
        limit: So many rows at most.
        before: Only what was created before this time.
        before_id: And what was created at it and has a lesser id; empty is nothing.
    """

    limit: int
    before: datetime
    before_id: str

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read the options of a page.

        Raises:
            ProcedureError: One has an unusable value, or `beforeId` has no `before`.
        """
        before, before_id = fields.instant("before"), fields.identifier("beforeId")
        if before_id is not None and before is None:
            raise fields.refuse("has `beforeId` without `before`", "Give both of the last row.")
        return cls(
            limit=fields.count("limit", NO_LIMIT, largest=NO_LIMIT, smallest=0),
            before=before or _LATEST,
            before_id=before_id or "",
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters of a statement."""
        return {"limit": self.limit, "before": self.before, "beforeId": self.before_id}
