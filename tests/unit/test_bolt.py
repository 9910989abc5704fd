"""`BoltClient` where there is no Neo4j to be called, or a stand-in for the driver."""

import asyncio
import contextlib
import itertools
import socket

import pytest
from fix_waiting import awaited, wait_until
from neo4j.exceptions import AuthError, Neo4jError, SessionExpired

from sidecypher import BoltClient, CypherError, Neo4jUnavailable, NoTransaction
from sidecypher.host.address import Address
from sidecypher.sdk import bolt

LOCKED_OUT = Neo4jError._hydrate_neo4j(
    code="Neo.ClientError.Security.AuthenticationRateLimit", message="too often"
)


class Driver:
    """Stands in for Neo4j: fails with `error` while there is one, and counts how often."""

    def __init__(self, error=None):
        self.error = error
        self.opened = 0
        self.asked = 0
        self.closed = 0

    async def verify_connectivity(self):
        self.opened += 1
        if self.error is not None:
            raise self.error

    def session(self, *, database):
        return contextlib.nullcontext(self)

    async def run(self, *_):
        self.asked += 1
        return Nothing()

    async def close(self):
        self.closed += 1


class Hanging(Driver):
    """Stands in for a Neo4j that accepts statements and answers none."""

    def __init__(self):
        super().__init__()
        self.statements = []

    async def run(self, query, _params):
        self.statements.append(query.text)
        await asyncio.Event().wait()


class Nothing:
    """A result without records."""

    def __aiter__(self):
        return self

    async def __anext__(self):
        raise StopAsyncIteration


@pytest.fixture
def now(monkeypatch):
    """A clock that a test sets."""
    time = [1000.0]
    monkeypatch.setattr(bolt.time, "monotonic", lambda: time[0])
    return time


@pytest.fixture
def connected(monkeypatch):
    """Make a client whose drivers are stand-ins, one after the other."""

    def make(*drivers, address=lambda: Address("bolt://x")):
        following = itertools.chain(drivers, itertools.repeat(drivers[-1]))
        monkeypatch.setattr(bolt, "_driver", lambda *_: next(following))
        return BoltClient(address)

    return make


@awaited
async def test_without_a_known_neo4j_it_is_unavailable():
    """A sidecar that was never told of a Neo4j says so, and that it may be told later."""
    client = BoltClient(lambda: None)

    with pytest.raises(Neo4jUnavailable, match="No Neo4j is known") as caught:
        await client.run("RETURN 1")

    assert (caught.value.code, caught.value.retryable) == ("SC-605", True)
    await client.stop()


@awaited
async def test_one_that_was_never_used_stops():
    """There is nothing to close."""
    await BoltClient(lambda: None).stop()


@pytest.mark.parametrize(
    ("error", "seconds"),
    [(AuthError("no"), bolt.REFUSED_SECONDS), (LOCKED_OUT, 6.0)],
    ids=["refused", "locked out"],
)
@awaited
async def test_a_refused_password_is_tried_seldom(connected, now, error, seconds):
    """More often would lock the user out of Neo4j; and once it is right, it is used.

    Somebody else's wrong passwords have Neo4j refuse the right one for 5 s, not for a minute.
    """
    driver = Driver(error)
    client = connected(driver)
    for asked in (1, 2):
        for _ in range(3):
            with pytest.raises(Neo4jUnavailable, match="refused") as caught:
                await client.run("RETURN 1")
            assert caught.value.retryable
        assert driver.opened == asked
        now[0] += seconds

    driver.error = None

    assert [await client.run("RETURN 1") for _ in range(3)] == [[]] * 3


@awaited
async def test_statements_at_once_try_a_password_once(connected, now):
    """Four wrong passwords at a time would lock the user out of Neo4j at once."""
    driver = Driver(AuthError("no"))
    client = connected(driver)

    found = await asyncio.gather(
        *(client.run("RETURN 1") for _ in range(8)), return_exceptions=True
    )

    assert {type(each) for each in found} == {Neo4jUnavailable}
    assert driver.opened == 1


@awaited
async def test_another_password_is_tried_at_once(connected, now):
    """What was refused is the address with its password."""
    driver, passwords = Driver(AuthError("no")), iter(["old", "old", "new"])
    client = connected(driver, address=lambda: Address("bolt://x", ("neo4j", next(passwords))))
    for _ in range(2):
        with pytest.raises(Neo4jUnavailable):
            await client.run("RETURN 1")
    driver.error = None

    assert await client.run("RETURN 1") == []
    assert driver.opened == 2


