"""One batch: rows of the outbox are written to the graph and deleted, in this order."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sidecypher import BoltClient
from sidecypher_procedures.names import shown_id
from sidecypher_procedures.sync.bisection import parts_of, write_runs
from sidecypher_procedures.sync.counts import Counts
from sidecypher_procedures.sync.postgres.decisions import DECIDE, decisions_in
from sidecypher_procedures.sync.postgres.queue import Claim, Queue
from sidecypher_procedures.sync.settings import SyncSettings
from sidecypher_procedures.sync.streams import Entry, in_order, parsed_event
from sidecypher_procedures.sync.writing import Refused, arguments_of, write

MOST_ATTEMPTS: Final = 5
"""After so many refusals for an unknown reason, an event becomes a dead letter."""

_SHORTEST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0
_UNREADABLE: Final = "SC-940"

_APPEND: Final = """
    UNWIND $runs AS run
    CALL runs.appendMany(run.id, run.events) YIELD duplicate
    WITH count(*) AS written, count(CASE WHEN duplicate THEN 1 END) AS duplicates
"""
_COUNTS: Final = "RETURN written, duplicates"


class Batch:
    """The rows that one transaction of PostgreSQL writes to the graph.

    If the transaction is not committed, its events may be in the graph all the same. The next one
    writes them again, which changes nothing.

    Args:
        queue: The outbox in this transaction.
        log: Gets events and facts, never data of a user.
    """

    def __init__(
        self, queue: Queue, *, client: BoltClient, limits: SyncSettings, counts: Counts, log: Any
    ) -> None:
        self._queue = queue
        self._client = client
        self._limits = limits
        self._counts = counts
        self._log = log
        self._unreadable: dict[str, str] = {}
        self._has_done = False

    async def write(self) -> bool:
        """Write what is due; return whether there may be more that is.

        Raises:
            Away: Neo4j is away; the transaction has to be rolled back.
        """
        claims = await self._queue.claim(self._limits.batch)
        runs = await self._writable(claims) if claims else {}
        for part in parts_of({run: in_order(entries) for run, entries in runs.items()}):
            await write_runs(part, self._append, self._hold)
        return self._has_done

    async def _writable(self, claims: Sequence[Claim]) -> dict[str, list[Entry]]:
        """Return the claimed rows that nothing is before, by run."""
        runs: dict[str, list[Claim]] = {}
        for claim in claims:
            runs.setdefault(claim.run_id, []).append(claim)
        locked = await self._queue.lock(sorted(runs))
        lasts = {run_id: runs[run_id][-1].id for run_id in locked}
        gaps = await self._queue.gaps(lasts, [claim.id for claim in claims])
        for run_id, gap in gaps.items():
            runs[run_id] = [claim for claim in runs[run_id] if claim.id < gap.id]
            if gap.is_waiting:
                await self._queue.follow(run_id, gap.id)
                self._has_done = True
        return {run: [*map(self._entry, runs[run])] for run in runs if run in locked and runs[run]}

    def _entry(self, claim: Claim) -> Entry:
        """Return the entry of a row; if it cannot be read, it is refused before it is written."""
        position = str(claim.id)
        event: dict[str, Any] = {"id": claim.event_id}
        if claim.body is None:
            self._unreadable[position] = f"its event has {claim.size} bytes as JSON"
        else:
            try:
                event |= parsed_event(claim.body)
            except ValueError as problem:
                self._unreadable[position] = str(problem)
        if event["id"] != claim.event_id:
            self._unreadable[position] = "the `id` of its event is not its `event_id`"
        return Entry(position, claim.run_id, event, claim.body or "")

    async def _append(self, runs: Mapping[str, Sequence[Entry]]) -> None:
        """Write entries in one transaction of Neo4j, and delete their rows.

        Raises:
            Away: Neo4j is away; it may have written them.
            Refused: An event cannot be written.
        """
        entries = [entry for each in runs.values() for entry in each]
        for entry in entries:
            if entry.position in self._unreadable:
                raise Refused(_UNREADABLE, self._unreadable[entry.position])
        decisions = decisions_in(entries)
        statement = f"{_APPEND}{DECIDE if decisions else ''}{_COUNTS}"
        [row] = await write(self._client, statement, runs=arguments_of(runs), decisions=decisions)
        await self._queue.delete([int(entry.position) for entry in entries])
        self._has_done = True
        self._counts.written += row["written"] - row["duplicates"]
        self._counts.duplicates += row["duplicates"]

    async def _hold(self, run_id: str, entries: list[Entry], refused: Refused) -> None:
        """Let a run wait until its first entry may be written, or park it."""
        self._has_done = True
        row = int(entries[0].position)
        attempts, waited = await self._queue.count_attempt(row, early=refused.is_early)
        if refused.is_early:
            may_pass, pause = waited < self._limits.parent_seconds, waited
        else:
            may_pass = not refused.is_final and attempts < MOST_ATTEMPTS
            pause = _SHORTEST_PAUSE * 2**attempts
        if may_pass:
            await self._queue.wait(run_id, min(max(pause, _SHORTEST_PAUSE), _LONGEST_PAUSE))
            return
        await self._queue.bury(row, refused.code, refused.reason)
        await self._queue.park(run_id)
        self._counts.dead += 1
        self._log.error(
            "sync.parked", run=shown_id(run_id), code=refused.code, entries=len(entries)
        )
