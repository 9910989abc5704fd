"""Lists in the order of time, page by page."""

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator

from sidecypher import Description, Options

Cursor = Annotated[str, Description("the option `cursor` that goes on behind this row")]
"""The column of a row: its time in UTC, a space, and what tells it from others of that time."""

_EARLIEST: Final = datetime.min.replace(tzinfo=UTC).isoformat()
_LATEST: Final = datetime.max.replace(tzinfo=UTC).isoformat()


def _checked(cursor: str) -> str:
    moment, _, rest = cursor.partition(" ")
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        rest = ""
    if not rest:
        raise ValueError("it is not a `cursor` of a row")
    return cursor


class TimePage(Options):
    """Where in a list the rows that are wanted begin."""

    cursor: Annotated[
        Annotated[str, AfterValidator(_checked)] | None,
        Description("only rows behind the one that has this in its column `cursor`"),
    ] = None

    @property
    def after(self) -> dict[str, str]:
        """The parameters of a statement that lists the earliest first."""
        moment, _, rest = (self.cursor or "").partition(" ")
        return {"after": moment or _EARLIEST, "afterId": rest}

    @property
    def before(self) -> dict[str, str]:
        """The parameters of a statement that lists the latest first."""
        moment, _, rest = (self.cursor or "").partition(" ")
        return {"before": moment or _LATEST, "beforeId": rest}
