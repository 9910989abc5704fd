"""The changes that wait in the graph, oldest first."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sidecypher import BoltClient

# By the index: only its order is the order of the commits while others are committing.
READ: Final = """
    MATCH (c:Outbox) USING INDEX c:Outbox(seq)
    WHERE c.seq > $since AND ($labels IS NULL OR c.label IN $labels)
    RETURN c.seq AS seq, c.kind AS kind, c.label AS label, c.id AS id, c.runId AS runId,
        c.property AS property, c.value AS value, c.at AS at
    ORDER BY c.seq LIMIT $limit
"""
_DELETE: Final = "MATCH (c:Outbox) WHERE c.seq IN $seqs DELETE c"
COUNT: Final = "MATCH (c:Outbox) RETURN count(c) AS waiting"


async def oldest_changes(client: BoltClient, limit: int) -> list[dict[str, Any]]:
    """Return the columns of `READ` for the oldest changes that wait.

    Raises:
        SidecypherError: Neo4j is away, or `sidecypher migrate` has not run.
    """
    return [dict(each) for each in await client.run(READ, since=0, labels=None, limit=limit)]


async def delete_changes(client: BoltClient, changes: Sequence[Mapping[str, Any]]) -> None:
    """Delete changes that were published.

    Raises:
        SidecypherError: Neo4j is away; it may have deleted them.
    """
    await client.run(_DELETE, seqs=[each["seq"] for each in changes])


async def count_changes(client: BoltClient) -> int:
    """Return how many changes wait.

    Raises:
        SidecypherError: Neo4j is away.
    """
    [row] = await client.run(COUNT)
    return int(row["waiting"])


def fields_of(change: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a change in a stream of Redis; what it does not have is left out.

    Example:
        >>> fields_of({"seq": 7, "kind": "created", "label": "Customer", "id": "c1", "runId": None})
        {'seq': '7', 'kind': 'created', 'label': 'Customer', 'id': 'c1'}
    """
    return {name: _text_of(value) for name, value in change.items() if value is not None}


def _text_of(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
