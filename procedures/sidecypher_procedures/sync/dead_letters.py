"""Dead letters: events that cannot be written, and those that came behind them in their runs."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Self

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.sync.errors import NoDeadLetters
from sidecypher_procedures.sync.streams import Entry, dead_key, parked_key, partition_of

PAGE: Final = 500
"""How many dead letters are read at a time."""

BEHIND: Final = "SC-940"
"""Code of a dead letter that would have been written, had the one before it been."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that was not written.

    Attributes:
        position: Its id in the stream of dead letters.
        run_id: Its run; None for an entry that no publisher has written.
        event_id: Its id; None for such an entry.
        source: Its id in the stream of events.
        code: Code of the error.
        reason: The error's text.
        at: When it became a dead letter, as a text in ISO 8601.
    """

    position: str
    run_id: str | None
    event_id: str | None
    source: str
    code: str
    reason: str
    at: str

    @classmethod
    def read(cls, position: str, fields: Mapping[str, str]) -> Self:
        """Return the dead letter with these fields."""
        return cls(
            position=position,
            run_id=fields.get("run"),
            event_id=fields.get("id"),
            source=fields.get("source", ""),
            code=fields.get("code", ""),
            reason=fields.get("reason", ""),
            at=fields.get("at", ""),
        )


def letter_of(entry: Entry, code: str, reason: str) -> dict[str, str]:
    """Return the fields of the dead letter of an entry."""
    return {**entry.fields, "id": entry.event_id, "source": entry.position, **_why(code, reason)}


def foreign_letter(position: str, fields: Mapping[str, str], reason: str) -> dict[str, str]:
    """Return the fields of the dead letter of an entry that no publisher has written."""
    return {"fields": json.dumps(fields), "source": position, **_why(BEHIND, reason)}


def parking(event_id: str, code: str, reason: str) -> str:
    """Return what is stored of a parked run: the event that parked it, and why."""
    return json.dumps({"event": event_id, **_why(code, reason)})


def _why(code: str, reason: str) -> dict[str, str]:
    return {"code": code, "reason": reason, "at": datetime.now(UTC).isoformat(timespec="seconds")}


async def dead_letters(
    redis: Any, partition: int, run_id: str | None = None
) -> AsyncIterator[tuple[str, Mapping[str, str]]]:
    """Yield position and fields of the dead letters of a partition, or of one of its runs."""
    last = "-"
    while page := await redis.xrange(dead_key(partition), min=last, max="+", count=PAGE):
        for position, fields in page:
            if run_id is None or fields.get("run") == run_id:
                yield position, fields
        last = f"({page[-1][0]}"


async def list_dead(redis: Any, partitions: int, run_id: str | None = None) -> list[DeadLetter]:
    """Return the dead letters of all runs or of one, in order within each run."""
    numbers = range(partitions) if run_id is None else [partition_of(run_id, partitions)]
    found = []
    for number in numbers:
        parked = await redis.hgetall(parked_key(number))
        async for position, fields in dead_letters(redis, number, run_id):
            why = json.loads(parked.get(fields.get("run"), "{}"))
            # It may have been refused again since it became a dead letter.
            latest = why if why.get("event") == fields.get("id") else {}
            found.append(DeadLetter.read(position, {**fields, **latest}))
    return found


async def requeue(redis: Any, partitions: int, run_id: str) -> int:
    """Ask the consumer to write the dead letters of a run again, before newer events of it.

    Returns:
        How many there are.

    Raises:
        NoDeadLetters: The run has none.
    """
    count = len(await list_dead(redis, partitions, run_id))
    if not await _mark(redis, partition_of(run_id, partitions), run_id):
        raise NoDeadLetters(f"The run `{shown_id(run_id)}` is not parked")
    return count


async def _mark(redis: Any, number: int, run_id: str) -> bool:
    """Mark a run as requeued; return whether it is parked."""

    async def mark(pipe: Any) -> bool:
        why = await pipe.hget(parked_key(number), run_id)
        pipe.multi()
        if why is not None:
            pipe.hset(parked_key(number), run_id, json.dumps(json.loads(why) | {"requeued": True}))
        return why is not None

    return bool(await redis.transaction(mark, parked_key(number), value_from_callable=True))


async def drop(redis: Any, partitions: int, run_id: str, event_id: str | None = None) -> int:
    """Delete the dead letters of a run, or one of them. The consumer frees a run without any.

    Returns:
        How many were deleted.

    Raises:
        NoDeadLetters: The run has none, or none of this event.
    """
    letters = await list_dead(redis, partitions, run_id)
    gone = [each.position for each in letters if event_id in {None, each.event_id}]
    if not gone:
        what = "no dead letters" if event_id is None else "no dead letter of this event"
        raise NoDeadLetters(f"The run `{shown_id(run_id)}` has {what}")
    number = partition_of(run_id, partitions)
    count = await redis.xdel(dead_key(number), *gone)
    if len(gone) == len(letters):
        # Only the consumer knows whether another one has come meanwhile.
        await _mark(redis, number, run_id)
    return int(count)


async def drop_foreign(redis: Any, partitions: int) -> int:
    """Delete the dead letters that no publisher has written; return how many."""
    count = 0
    for number in range(partitions):
        gone = [
            position
            async for position, fields in dead_letters(redis, number)
            if "run" not in fields
        ]
        if gone:
            count += await redis.xdel(dead_key(number), *gone)
    return count
