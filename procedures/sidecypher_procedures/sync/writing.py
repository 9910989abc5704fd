"""Writing entries to the graph, and what it means when that fails."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from sidecypher import BoltClient, CypherError, Neo4jUnavailable, SidecypherError, split_code
from sidecypher_procedures.sync.streams import Entry

_CLAIM: Final = """
    MERGE (p:SyncPartition {id: $id})
    SET p.epoch = coalesce(p.epoch, 0) + 1, p.consumer = $consumer,
        p.claimedAt = datetime.realtime()
    RETURN p.epoch AS epoch
"""
# The SET waits for other writers of the partition, so that the epoch is read under the lock.
_APPEND: Final = """
    MATCH (p:SyncPartition {id: $id})
    SET p.lock = true
    WITH p WHERE p.epoch = $epoch
    UNWIND $runs AS run
    CALL runs.appendMany(run.id, run.events) YIELD duplicate
    RETURN count(*) AS written, count(CASE WHEN duplicate THEN 1 END) AS duplicates
"""

# Somebody has ended the transaction, or Neo4j stops. The driver does not count them as transient.
_ENDED: Final = frozenset(
    {
        "Neo.ClientError.Transaction.Terminated",
        "Neo.ClientError.Transaction.LockClientStopped",
    }
)

# The sidecar stops, is busy, or is away; a call was cancelled, or had no time left.
_AWAY: Final = frozenset({"SC-207", "SC-210", "SC-211", "SC-212", "SC-213"})

_NO_VALUE: Final = "SC-215"

# An argument has the wrong type, or is too large for a message.
_BAD_ARGUMENTS: Final = frozenset({"SC-204", _NO_VALUE, "SC-216"})

_UNKNOWN_PARENT: Final = "SC-904"


class LeaseLost(Exception):
    """Another consumer has claimed the partition; nothing was written."""


class Away(Exception):
    """Neo4j or its sidecar is away or busy; the same write may succeed later.

    Args:
        why: The reason, for the log.
    """


class Refused(Exception):
    """The entries cannot be written as they are; nothing was written.

    Attributes:
        code: Code of the error that refused them.
        reason: Its text.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason

    @property
    def is_early(self) -> bool:
        """Whether a parent of an event is missing, which may still come."""
        return self.code == _UNKNOWN_PARENT

    @property
    def is_final(self) -> bool:
        """Whether the same write would fail again: an argument or a rule of `runs` refused it."""
        return self.code.startswith("SC-9") or self.code in _BAD_ARGUMENTS


class PartitionWriter:
    """Writes the events of one partition.

    Each claim raises the epoch of the partition in the graph. A writer with an older epoch writes
    nothing any more, however long its process was stopped.

    Args:
        name: Name of the partition in the graph.
        consumer: Name of this consumer, for people.
    """

    def __init__(self, client: BoltClient, name: str, consumer: str) -> None:
        self._client = client
        self._name = name
        self._consumer = consumer
        self._epoch = 0

    async def claim(self) -> None:
        """Become the only writer of the partition.

        Raises:
            Away: Neo4j is away.
        """
        try:
            [row] = await self._client.run(_CLAIM, id=self._name, consumer=self._consumer)
        except SidecypherError as error:
            raise Away(error.message) from None
        self._epoch = row["epoch"]

    async def append(self, runs: Mapping[str, Sequence[Entry]]) -> int:
        """Write entries in one transaction, and return how many were not there before.

        Raises:
            LeaseLost: Another consumer has claimed the partition.
            Away: Neo4j is away; it may have written them.
            Refused: An event cannot be written.
        """
        [row] = await write(
            self._client, _APPEND, id=self._name, epoch=self._epoch, runs=arguments_of(runs)
        )
        if not row["written"]:
            raise LeaseLost(self._name)
        return int(row["written"] - row["duplicates"])


def arguments_of(runs: Mapping[str, Sequence[Entry]]) -> list[dict[str, Any]]:
    """Return the entries as statements take them: a map with `id` and `events` for each run."""
    # In a fixed order, so that two writers that share a payload cannot deadlock for long.
    return [
        {"id": run_id, "events": [dict(each.event) for each in runs[run_id]]}
        for run_id in sorted(runs)
    ]


async def write(
    client: BoltClient, statement: LiteralString, **params: Any
) -> list[dict[str, Any]]:
    """Run a statement that writes, and return its records.

    Raises:
        Away: Neo4j is away; it may have written.
        Refused: The statement cannot be run as it is; nothing was written.
    """
    try:
        return await client.run(statement, **params)
    except Neo4jUnavailable as error:
        raise Away(error.message) from None
    except CypherError as error:
        raise _problem(error) from None
    except SidecypherError as error:
        raise Refused(error.code, error.message) from None
    except (TypeError, ValueError, RecursionError) as error:
        # The driver cannot send it. The error's text may hold data.
        reason = f"Neo4j does not have one of its values ({type(error).__name__})"
        raise Refused(_NO_VALUE, reason) from None


def _problem(error: CypherError) -> Away | Refused:
    """Return what a failed statement means for its entries."""
    code, text = split_code(error.message)
    if code:
        return Away(error.message) if code in _AWAY else Refused(code, text)
    # Without the plugin, no procedure has this name: an operator is installing it.
    if error.neo4j_code in _ENDED or error.neo4j_code.endswith(".ProcedureNotFound"):
        return Away(error.neo4j_code)
    return Refused(error.code, error.neo4j_code)