@awaited
async def test_an_older_connection_goes_on_and_proves_no_password(connected, now, monkeypatch):
    """Neo4j lets it go on with a password that it would refuse by now."""
    driver, begun, go_on = Driver(), asyncio.Event(), asyncio.Event()
    client = connected(driver)

    async def wait(*_):
        begun.set()
        await go_on.wait()
        return Nothing()

    monkeypatch.setattr(driver, "run", wait)
    going_on = asyncio.create_task(client.run("RETURN 1"))
    await begun.wait()

    async def refuse(*_):
        raise AuthError("no")

    monkeypatch.setattr(driver, "run", refuse)
    with pytest.raises(Neo4jUnavailable, match="refused"):
        await client.run("RETURN 1")
    assert driver.closed == 0
    go_on.set()
    assert await going_on == []

    with pytest.raises(Neo4jUnavailable, match="refused"):
        await client.run("RETURN 1")
    assert (driver.opened, driver.closed) == (1, 1)


@awaited
async def test_a_refused_password_is_tried_again_on_a_new_connection(connected, now, monkeypatch):
    """An older connection would say nothing about the password."""
    older, newer = Driver(), Driver()
    client = connected(older, newer)
    await client.run("RETURN 1")

    async def refuse(*_):
        raise AuthError("no")

    monkeypatch.setattr(older, "run", refuse)
    with pytest.raises(Neo4jUnavailable):
        await client.run("RETURN 1")
    now[0] += bolt.REFUSED_SECONDS

    assert [await client.run("RETURN 1") for _ in range(2)] == [[]] * 2
    assert (newer.opened, newer.asked, older.closed) == (1, 2, 1)


@awaited
async def test_a_client_that_was_stopped_opens_nothing(connected):
    """A statement after the stop fails, and its driver is closed."""
    driver = Driver()
    client = connected(driver)
    await client.stop()

    with pytest.raises(Neo4jUnavailable, match="was closed"):
        await client.run("RETURN 1")

    assert (driver.asked, driver.closed) == (0, 1)


@awaited
async def test_a_client_that_is_stopped_while_it_connects_runs_nothing(connected, monkeypatch):
    """The driver is not known to `stop` yet, so the statement that opens it closes it."""
    driver = Driver()
    client = connected(driver)
    monkeypatch.setattr(driver, "verify_connectivity", client.stop)

    with pytest.raises(Neo4jUnavailable, match="was closed"):
        await client.run("RETURN 1")

    assert (driver.asked, driver.closed) == (0, 1)


