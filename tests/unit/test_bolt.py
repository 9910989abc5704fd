"""`BoltClient` where there is no Neo4j to be called."""

import pytest
from fix_waiting import awaited

from sidecypher import BoltClient, Neo4jUnavailable


@awaited
async def test_without_a_known_neo4j_it_is_unavailable():
    """A sidecar that was never told of a Neo4j says so, and that it may be told later."""
    client = BoltClient(lambda: None)

    with pytest.raises(Neo4jUnavailable, match="No Neo4j is known") as caught:
        await client.run("RETURN 1")

    assert (caught.value.code, caught.value.retryable) == ("SC-605", True)
    client.stop()


def test_one_that_was_never_used_stops():
    """There is nothing to close."""
    BoltClient(lambda: None).stop()
