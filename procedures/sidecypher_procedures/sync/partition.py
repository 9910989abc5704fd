"""One partition: its entries are read, written to the graph, and acknowledged, in this order."""

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from sidecypher_procedures.names import shown_id
from sidecypher_procedures.sync.bisection import parts_of, write_runs
from sidecypher_procedures.sync.counts import Counts
from sidecypher_procedures.sync.dead_letters import (
    BEHIND,
    dead_letters,
    foreign_letter,
    letter_of,
    parking,
)
from sidecypher_procedures.sync.lease import WHEN_FULL, change_under
from sidecypher_procedures.sync.settings import SyncSettings
from sidecypher_procedures.sync.streams import (
    GROUP,
    Entry,
    dead_key,
    events_key,
    in_order,
    lease_key,
    parked_key,
)
from sidecypher_procedures.sync.trimming import trim_acknowledged
from sidecypher_procedures.sync.writing import Away, PartitionWriter, Refused

MOST_DELIVERIES: Final = 5
"""After so many deliveries or tries without success, an entry becomes a dead letter."""

_READ_MILLISECONDS: Final = 1000
_WAIT_SECONDS: Final = 0.25
_TRIM_SECONDS: Final = 5.0
_SHORTEST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 5.0

# The lease decides who reads a partition, so all consumers have one name in the group. Otherwise
# each one that ever ran would stay in it.
_READER: Final = "sidecypher"

_Answer = TypeVar("_Answer")


@dataclass
class _Waiting:
    """Entries of a run whose first one cannot be written yet.

    Attributes:
        since: When it was refused first, on the monotonic clock, as `next_try` is.
        tries: How often it was refused.
    """

    entries: list[Entry]
    since: float
    tries: int
    next_try: float


