"""`BoltClient` against a real Neo4j."""

import asyncio
import functools
import socket
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import fix_waiting
import pytest
from fix_waiting import promised, wait_until

from sidecypher import (
    BoltClient,
    CypherError,
    DateTime,
    Duration,
    Neo4jUnavailable,
    Node,
    Path,
    Point,
    Time,
    ValueTypeError,
)
from sidecypher.host.address import Address
from sidecypher.sdk import bolt
from sidecypher.values.coders import encoder
from sidecypher.values.cypher import CypherType


class Clients:
    """Makes clients of the shared server, by its port or another."""

    def __init__(self, server):
        self._port = int(server.facts["bolt"].rpartition(":")[2])
        self._password = server.password
        self.made = []

    def __call__(self, port=None, password=None, scheme="bolt"):
        uri = f"{scheme}://127.0.0.1:{port or self._port}"
        auth = ("neo4j", password or self._password)
        self.made.append(BoltClient(lambda: Address(uri, auth)))
        return self.made[-1]


@pytest.fixture
def client_of(server):
    return Clients(server)


def awaited(test):
    """Run an async test on an event loop of its own, and stop its clients on the same loop."""

    @fix_waiting.awaited
    @functools.wraps(test)
    async def run(*arguments, client_of, **fixtures):
        try:
            await test(*arguments, client_of=client_of, **fixtures)
        finally:
            for client in client_of.made:
                await client.stop()

    return run


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
    """It is not a question of trying again."""
    with pytest.raises(CypherError) as caught:
        await client_of().run("RETURN 1 / 0")

    assert caught.value.neo4j_code == "Neo.ClientError.Statement.ArithmeticError"
    assert not caught.value.retryable


@pytest.mark.parametrize("value", [2**63, [-(2**63) - 1], "\ud800", {"\ud800": 1}], ids=repr)
@awaited
async def test_a_parameter_that_cannot_be_sent_is_a_type_error(client_of, value):
    """It is the error that `ctx.run` raises, not one of the driver, and the client goes on."""
    client = client_of()

    with pytest.raises(ValueTypeError, match="parameter holds"):
        await client.run("RETURN $value", value=value)
    assert await client.run("RETURN 1 AS one") == [{"one": 1}]


@pytest.mark.slow
@awaited
async def test_answers_and_errors_are_those_of_the_own_statement(session, client_of):
    """However many run and fail at once: the driver can mix up those who share a connection."""
    client = client_of()

    async def succeed(number):
        statement = "CREATE (n:Bolt {id: $number}) RETURN n.id AS id"
        assert await client.run(statement, number=number) == [{"id": number}]

    async def fail(number):
        with pytest.raises(CypherError, match=f"no date, but {number}!"):
            await client.run(
                "CREATE (:Bolt {id: -1}) RETURN date($text)", text=f"no date, but {number}!"
            )

    await asyncio.gather(*(each(number) for number in range(200) for each in (succeed, fail)))

    written = session.run("MATCH (n:Bolt) RETURN n.id AS id ORDER BY id").value()
    assert written == list(range(200))


@awaited
async def test_what_neo4j_takes_for_transient_may_be_tried_again(session, client_of):
    """So says the error, as a driver would."""
    with pytest.raises(Neo4jUnavailable) as caught:
        await client_of().run("CALL test.later($mark, 1)", mark="bolt client")

    assert caught.value.retryable


@awaited
async def test_a_neo4j_that_is_away_may_be_back(client_of, proxies, server):
    """Without a connection nothing is kept that a later statement would trip over."""
    proxy = proxies(1)  # where nobody listens
    client = client_of(proxy.port)
    with pytest.raises(Neo4jUnavailable) as caught:
        await client.run("RETURN 1 AS one")
    assert caught.value.retryable

    proxy.target = int(server.facts["bolt"].rpartition(":")[2])

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


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
@awaited
async def test_a_certificate_that_nothing_vouches_for_is_told(client_of, server, scheme):
    """The error names the setting and no password; Neo4j may get another certificate yet."""
    with pytest.raises(Neo4jUnavailable) as caught:
        await client_of(scheme=scheme).run("RETURN 1")

    error = caught.value
    assert (error.code, error.retryable) == ("SC-605", True)
    assert "`neo4j_uri`" in error.hint
    assert server.password not in str(error) + error.hint + str(error.details)


