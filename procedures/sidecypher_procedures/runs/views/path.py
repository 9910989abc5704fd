"""How a run came to one of its events."""

from collections.abc import Iterator
from typing import Final

from sidecypher import Context
from sidecypher_procedures.fields import shown_id
from sidecypher_procedures.runs.errors import UnknownEvent
from sidecypher_procedures.runs.naming import Naming
from sidecypher_procedures.runs.reading import TELL, event_row
from sidecypher_procedures.runs.rows import EventRow

_EXISTS: Final = "MATCH (e:Event {id: $id}) RETURN e.id AS id"

# Each ancestor once, however many ways lead to it: DISTINCT lets the search forget the paths.
_ANCESTORS: Final = f"""
    MATCH (last:Event {{id: $id}})<-[:NEXT*0..]-(e:Event)
    WITH DISTINCT e
    WHERE e.deletedAt IS NULL
    WITH e ORDER BY e.seq
    {TELL}
"""


def path_to(ctx: Context, event_id: str, naming: Naming) -> Iterator[EventRow]:
    """Give an event with all it comes after, in their order, without those that were deleted.

    Raises:
        UnknownEvent: No event has this id.
    """
    if not len(ctx.run(_EXISTS, id=event_id)):
        raise UnknownEvent(f"There is no event `{shown_id(event_id)}`")
    for record in ctx.run(_ANCESTORS, id=event_id):
        yield event_row(record, naming)
