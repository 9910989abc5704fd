"""`BoltClient` where there is no Neo4j to be called, or a stand-in for the driver."""

import contextlib

import pytest
from fix_waiting import awaited
from neo4j.exceptions import AuthError, Neo4jError

from sidecypher import BoltClient, Neo4jUnavailable, bolt
from sidecypher.address import Address
from sidecypher.bolt import BoltConnection, Refusals

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

    def verify_connectivity(self):
        self.opened += 1
        if self.error is not None:
            raise self.error

    def session(self):
        return contextlib.nullcontext(self)

    def run(self, *_):
        self.asked += 1
        return []

    def close(self):
        self.closed += 1


@pytest.fixture
def now(monkeypatch):
    """A clock that a test sets."""
    time = [1000.0]
    monkeypatch.setattr(bolt.time, "monotonic", lambda: time[0])
    return time


@pytest.fixture
def connected(monkeypatch):
    """Make a connection to a stand-in."""

    def make(driver, address=lambda: Address("bolt://x"), refusals=None):
        monkeypatch.setattr(bolt, "_connect", lambda *_: driver)
        return BoltConnection(address, refusals)

    return make


def ask(connection):
    return connection.run("RETURN 1", {}, 1.0)


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


@pytest.mark.parametrize(
    ("error", "seconds"),
    [(AuthError("no"), bolt.REFUSED_SECONDS), (LOCKED_OUT, 6.0)],
    ids=["refused", "locked out"],
)
def test_a_refused_password_is_tried_seldom(connected, now, error, seconds):
    """More often would lock the user out of Neo4j; and once it is right, it is used.

    Somebody else's wrong passwords have Neo4j refuse the right one for 5 s, not for a minute.
    """
    driver = Driver(error)
    connection = connected(driver)
    for asked in (1, 2):
        for _ in range(3):
            with pytest.raises(Neo4jUnavailable, match="refused") as caught:
                ask(connection)
            assert caught.value.retryable
        assert driver.opened == asked
        now[0] += seconds

    driver.error = None

    assert [ask(connection) for _ in range(3)] == [[]] * 3


def test_another_password_is_tried_at_once(connected, now):
    """What was refused is the address with its password."""
    driver, passwords = Driver(AuthError("no")), iter(["old", "old", "new"])
    connection = connected(driver, lambda: Address("bolt://x", ("neo4j", next(passwords))))
    for _ in range(2):
        with pytest.raises(Neo4jUnavailable):
            ask(connection)
    driver.error = None

    assert ask(connection) == []
    assert driver.opened == 2


def test_an_older_connection_does_not_prove_a_password(connected, now, monkeypatch):
    """Neo4j lets it go on with a password that it would refuse by now."""
    refusals, older = Refusals(), Driver()
    going_on = connected(older, refusals=refusals)
    ask(going_on)
    refused = Driver(AuthError("no"))
    opening = connected(refused, refusals=refusals)

    def meanwhile(*_):
        with pytest.raises(Neo4jUnavailable):
            ask(opening)
        return []

    monkeypatch.setattr(older, "run", meanwhile)
    assert ask(going_on) == []
    with pytest.raises(Neo4jUnavailable, match="refused"):
        ask(opening)

    assert refused.opened == 1


def test_a_try_of_a_refused_password_is_made_by_a_new_connection(connected, now):
    """An older one would tell nothing of the password, and others would wait on."""
    refusals, older = Refusals(), Driver()
    going_on = connected(older, refusals=refusals)
    ask(going_on)
    refusals.note(Address("bolt://x"))
    now[0] += bolt.REFUSED_SECONDS

    assert [ask(going_on) for _ in range(2)] == [[]] * 2
    assert (older.opened, older.closed) == (2, 1)


def test_a_connection_that_rested_is_tried_first(connected, now):
    """Neo4j may have been restarted; one in steady use is not asked twice each time."""
    driver = Driver()
    connection = connected(driver)
    for _ in range(3):
        ask(connection)
    assert driver.opened == 1
    now[0] += bolt.IDLE_SECONDS + 1

    ask(connection)

    assert (driver.opened, driver.asked) == (2, 4)


def test_a_connection_that_was_closed_opens_nothing(connected):
    """Such as one whose address is found only after its statement was cancelled."""
    driver = Driver()
    connection = connected(driver)
    connection.close()

    with pytest.raises(Neo4jUnavailable, match="was closed"):
        ask(connection)

    assert (driver.asked, driver.closed) == (0, 1)


def test_a_connection_that_is_closed_while_it_opens_runs_nothing(connected, monkeypatch):
    """Whoever opens it closes it: from outside nothing is to be seen yet that could be closed."""
    driver = Driver()
    connection = connected(driver)
    monkeypatch.setattr(driver, "verify_connectivity", connection.close)

    with pytest.raises(Neo4jUnavailable, match="was closed"):
        ask(connection)

    assert (driver.asked, driver.closed) == (0, 1)


@pytest.mark.parametrize("error", [ValueError("port"), ModuleNotFoundError("scheme")], ids=repr)
def test_an_address_that_cannot_be_used_is_told(monkeypatch, error):
    """Whatever the driver raises, it is `Neo4jUnavailable`, which trying again does not help."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("neo4j.GraphDatabase.driver", fail)
    with pytest.raises(Neo4jUnavailable, match="cannot be used") as caught:
        ask(BoltConnection(lambda: Address("bolt://x")))

    assert not caught.value.retryable


def test_an_address_that_cannot_be_read_may_be_read_later():
    """Such as one in a file, while too many are open."""

    def find():
        raise OSError

    with pytest.raises(Neo4jUnavailable, match="cannot be read") as caught:
        ask(BoltConnection(find))

    assert caught.value.retryable