@pytest.mark.parametrize("scheme", ["bolt", "bolt+s", "neo4j"])
@awaited
async def test_a_listener_that_is_no_neo4j_is_told(client_of, server, scheme):
    """Such as the port of the browser, which speaks HTTP."""
    browser = urlsplit(server.facts["browser"]).port
    with pytest.raises(Neo4jUnavailable, match="cannot be reached") as caught:
        await client_of(browser, scheme=scheme).run("RETURN 1")

    assert "`neo4j_uri`" in caught.value.hint


@awaited
async def test_an_address_of_a_cluster_is_one_of_a_single_server_too(session, client_of):
    """`neo4j://` asks the server where it may be asked."""
    assert await client_of(scheme="neo4j").run("RETURN 1 AS one") == [{"one": 1}]


@awaited
async def test_what_neo4j_asks_to_try_again_has_its_code(session, client_of):
    """Whoever tries again can tell it from a Neo4j that is not there."""
    with pytest.raises(Neo4jUnavailable) as caught:
        await client_of().run("CALL test.later($mark, 1)", mark="bolt client's code")

    assert caught.value.details["neo4jCode"].startswith("Neo.TransientError.")


@awaited
async def test_connections_that_broke_at_rest_hurt_no_statement(
    client_of, proxies, server, monkeypatch
):
    """A restart of Neo4j ends all of them; each is made anew before it is used again."""
    monkeypatch.setattr(bolt, "IDLE_SECONDS", 0.0)
    proxy = proxies(int(server.facts["bolt"].rpartition(":")[2]))
    client = client_of(proxy.port)
    await four_at_once(client)
    connected = proxy.accepted
    proxy.drop()

    assert await four_at_once(client) == [[{"one": 1}]] * 4
    assert connected < proxy.accepted <= 2 * connected