@pytest.mark.parametrize("error", [ValueError("port"), ModuleNotFoundError("scheme")], ids=repr)
@awaited
async def test_an_address_that_cannot_be_used_is_told(monkeypatch, error):
    """Whatever the driver raises, it is `Neo4jUnavailable`, which trying again does not help."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("neo4j.AsyncGraphDatabase.driver", fail)
    with pytest.raises(Neo4jUnavailable, match="cannot be used") as caught:
        await BoltClient(lambda: Address("bolt://x")).run("RETURN 1")

    assert not caught.value.retryable


@awaited
async def test_a_dns_that_fails_for_good_is_told(monkeypatch):
    """The driver raises a ValueError then, though the name may be right and DNS come back."""

    def fail(*_, **__):
        raise socket.gaierror(socket.EAI_FAIL, "Non-recoverable failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    client = BoltClient(lambda: Address("bolt://neo4j.example"))

    with pytest.raises(Neo4jUnavailable, match="cannot be reached") as caught:
        await client.run("RETURN 1")
    assert caught.value.retryable


@awaited
async def test_an_address_that_cannot_be_read_may_be_read_later():
    """Such as one in a file, while too many are open."""

    def find():
        raise OSError

    with pytest.raises(Neo4jUnavailable, match="cannot be read") as caught:
        await BoltClient(find).run("RETURN 1")

    assert caught.value.retryable


@awaited
async def test_a_termination_is_not_terminated_in_turn(connected, monkeypatch):
    """While Neo4j hangs, one is tried for each cancelled statement, for a limited time."""
    for name in ("CONNECT_SECONDS", "RUN_SECONDS", "_TERMINATION_SECONDS"):
        monkeypatch.setattr(bolt, name, 0.01)
    driver = Hanging()
    client = connected(driver)
    with pytest.raises(Neo4jUnavailable, match="did not answer in time"):
        await client.run("A")

    await asyncio.gather(*client._terminations.values())
    await asyncio.sleep(0)

    assert driver.statements == ["A", bolt._TERMINATE]
    assert not client._terminations


@awaited
async def test_a_termination_waits_for_no_other_statement(connected):
    """Statements that wait for a place do not go before it, since they may wait as long."""
    driver = Hanging()
    client = connected(driver)
    tasks = [asyncio.create_task(client.run("A")) for _ in range(2 * bolt._CONNECTIONS)]
    await asyncio.to_thread(wait_until, lambda: len(driver.statements) == bolt._CONNECTIONS)

    tasks[0].cancel()

    await asyncio.to_thread(wait_until, lambda: bolt._TERMINATE in driver.statements)
    for task in tasks[1:]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in client._terminations.values():
        task.cancel()


class Transaction:
    """Stands in for a transaction of the driver, and notes what is done with it."""

    def __init__(self):
        self.done = []

    async def run(self, statement, _params):
        self.done.append(statement)
        if statement == "FAIL":
            raise Neo4jError._hydrate_neo4j(code="Neo.ClientError.Statement.SyntaxError")
        await asyncio.sleep(0.01)
        self.done.append(f"{statement} answered")
        return Nothing()

    async def commit(self):
        self.done.append("commit")

    async def rollback(self):
        self.done.append("rollback")
        raise SessionExpired("the connection has broken")


@pytest.fixture
def begun(connected, monkeypatch):
    """A client, and the stand-in for the transaction that it begins."""
    driver, transaction = Driver(), Transaction()

    async def begin(**options):
        transaction.done.append(options["timeout"])
        return transaction

    monkeypatch.setattr(driver, "begin_transaction", begin, raising=False)
    return connected(driver), transaction


@awaited
async def test_a_transaction_runs_one_statement_at_a_time(begun):
    """Tasks that share it take turns, and the end of the block waits for the last of them."""
    client, transaction = begun
    async with client.transaction(seconds=7.0) as tx:
        tasks = [asyncio.create_task(tx.run(each)) for each in ("A", "B")]
        await asyncio.sleep(0)

    await asyncio.gather(*tasks)
    assert transaction.done == [7.0, "A", "A answered", "B", "B answered", "commit"]


@awaited
async def test_an_error_of_the_block_is_raised_as_it_is(begun):
    """A roll-back that fails, or a time-out of the block's own, is not taken for Neo4j's."""
    client, transaction = begun
    for error in (OSError("of the block"), TimeoutError("of the block")):
        with pytest.raises(type(error), match="of the block"):
            async with client.transaction():
                raise error

    assert transaction.done == [60.0, "rollback"] * 2


@awaited
async def test_a_failed_statement_fails_the_transaction(begun):
    """A block that catches its error gets it again, and nothing is committed."""
    client, transaction = begun

    async def go_on():
        async with client.transaction() as tx:
            for statement in ("FAIL", "A"):
                with contextlib.suppress(CypherError):
                    await tx.run(statement)

    with pytest.raises(CypherError) as caught:
        await go_on()

    assert caught.value.neo4j_code == "Neo.ClientError.Statement.SyntaxError"
    assert transaction.done == [60.0, "FAIL"]


@awaited
async def test_a_cancelled_statement_fails_the_transaction(begun):
    """The driver then closes the connection, so nothing could be committed."""
    client, transaction = begun

    async def go_on():
        async with client.transaction() as tx:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(tx.run("A"), 0.001)

    with pytest.raises(Neo4jUnavailable, match="was cancelled") as caught:
        await go_on()

    assert caught.value.retryable
    assert transaction.done == [60.0, "A"]


@awaited
async def test_a_statement_out_of_time_is_terminated(begun):
    """Also if its cancellation leaves the block as a TimeoutError of the author's own."""
    client, _ = begun
    with pytest.raises(TimeoutError):
        async with client.transaction() as tx, asyncio.timeout(0.001):
            await tx.run("A")

    await asyncio.gather(*client._terminations.values())

    assert client._pool.driver.asked == 1


@awaited
async def test_a_transaction_ends_with_its_block(begun):
    """A statement after the block is refused, whether it was committed or rolled back."""
    client, _ = begun
    async with client.transaction() as committed:
        pass
    with contextlib.suppress(OSError):
        async with client.transaction() as rolled_back:
            raise OSError

    for tx in (committed, rolled_back):
        with pytest.raises(NoTransaction, match="has ended"):
            await tx.run("A")


@awaited
async def test_a_block_has_limited_time(begun, monkeypatch):
    """It may take as long as its transaction, and what connecting may take."""
    client, transaction = begun
    monkeypatch.setattr(bolt, "CONNECT_SECONDS", 0.01)
    with pytest.raises(Neo4jUnavailable, match="did not answer in time") as caught:
        async with client.transaction(seconds=0.01):
            await asyncio.sleep(60)

    assert caught.value.retryable
    assert transaction.done == [0.01]


@awaited
async def test_transactions_take_the_connections_there_are(begun, monkeypatch):
    """A block beyond them waits for its turn, and gives up when its time is over."""
    client, _ = begun
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(bolt._CONNECTIONS):
            await stack.enter_async_context(client.transaction())
        monkeypatch.setattr(bolt, "CONNECT_SECONDS", 0.01)
        with pytest.raises(Neo4jUnavailable, match="did not answer in time"):
            async with client.transaction(seconds=0.01):
                pass

    async with client.transaction():
        pass
