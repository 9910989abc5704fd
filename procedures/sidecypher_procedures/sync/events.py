"""Events that a program gives to be written later, checked while its author can correct them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from sidecypher import SidecypherError
from sidecypher_procedures.names import LONGEST_NAME, is_id
from sidecypher_procedures.runs.options import EventInput
from sidecypher_procedures.sync.errors import InvalidEvent
from sidecypher_procedures.sync.streams import fields_of, new_event_id, time_of


class CheckedEvent(NamedTuple):
    """An event that `runs.append` accepts.

    Attributes:
        event_id: Its id.
        fields: Its run and its JSON, as an entry of a stream has them.
    """

    event_id: str
    fields: dict[str, str]


def checked_event(run_id: str, event: Mapping[str, Any]) -> CheckedEvent:
    """Return an event with its id and, if the id holds it, with the time at which it happened.

    Raises:
        InvalidEvent: The graph would not accept it.
    """
    if not is_id(run_id):
        raise InvalidEvent(
            f"The id of the run has {len(run_id)} characters",
            hint=f"Give 1 to {LONGEST_NAME}, not only space.",
        )
    whole = {**event, "id": event.get("id") or new_event_id()}
    if whole.get("createdAt") is None and (moment := time_of(str(whole["id"]))) is not None:
        whole["createdAt"] = moment
    try:
        EventInput.from_map(whole, "event")
    except SidecypherError as error:
        raise InvalidEvent(error.message, hint=error.hint) from None
    try:
        return CheckedEvent(whole["id"], fields_of(run_id, whole))
    except (TypeError, ValueError):
        raise InvalidEvent(
            "The event holds a value that JSON does not have", hint="Give texts, numbers and so on."
        ) from None