class Partition:
    """The only reader and writer of a partition, as long as its lease holds.

    Args:
        number: Number of the partition.
        consumer: Value of the lease of the partition while this consumer has it.
        redis: An async client of Redis.
        log: Gets events and facts, never data of a user.
    """

    def __init__(
        self,
        number: int,
        *,
        consumer: str,
        redis: Any,
        writer: PartitionWriter,
        settings: SyncSettings,
        counts: Counts,
        log: Any,
    ) -> None:
        self._consumer = consumer
        self._redis = redis
        self._writer = writer
        self._settings = settings
        self._counts = counts
        self._log = log.bind(partition=number)
        self._number = number
        self._stream = events_key(number)
        self._dead = dead_key(number)
        self._parked = parked_key(number)
        self._lease = lease_key(number)
        self._waiting: dict[str, _Waiting] = {}
        self._trimmed_at = 0.0

    async def run(self) -> None:
        """Write entries until the task is cancelled.

        Raises:
            LeaseLost: Another consumer has claimed the partition.
            LockError: Another consumer has the lease.
            RedisError: Redis does not answer.
        """
        await self._until_answered(self._writer.claim)
        await self._create_group()
        read: list[Entry] = []
        while True:
            await self._recover(read)
            await self._write(read)
            await self._trim()
            await self._write_requeued()
            read = await self._read()

    async def _create_group(self) -> None:
        exists = await self._redis.exists(self._stream)
        groups = await self._redis.xinfo_groups(self._stream) if exists else []
        if not any(each["name"] == GROUP for each in groups):
            # From the first entry: what was published before the first consumer counts, too.
            command = ("XGROUP", "CREATE", self._stream, GROUP, "0", "MKSTREAM")
            await self._redis.eval(WHEN_FULL, 0, *command)

    async def _recover(self, read: Iterable[Entry]) -> None:
        """Write what the consumer before had read and not acknowledged, one by one.

        So a delivery counts for the one entry that is being written, and an entry that ends each of
        its consumers becomes a dead letter alone.

        Args:
            read: What this one has just read. The one before, which may read until it learns that
                its lease is lost, has entries from before it.
        """
        waiting = (each.entries for each in self._waiting.values())
        own = {entry.position for entry in itertools.chain(read, *waiting)}
        last = "-"
        while page := await self._redis.xpending_range(
            self._stream, GROUP, min=last, max="+", count=self._settings.batch
        ):
            for each in page:
                if each["message_id"] not in own:
                    await self._recover_one(each["message_id"], each["times_delivered"])
            last = f"({page[-1]['message_id']}"

    async def _recover_one(self, position: str, deliveries: int) -> None:
        claimed = await self._redis.xclaim(self._stream, GROUP, _READER, 0, [position])
        entries = await self._understood(claimed)
        if entries and deliveries >= MOST_DELIVERIES:
            reason = f"It was delivered {deliveries} times, and each consumer has ended"
            await self._park(entries[0].run_id, entries, Refused(BEHIND, reason))
        else:
            await self._write(entries)

    async def _read(self) -> list[Entry]:
        """Return new entries, as many as a batch has room for."""
        room = self._settings.batch - sum(len(each.entries) for each in self._waiting.values())
        if room <= 0:
            await asyncio.sleep(_WAIT_SECONDS)
            return []
        block = int(1000 * _WAIT_SECONDS) if self._waiting else _READ_MILLISECONDS
        answer = await self._redis.xreadgroup(
            GROUP, _READER, {self._stream: ">"}, count=room, block=block
        )
        return await self._understood(answer[0][1]) if answer else []

    async def _understood(self, found: Iterable[tuple[str, Mapping[str, str]]]) -> list[Entry]:
        """Return the entries that publishers have written; others become dead letters."""
        entries = []
        for position, fields in found:
            try:
                entries.append(Entry.read(position, fields))
            except ValueError as problem:
                await self._set_aside(position, foreign_letter(position, fields, str(problem)))
                self._counts.dead += 1
                self._log.error("sync.foreign", position=position)
        return entries

    async def _set_aside(self, position: str, letter: dict[str, str]) -> None:
        async def move(pipe: Any) -> None:
            pipe.multi()
            pipe.xadd(self._dead, letter)
            pipe.xack(self._stream, GROUP, position)

        await self._change(move)

    async def _change(self, change: Callable[[Any], Awaitable[_Answer]]) -> _Answer:
        """Change dead letters and parked runs, unless another consumer has the lease by now."""
        return await change_under(self._redis, self._lease, self._consumer, change, self._parked)

    async def _write(self, entries: Iterable[Entry]) -> None:
        """Write entries, and those that wait, as far as they can be."""
        runs: dict[str, list[Entry]] = {}
        for entry in entries:
            runs.setdefault(entry.run_id, []).append(entry)
        for run_id, waiting in self._waiting.items():
            waiting.entries += runs.pop(run_id, [])
            if waiting.next_try <= time.monotonic():
                runs[run_id] = waiting.entries
        if not runs:
            return
        for run_id in await self._redis.hkeys(self._parked):
            if run_id in runs and await self._bury(run_id, runs[run_id]):
                del runs[run_id]
        for part in parts_of({run_id: in_order(each) for run_id, each in runs.items()}):
            await write_runs(part, self._append, self._hold)

    async def _hold(self, run_id: str, entries: list[Entry], refused: Refused) -> None:
        """Let a run wait until its first entry may be written, or park it."""
        if entries[0].is_dead:
            await self._park_again(run_id, entries[0], refused)
            return
        now = time.monotonic()
        since, tries, pause = now, 1, _WAIT_SECONDS
        known = self._waiting.pop(run_id, None)
        if known is not None and known.entries[0].position == entries[0].position:
            since, tries = known.since, known.tries + 1
        if refused.is_early:
            may_wait = now - since < self._settings.parent_seconds
        else:
            may_wait = not refused.is_final and tries < MOST_DELIVERIES
            pause *= 2 ** (tries - 1)
        if not may_wait:
            await self._park(run_id, entries, refused)
            return
        if not refused.is_early:
            self._log.warning("sync.failed", code=refused.code, pause=pause)
        self._waiting[run_id] = _Waiting(entries, since, tries, now + pause)

    async def _append(self, runs: Mapping[str, Sequence[Entry]]) -> None:
        """Write entries in one transaction and acknowledge them; wait while Neo4j is away.

        Raises:
            Refused: They cannot be written as they are.
            LeaseLost: Another consumer has claimed the partition.
        """
        written = await self._until_answered(lambda: self._writer.append(runs))
        every = [entry for entries in runs.values() for entry in entries]
        # A Redis that has no memory left refuses whatever is in a transaction.
        async with self._redis.pipeline(transaction=False) as pipe:
            self._acknowledge(pipe, every)
            await pipe.execute()
        for run_id in runs:
            self._waiting.pop(run_id, None)
        self._counts.written += written
        self._counts.duplicates += len(every) - written

    async def _until_answered(self, attempt: Callable[[], Awaitable[_Answer]]) -> _Answer:
        """Try again with growing pauses while Neo4j is away."""
        pause = _SHORTEST_PAUSE
        while True:
            try:
                return await attempt()
            except Away as away:
                self._counts.failures += 1
                self._log.warning("sync.away", why=str(away), pause=pause)
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _acknowledge(self, pipe: Any, entries: Iterable[Entry]) -> None:
        """Remove entries from what is left to do: as read, or as dead letters."""
        dead: list[str] = []
        live: list[str] = []
        for entry in entries:
            (dead if entry.is_dead else live).append(entry.position)
        if dead:
            pipe.xdel(self._dead, *dead)
        if live:
            pipe.xack(self._stream, GROUP, *live)

    async def _park(self, run_id: str, entries: Sequence[Entry], refused: Refused) -> None:
        """Park a run: its entries become dead letters, and so does what follows them."""
        self._waiting.pop(run_id, None)
        first = entries[0].event_id

        async def move(pipe: Any) -> None:
            pipe.multi()
            pipe.hset(self._parked, run_id, parking(first, refused.code, refused.reason))
            for entry in entries:
                if entry is entries[0]:
                    pipe.xadd(self._dead, letter_of(entry, refused.code, refused.reason))
                else:
                    pipe.xadd(self._dead, letter_of(entry, BEHIND, _behind(first)))
            self._acknowledge(pipe, entries)

        await self._change(move)
        self._counts.dead += len(entries)
        self._log.error(
            "sync.parked", run=shown_id(run_id), code=refused.code, entries=len(entries)
        )

    async def _park_again(self, run_id: str, letter: Entry, refused: Refused) -> None:
        """Park a run whose dead letter was refused again, unless that was dropped meanwhile."""

        async def mark(pipe: Any) -> bool:
            found = await pipe.xrange(self._dead, min=letter.position, max=letter.position)
            pipe.multi()
            if found:
                why = parking(letter.event_id, refused.code, refused.reason)
                pipe.hset(self._parked, run_id, why)
            return bool(found)

        if await self._change(mark):
            self._log.error("sync.parked", run=shown_id(run_id), code=refused.code, entries=1)

    async def _bury(self, run_id: str, entries: Sequence[Entry]) -> bool:
        """Make entries of a parked run dead letters; do nothing if it is not parked any more."""

        async def move(pipe: Any) -> bool:
            parked = await pipe.hget(self._parked, run_id)
            pipe.multi()
            if parked is None:
                return False
            reason = _behind(json.loads(parked)["event"])
            for entry in entries:
                pipe.xadd(self._dead, letter_of(entry, BEHIND, reason))
            self._acknowledge(pipe, entries)
            return True

        if not await self._change(move):
            return False
        self._waiting.pop(run_id, None)
        self._counts.dead += len(entries)
        return True

    async def _write_requeued(self) -> None:
        """Write the dead letters of runs that somebody has requeued, in order."""
        for run_id, parked in (await self._redis.hgetall(self._parked)).items():
            if json.loads(parked).get("requeued"):
                await self._write_letters(run_id)

    async def _write_letters(self, run_id: str) -> None:
        letters = in_order(
            [
                Entry.read(position, fields, is_dead=True)
                async for position, fields in dead_letters(self._redis, self._number, run_id)
            ]
        )
        for start in range(0, len(letters), self._settings.batch):
            part = letters[start : start + self._settings.batch]
            await write_runs({run_id: part}, self._append, self._hold)
            parked = await self._redis.hget(self._parked, run_id)
            if parked is None or not json.loads(parked).get("requeued"):
                # One of them was refused again, and has parked the run anew.
                return
        await self._free(run_id)

    async def _free(self, run_id: str) -> None:
        async def remove(pipe: Any) -> None:
            pipe.multi()
            # Nobody else adds dead letters to this partition, so there are no others now.
            pipe.hdel(self._parked, run_id)

        await self._change(remove)

    async def _trim(self) -> None:
        """Remove the entries that every group has acknowledged."""
        if time.monotonic() - self._trimmed_at < _TRIM_SECONDS:
            return
        self._trimmed_at = time.monotonic()
        await trim_acknowledged(self._redis, self._stream)


def _behind(event_id: str) -> str:
    return f"It came behind the event `{shown_id(event_id)}`, which is a dead letter"
