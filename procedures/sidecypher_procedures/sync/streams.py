"""The keys in Redis, and the form of an entry of a stream."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self
from uuid import UUID
from zlib import crc32

GROUP: Final = "sidecypher"
"""The consumer group that writes to the graph."""

PARTITIONS: Final = "wf:partitions"
"""Key of the number of partitions, which the first publisher or consumer sets."""

CONSUMERS: Final = "wf:consumers"
"""Key of a sorted set: each consumer, and when it was last seen in seconds since 1970."""

CHANGES: Final = "wf:changes"
"""Key of the stream with the changes of the graph."""

CHANGES_LEASE: Final = "wf:lease:changes"
"""Key that names the process that publishes the changes while it has the lease."""


def events_key(partition: int) -> str:
    """Return the key of the stream with the events of a partition."""
    return f"wf:events:{partition}"


def dead_key(partition: int) -> str:
    """Return the key of the stream with the dead letters of a partition."""
    return f"wf:dead:{partition}"


def parked_key(partition: int) -> str:
    """Return the key of the hash with the parked runs of a partition, and why they are."""
    return f"wf:parked:{partition}"


def lease_key(partition: int) -> str:
    """Return the key that names the consumer of a partition while it has the lease."""
    return f"wf:lease:{partition}"


def viewer_key(run_id: str) -> str:
    """Return the key of the stream with the latest events of one run, for those who watch it."""
    return f"workflow:{run_id}:events"


def partition_of(run_id: str, partitions: int) -> int:
    """Return the partition of a run, which is the same for every process.

    Example:
        >>> partition_of("triage-7", 8)
        7
    """
    return crc32(run_id.encode("utf-8", "surrogatepass")) % partitions


def new_event_id() -> str:
    """Return a UUID version 7 (RFC 9562, 5.7), whose first 48 bits are milliseconds since 1970.

    Example:
        >>> UUID(new_event_id()).version
        7
    """
    milliseconds = time.time_ns() // 1_000_000
    value = milliseconds << 80 | 7 << 76 | secrets.randbits(12) << 64
    return str(UUID(int=value | 2 << 62 | secrets.randbits(62)))


def time_of(event_id: str) -> datetime | None:
    """Return the time in a UUID version 7; None for any other id.

    Example:
        >>> time_of("017f22e2-79b0-7cc3-98c4-dc0c0c07398f").isoformat()
        '2022-02-22T19:22:22+00:00'
    """
    try:
        parsed = UUID(event_id)
    except ValueError:
        return None
    if parsed.version != 7 or str(parsed) != event_id:  # noqa: PLR2004 - the version's number
        return None
    return datetime.fromtimestamp((parsed.int >> 80) / 1000, UTC)


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a stream.

    Attributes:
        position: Its id in the stream, such as ``1700000000000-0``.
        run_id: The run of its event.
        event: The event as `runs.append` takes it, with its id.
        text: The event in JSON, as it came.
        is_dead: Whether it is a dead letter.
    """

    position: str
    run_id: str
    event: Mapping[str, Any]
    text: str = ""
    is_dead: bool = False

    @classmethod
    def read(cls, position: str, fields: Mapping[str, str], *, is_dead: bool = False) -> Self:
        """Return the entry with these fields.

        Raises:
            ValueError: Something else than a publisher has written them.
        """
        run_id, text = fields.get("run"), fields.get("event")
        if run_id is None or text is None:
            raise ValueError("it lacks the field `run` or `event`")
        event = parsed_event(text)
        if not isinstance(event.get("id"), str):
            raise ValueError("its event is not a JSON object with an `id`")  # noqa: TRY004 - one kind
        return cls(position, run_id, event, text, is_dead)

    @property
    def fields(self) -> dict[str, str]:
        """Its fields in the stream."""
        return {"run": self.run_id, "event": self.text}

    @property
    def event_id(self) -> str:
        """The id of its event."""
        return str(self.event["id"])

    @property
    def parent_ids(self) -> list[str]:
        """Ids of the parents that its event names."""
        given = self.event.get("parentIds")
        return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


def parsed_event(text: str) -> dict[str, Any]:
    """Return the event in a text of JSON, as `runs.append` takes it.

    Raises:
        ValueError: The text is not one of `fields_of`.
    """
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("its event is not JSON") from None
    if not isinstance(event, dict):
        raise ValueError("its event is not a JSON object with an `id`")  # noqa: TRY004 - one kind
    if isinstance(moment := event.get("createdAt"), str):
        try:
            event["createdAt"] = datetime.fromisoformat(moment)
        except ValueError:
            raise ValueError("its `createdAt` is not a time") from None
    return event


def fields_of(run_id: str, event: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of the entry of an event.

    Raises:
        ValueError: It holds a value that JSON or UTF-8 does not have, or is nested too deep.
        TypeError: It holds a value that JSON does not have.
    """
    try:
        text = json.dumps(event, default=_text_of, ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    text.encode()
    return {"run": run_id, "event": text}


def _text_of(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError


def in_order(entries: list[Entry]) -> list[Entry]:
    """Return the entries of a run with each event behind those that it names as parents.

    All others stay in the order in which they came.

    Example:
        >>> late = Entry("1-0", "r", {"id": "b", "parentIds": ["a"]})
        >>> [each.event_id for each in in_order([late, Entry("2-0", "r", {"id": "a"})])]
        ['a', 'b']
    """
    by_id = {entry.event_id: entry for entry in reversed(entries)}
    placed: dict[str, Entry] = {}
    begun: set[str] = set()
    # No recursion: a chain of parents may be as long as a batch.
    stack = entries[::-1]
    while stack:
        entry = stack[-1]
        begun.add(entry.position)
        parents = (by_id[name] for name in entry.parent_ids if name in by_id)
        missing = [parent for parent in parents if parent.position not in begun]
        if missing:
            stack.extend(missing)
        else:
            placed.setdefault(entry.position, stack.pop())
    return list(placed.values())
