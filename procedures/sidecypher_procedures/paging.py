"""Cursor-based paging of lists ordered by time."""

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator

from sidecypher import Description, Options

Cursor = Annotated[str, Description("the option `cursor` that goes on behind this row")]
"""Column with the cursor of a row: its time in UTC, a space, and an id unique at that time."""

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC).isoformat()
_LATEST: Final = datetime.max.replace(tzinfo=UTC).isoformat()


def _validated(cursor: str) -> str:
    moment, _, rest = cursor.partition(" ")
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        rest = ""
    if not rest:
        raise ValueError("it is not a `cursor` of a row")
    return cursor


class TimePage(Options):
    """Position in a list after which rows are returned."""

    cursor: Annotated[
        Annotated[str, AfterValidator(_validated)] | None,
        Description("only rows behind the one that has this in its column `cursor`"),
    ] = None

    @property
    def after(self) -> dict[str, str]:
        """Parameters of a statement that lists the earliest rows first."""
        moment, _, rest = (self.cursor or "").partition(" ")
        return {"after": moment or _EARLIEST, "afterId": rest}

    @property
    def before(self) -> dict[str, str]:
        """Parameters of a statement that lists the latest rows first."""
        moment, _, rest = (self.cursor or "").partition(" ")
        return {"before": moment or _LATEST, "beforeId": rest}
