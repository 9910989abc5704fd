"""`BoltClient` against a real Neo4j."""

import contextlib

import pytest
from fix_waiting import awaited

from sidecypher import BoltClient, CypherError, Neo4jUnavailable


@pytest.fixture
def client_of(server):
    """Make clients of the shared server, by its port or another."""
    with contextlib.ExitStack() as made:

        def make(port=None, password=server.password):
            uri = server.facts["bolt"] if port is None else f"bolt://127.0.0.1:{port}"
            client = BoltClient(lambda: (uri, ("neo4j", password)))
            made.callback(client.stop)
            return client

        yield make


@awaited
async def test_a_statement_has_a_transaction_of_its_own(session, client_of):
    """What it writes is committed, and its records come as dicts."""
    found = await client_of().run("CREATE (n:Bolt {id: $id}) RETURN n.id AS id", id=7)

    assert found == [{"id": 7}]
    assert session.run("MATCH (n:Bolt) RETURN n.id AS id").data() == [{"id": 7}]


@awaited
async def test_it_calls_procedures_of_the_sidecar(session, client_of):
    """From outside of a call a procedure can be called as any client does."""
    found = await client_of().run("CALL test.echo($value) YIELD value RETURN value", value="x")

    assert found == [{"value": "x"}]


@awaited
async def test_a_failed_statement_keeps_neo4js_code(client_of):
    """It is no question of trying again."""
    with pytest.raises(CypherError) as caught:
        await client_of().run("RETURN 1 / 0")

    assert caught.value.neo4j_code == "Neo.ClientError.Statement.ArithmeticError"
    assert not caught.value.retryable


@awaited
async def test_what_neo4j_takes_for_transient_may_be_tried_again(session, client_of):
    """So says the error, as a driver would."""
    with pytest.raises(Neo4jUnavailable) as caught:
        await client_of().run("CALL test.later($mark, 1)", mark="bolt client")

    assert caught.value.retryable


@awaited
async def test_a_neo4j_that_is_away_may_be_back(client_of, proxies):
    """Without a connection nothing is kept that a later statement would trip over."""
    proxy = proxies(1)  # where nobody listens
    client = client_of(proxy.port)
    with pytest.raises(Neo4jUnavailable) as caught:
        await client.run("RETURN 1 AS one")
    assert caught.value.retryable

    proxy.target = int(client_of()._connection._find()[0].rpartition(":")[2])

    assert await client.run("RETURN 1 AS one") == [{"one": 1}]


@awaited
async def test_a_refused_password_is_used_once_a_minute(client_of, proxies, server):
    """Trying on at once would lock the user out of Neo4j; never again, it could not heal."""
    proxy = proxies(int(server.facts["bolt"].rpartition(":")[2]))
    client = client_of(proxy.port, "wrong")
    for _ in range(3):
        with pytest.raises(Neo4jUnavailable, match="refused") as caught:
            await client.run("RETURN 1")
        assert caught.value.retryable

    assert proxy.accepted == 1