@awaited
async def test_a_neo4j_that_accepts_and_says_nothing_is_not_waited_for(client_of, monkeypatch):
    """Connecting has a limit of its own, much shorter than that of a statement."""
    monkeypatch.setattr(bolt, "CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = client_of(silent.getsockname()[1])
        with pytest.raises(Neo4jUnavailable) as caught:
            await client.run("RETURN 1")

    assert caught.value.retryable


@awaited
async def test_entities_are_those_that_rows_take(session, client_of):
    """Nodes, relationships and paths come as sidecypher's classes, with ids and properties."""
    session.run("CREATE (:BoltA {at: date('2024-02-29')})-[:TO {n: 1}]->(:BoltB)").consume()

    [found] = await client_of().run(
        "MATCH p = (a:BoltA)-[r:TO]->(b:BoltB) RETURN a, r, p, elementId(a) AS start, "
        "elementId(b) AS end, {inner: [a]} AS nested"
    )

    node, relationship, path = found["a"], found["r"], found["p"]
    assert type(node) is Node
    assert (node.element_id, node.labels) == (found["start"], frozenset({"BoltA"}))
    assert node.properties == {"at": date(2024, 2, 29)}
    assert (relationship.type, relationship.properties) == ("TO", {"n": 1})
    assert (relationship.start, relationship.end) == (found["start"], found["end"])
    assert path == Path((node, Node(found["end"])), (relationship,))
    assert found["nested"] == {"inner": [node]}


VALUES = [
    date(2024, 2, 29),
    time(10, 11, 12, 123456),
    Time.of(time(10, 11, 12, 123456), 789),
    time(10, 11, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    Time.of(time(10, 11, 12, 123456, tzinfo=timezone(timedelta(hours=-1))), 7),
    datetime(2024, 2, 29, 10, 11, 12, 5),  # noqa: DTZ001 - a LOCAL DATETIME
    DateTime.of(datetime(2024, 2, 29, 10, 11, 12, 123456), 789),  # noqa: DTZ001 - the same
    datetime(2024, 2, 29, 10, 11, tzinfo=UTC),
    datetime(2024, 2, 29, 10, 11, tzinfo=timezone(timedelta(hours=2))),
    datetime(2024, 7, 1, 10, 11, tzinfo=ZoneInfo("Europe/Berlin")),
    DateTime.of(datetime(2024, 7, 1, 10, 11, 1, 2, tzinfo=ZoneInfo("Europe/Berlin")), 3),
    Duration(14, 3, -1, 5),
    Point(7203, 1.0, 2.0),
    Point(9157, 1.0, 2.0, 3.0),
    Point(4326, 13.4, 52.5),
    Point(4979, 13.4, 52.5, 30.0),
    [1, 2.5, "x", b"\x00\xff", None, True, {"a": [date(1, 1, 1)]}],
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
@awaited
async def test_values_cross_as_they_are(session, client_of, value):
    """What `ctx.run` takes and gives, a client takes and gives: same classes, to the nanosecond."""
    [found] = await client_of().run("RETURN $value AS value", value=value)

    assert (found["value"], type(found["value"])) == (value, type(value))
    assert encoder(CypherType("ANY"))(found["value"]) == encoder(CypherType("ANY"))(value)


@awaited
async def test_a_value_without_a_class_names_its_column(session, client_of):
    """A date outside the years 1 to 9999 is an error with a hint, not a connection that failed."""
    with pytest.raises(ValueTypeError, match="The column `old` has a value") as caught:
        await client_of().run("RETURN date({year: -44}) AS old")

    assert "`toString`" in caught.value.hint


async def four_at_once(client):
    return await asyncio.gather(*(client.run("RETURN 1 AS one") for _ in range(4)))


@pytest.fixture
def held(session):
    """A node, and a transaction that keeps whoever wants to write it waiting until it ends."""
    session.run("CREATE (:Held)").consume()
    with session.begin_transaction() as transaction:
        transaction.run("MATCH (n:Held) SET n.by = 'test'").consume()
        yield transaction


WRITE_HELD = "MATCH (n:Held) SET n.by = 'client' RETURN n.by AS by"


async def writing(client, proxy):
    """Begin a statement that waits for the node; return its task once it has its connection."""
    task = asyncio.create_task(client.run(WRITE_HELD))
    await asyncio.to_thread(wait_until, lambda: proxy.connections)
    return task


@awaited
async def test_a_broken_connection_is_its_own_statements(held, client_of, proxies, server):
    """A statement beside it goes on, and the next one has a connection again."""
    proxy = proxies(int(server.facts["bolt"].rpartition(":")[2]))
    client = client_of(proxy.port)
    beside = await writing(client, proxy)
    await asyncio.to_thread(wait_until, lambda: waiting_for_lock(held))

    proxy.down.left = 100
    with pytest.raises(Neo4jUnavailable):
        await client.run("UNWIND range(1, 1000) AS n RETURN n")
    assert await client.run("RETURN 1 AS one") == [{"one": 1}]
    held.commit()

    assert await beside == [{"by": "client"}]


@awaited
async def test_a_statement_that_nobody_waits_for_is_ended(held, client_of, proxies, server):
    """Its connection is closed, so that Neo4j ends it too, and others are not hurt."""
    proxy = proxies(int(server.facts["bolt"].rpartition(":")[2]))
    client = client_of(proxy.port)
    task = await writing(client, proxy)
    await asyncio.to_thread(wait_until, lambda: waiting_for_lock(held))

    task.cancel()

    await asyncio.to_thread(wait_until, lambda: not waiting_for_lock(held))
    assert await client.run("RETURN 1 AS one") == [{"one": 1}]


@awaited
async def test_a_cancelled_statement_ends_at_once_over_tls(held, client_of, proxies, server):
    """The driver would wait 30 s for Neo4j to close TLS, and Neo4j for the end of the statement."""
    proxy = proxies(int(server.facts["bolt"].rpartition(":")[2]))
    client = client_of(proxy.port, scheme="bolt+ssc")
    task = asyncio.create_task(client.run(WRITE_HELD))
    await asyncio.to_thread(wait_until, lambda: waiting_for_lock(held))

    task.cancel()

    await asyncio.to_thread(wait_until, lambda: not waiting_for_lock(held), promised(5))
    assert await client.run("RETURN 1 AS one") == [{"one": 1}]
    # The driver closes TLS in the background, and the event loop must not end before.
    await asyncio.wait([task])
    await client.stop()
    await asyncio.to_thread(wait_until, lambda: not proxy.connections)


@awaited
async def test_a_statement_that_is_cancelled_while_it_connects_is_not_begun(
    session, client_of, proxies, server
):
    """Nobody sees yet what is to be closed; it is closed all the same."""
    proxy = proxies(int(server.facts["bolt"].rpartition(":")[2]))
    proxy.down.delay = 0.2
    client = client_of(proxy.port)
    task = asyncio.create_task(client.run("CREATE (:Cancelled)"))
    await asyncio.to_thread(wait_until, lambda: proxy.connections)

    task.cancel()

    await asyncio.to_thread(wait_until, lambda: not proxy.connections)
    assert session.run("MATCH (n:Cancelled) RETURN count(n) AS n").single()["n"] == 0


def waiting_for_lock(transaction):
    """Tell whether the statement of a client has got as far as Neo4j."""
    found = transaction.run(
        "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery = $cypher RETURN currentQuery",
        cypher=WRITE_HELD,
    )
    return found.data() != []


@awaited
async def test_a_transaction_commits_all_its_statements_at_the_end(session, client_of):
    """Each statement sees those before it, and others see none of them before the end."""
    client = client_of()
    async with client.transaction(seconds=30.0) as tx:
        assert await tx.run("CREATE (n:Bolt {id: $id}) RETURN n.id AS id", id=1) == [{"id": 1}]
        await tx.run("MATCH (n:Bolt) SET n.id = 2")
        assert await tx.run("MATCH (n:Bolt) RETURN n.id AS id") == [{"id": 2}]
        assert await client.run("MATCH (n:Bolt) RETURN n") == []

    assert session.run("MATCH (n:Bolt) RETURN n.id AS id").value() == [2]


def written(session):
    """Return how many nodes of a transaction are there."""
    return session.run("MATCH (n:Bolt) RETURN count(n) AS n").single()["n"]


@awaited
async def test_an_error_that_leaves_the_block_rolls_back(session, client_of):
    """An error of the code, of a statement or of a value; the client is as good as before."""
    client = client_of()

    async def fail(statement, value):
        async with client.transaction() as tx:
            await tx.run("CREATE (:Bolt)")
            [record] = await tx.run(statement, value=value)
            record["two"]

    for statement, value, kind in (
        ("RETURN 1 AS one", None, KeyError),
        ("RETURN 1 / 0", None, CypherError),
        ("RETURN date({year: -44}) AS old", None, ValueTypeError),
        ("RETURN $value", object(), (TypeError, ValueError)),
    ):
        with pytest.raises(kind):
            await fail(statement, value)

    assert await client.run("RETURN 1 AS one") == [{"one": 1}]
    assert written(session) == 0


@awaited
async def test_a_value_that_was_refused_does_not_end_the_transaction(session, client_of):
    """A block that catches the error goes on and is committed."""
    async with client_of().transaction() as tx:
        await tx.run("CREATE (:Bolt)")
        with pytest.raises(ValueTypeError):
            await tx.run("RETURN date({year: -44}) AS old")
        with pytest.raises((TypeError, ValueError)):
            await tx.run("RETURN $value", value=object())
        await tx.run("CREATE (:Bolt)")

    assert written(session) == 2


@awaited
async def test_a_failed_statement_cannot_be_committed(session, client_of):
    """Neo4j has ended the transaction, so the end of the block raises the error again."""

    async def go_on():
        async with client_of().transaction() as tx:
            await tx.run("CREATE (:Bolt)")
            with pytest.raises(CypherError):
                await tx.run("RETURN 1 / 0")

    with pytest.raises(CypherError) as caught:
        await go_on()

    assert caught.value.neo4j_code == "Neo.ClientError.Statement.ArithmeticError"
    assert written(session) == 0


@awaited
async def test_failed_and_other_transactions_do_not_mix(session, client_of):
    """The connection of a failed one serves others while its block is still open."""
    client = client_of()

    async def succeed(number):
        async with client.transaction() as tx:
            for part in range(3):
                await tx.run("CREATE (:Bolt {id: $number, part: $part})", number=number, part=part)

    async def fail(number):
        with pytest.raises(CypherError, match=f"no date, but {number}!"):
            await failing(number)

    async def failing(number):
        async with client.transaction() as tx:
            await tx.run("CREATE (:Bolt {id: -1})")
            try:
                await tx.run("RETURN date($text)", text=f"no date, but {number}!")
            finally:
                await asyncio.sleep(0.01)

    await asyncio.gather(*(each(number) for number in range(50) for each in (succeed, fail)))

    found = session.run("MATCH (n:Bolt) RETURN n.id AS id, n.part AS part ORDER BY id, part")
    assert found.values() == [[number, part] for number in range(50) for part in range(3)]


@awaited
async def test_a_deadlock_may_be_tried_again(session, client_of):
    """Of two transactions that wait for each other, Neo4j ends one, and says to try again."""
    session.run("CREATE (:Bolt {id: 0}), (:Bolt {id: 1})").consume()
    client, both_have_one = client_of(), asyncio.Barrier(2)

    async def lock(first, second):
        async with client.transaction() as tx:
            await tx.run("MATCH (n:Bolt {id: $id}) SET n.by = $id", id=first)
            await both_have_one.wait()
            await tx.run("MATCH (n:Bolt {id: $id}) SET n.by = $by", id=second, by=first)

    ended = await asyncio.gather(lock(0, 1), lock(1, 0), return_exceptions=True)

    [error] = [each for each in ended if each is not None]
    assert isinstance(error, Neo4jUnavailable)
    assert error.retryable
    assert error.details["neo4jCode"].startswith("Neo.TransientError.")
    [by] = session.run("MATCH (n:Bolt) RETURN DISTINCT n.by AS by").value()
    assert by == (1 if ended[0] else 0)


@awaited
async def test_a_cancelled_block_is_rolled_back(session, client_of):
    """Its locks are free a moment later, wherever in the block its task was."""
    client, begun = client_of(), asyncio.Event()

    async def wait():
        async with client.transaction() as tx:
            await tx.run("CREATE (:Bolt)")
            begun.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(wait())
    await begun.wait()
    assert open_transactions(session) == 1

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(wait_until, lambda: open_transactions(session) == 0)
    assert written(session) == 0


@awaited
async def test_a_statement_that_waits_is_cancelled_with_its_block(session, held, client_of):
    """Neo4j ends it, and rolls back what the block has written."""
    client = client_of()

    async def wait():
        async with client.transaction() as tx:
            await tx.run("CREATE (:Bolt)")
            await tx.run(WRITE_HELD)

    task = asyncio.create_task(wait())
    await asyncio.to_thread(wait_until, lambda: waiting_for_lock(held))

    task.cancel()

    await asyncio.to_thread(wait_until, lambda: not waiting_for_lock(held))
    assert held.run("MATCH (n:Bolt) RETURN n").data() == []
    assert await client.run("RETURN 1 AS one") == [{"one": 1}]


@awaited
async def test_neo4j_ends_a_transaction_that_takes_too_long(session, held, client_of):
    """Its time-out is that of the transaction, not that of one statement."""

    async def wait():
        async with client_of().transaction(seconds=1.0) as tx:
            await tx.run("CREATE (:Bolt)")
            await tx.run(WRITE_HELD)

    with pytest.raises(CypherError) as caught:
        await wait()

    assert caught.value.neo4j_code.startswith("Neo.ClientError.Transaction.")
    assert held.run("MATCH (n:Bolt) RETURN n").data() == []


@awaited
async def test_a_transaction_that_loses_its_connection_may_be_tried_again(
    session, client_of, proxies, server
):
    """In the block and at its end; Neo4j rolls back."""
    proxy = proxies(int(server.facts["bolt"].rpartition(":")[2]))
    client = client_of(proxy.port)

    async def lose(*, commit):
        async with client.transaction() as tx:
            await tx.run("CREATE (:Bolt)")
            proxy.drop()
            if not commit:
                await tx.run("CREATE (:Bolt)")

    for commit in (False, True):
        with pytest.raises(Neo4jUnavailable, match="cannot be reached") as caught:
            await lose(commit=commit)
        assert caught.value.retryable

    await asyncio.to_thread(wait_until, lambda: open_transactions(session) == 0)
    assert written(session) == 0
    assert await client.run("RETURN 1 AS one") == [{"one": 1}]


def open_transactions(session):
    """Return how many transactions of clients are open, without the one that asks."""
    return len(session.run("SHOW TRANSACTIONS YIELD transactionId, currentQuery").data()) - 1


_OF_ZONES = """
import asyncio, sys
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo
from sidecypher import BoltClient
from sidecypher.host.address import Address

async def main(uri, password):
    client = BoltClient(lambda: Address(uri, ("neo4j", password)))
    first = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    for zone in ["Europe/Berlin", "Asia/Tokyo", "America/New_York"]:
        for day in range(20):
            at = (first + timedelta(days=9 * day)).astimezone(ZoneInfo(zone))
            statement = "WITH $at.at[0] AS a RETURN a.epochSeconds AS seconds, a.timezone AS zone"
            [row] = await client.run(statement, at={"at": [at]})
            assert row == {"seconds": at.timestamp(), "zone": zone}, row
    await client.stop()

asyncio.run(main(*sys.argv[1:]))
"""


def test_datetimes_with_a_named_zone_keep_it(server):
    """The driver alone would end the process by SIGSEGV for some of them."""
    arguments = [server.facts["bolt"], server.password]
    done = subprocess.run(
        [sys.executable, "-c", _OF_ZONES, *arguments], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
