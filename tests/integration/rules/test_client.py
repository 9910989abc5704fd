"""The client of the memory against a real Neo4j, and against one that is not there."""

import gc
import logging
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest
from docs.pages import ROOT, blocks
from fix_proxy import deaf_listener
from fix_waiting import promised, wait_until
from integration.rules.memories import Memory

from sidecypher_procedures.rules.client.memory import MemoryClient
from sidecypher_procedures.rules.client.model import CircuitBreaker, ClientSettings
from sidecypher_procedures.rules.client.search import LocalSearch
from sidecypher_procedures.rules.errors import MemoryUnavailable, RuleTaken

TIMEOUT = 0.5
SOURCE = {"method": "rule"}


@pytest.fixture
def connect(server, session):
    """Make clients of the shared Neo4j, or of a port in front of it; all are closed at the end."""
    made = []

    def make(mode="REQUIRED", *, port=None, uri=None, breaker=None, **settings):
        address = server.facts["bolt"] if port is None else f"bolt://127.0.0.1:{port}"
        # Neo4j plans a statement when it is first asked it, which may take a while.
        given = {"timeout": 10.0, "uri": address, "password": server.password} | settings
        made.append(MemoryClient(ClientSettings(mode=mode, **given), breaker=breaker))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
def memory(rules):
    return Memory(rules.session, rules.user)


@pytest.fixture
def dead_port():
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def bolt_port(server):
    return int(server.facts["bolt"].rpartition(":")[2])


def test_the_example_of_the_page_runs(server, rules, monkeypatch, capsys):
    """What the page states is what it prints."""
    monkeypatch.setenv("NEO4J_URI", server.facts["bolt"])
    monkeypatch.setenv("NEO4J_PASSWORD", server.password)
    monkeypatch.setenv("SIDECYPHER_GRAPHRAG_TIMEOUT", "10")
    [block] = blocks("python neo4j", pages=[ROOT / "docs/rules-client.md"])
    text = block.text.replace('"ann"', repr(rules.user))

    exec(text, {"ClientSettings": ClientSettings, "MemoryClient": MemoryClient})

    assert capsys.readouterr().out == "formal tone\n"


@pytest.mark.parametrize("mode", ["OPTIONAL", "REQUIRED"])
def test_rules_are_stated_and_read_back(connect, rules, mode):
    """A rule that is stated is in the next context, with where it comes from."""
    client = connect(mode)
    added = client.add(
        {"userId": rules.user, "text": "formal tone"}, SOURCE | {"rawSnippet": "Formal!"}
    )
    found = client.context({"userId": rules.user, "prompt": "hello"})

    assert (added["status"], added["created"]) == ("active", True)
    assert [rule["id"] for rule in found["styleRules"]] == [added["id"]]
    [citation] = found["citations"]
    assert (citation["extractionId"], citation["snippet"]) == (added["extractionId"], "Formal!")
    assert isinstance(citation["createdAt"], datetime)
    assert found["timedOut"] is False


def test_what_an_extractor_finds_is_remembered(connect, rules):
    """What a model found is written in one extraction that names it, and comes back."""

    def extractor(texts):
        assert texts == {"userMessage": "Apollo uses Neo4j. Be formal."}
        return {
            "relations": [{"from": "Apollo", "type": "USES", "to": "Neo4j"}],
            "rules": [{"text": "formal tone"}],
            "extraction": {"model": "some-model"},
        }

    client = connect()
    given = {
        "userId": rules.user,
        "userMessage": "Apollo uses Neo4j. Be formal.",
        "sessionId": "s1",
    }
    done = client.remember(given, extractor=extractor)
    found = client.context({"userId": rules.user, "prompt": "apollo"})

    assert len(done["facts"]) == 1
    assert [rule["status"] for rule in done["rules"]] == ["active"]
    assert [each["name"] for each in found["entities"]] == ["Apollo", "Neo4j"]
    assert {each["sessionId"] for each in found["citations"]} == {"s1"}
    stored = rules.session.run(
        "MATCH (e:Extraction {extractionId: $id}) RETURN e.method, e.model", id=done["extractionId"]
    ).single()
    assert stored.values() == ["llm", "some-model"]


def test_texts_are_remembered_without_an_extractor(connect, rules):
    """Without an extractor of the agent's the procedure finds what is in a text."""
    done = connect().remember({"userId": rules.user, "text": "Please use a formal tone."})

    assert [rule["status"] for rule in done["rules"]] == ["active"]


@pytest.mark.parametrize("mode", ["OPTIONAL", "REQUIRED"])
def test_what_the_procedure_refuses_raises_in_every_mode(connect, rules, mode):
    """An argument that only the graph can tell to be wrong raises as it does in Cypher."""
    rules.add("formal tone", 1, id=f"{rules.user}-r1")

    with pytest.raises(RuleTaken, match="belongs to another rule"):
        connect(mode).add(
            {"userId": rules.user, "text": "use emojis", "id": f"{rules.user}-r1"}, SOURCE
        )


def test_nobody_listens(connect, dead_port, caplog):
    """Where nobody listens OPTIONAL gives None and a line, REQUIRED one error, both at once."""
    begun = time.monotonic()
    with caplog.at_level(logging.WARNING):
        assert connect("OPTIONAL", port=dead_port).context({"userId": "ann"}) is None
    with pytest.raises(MemoryUnavailable) as caught:
        connect("REQUIRED", port=dead_port).add({"userId": "ann", "text": "formal tone"}, SOURCE)

    assert time.monotonic() - begun < promised(5)
    assert caught.value.code == "SC-811"
    assert [record.code for record in caplog.records] == ["SC-811"]


@pytest.mark.parametrize("mode", ["OPTIONAL", "REQUIRED"])
def test_a_peer_that_never_answers(connect, mode):
    """A port that accepts nothing is waited for no longer than the timeout; no socket is left."""
    with deaf_listener() as port:
        client = connect(mode, port=port, timeout=TIMEOUT, connect_timeout=2 * TIMEOUT)

        assert_unavailable(client, lambda: client.context({"userId": "ann"}))
        # A socket that nobody closed is told of when it is collected, which fails this test.
        gc.collect()


@pytest.mark.parametrize("mode", ["OPTIONAL", "REQUIRED"])
def test_a_peer_that_falls_silent(connect, server, proxies, mode):
    """An answer that stops on its way is waited for no longer than the timeout; then it is well."""
    proxy = proxies(bolt_port(server))
    client = connect(mode, port=proxy.port)
    assert client.context({"userId": "ann"}) is not None
    impatient = connect(mode, port=proxy.port, timeout=TIMEOUT)
    proxy.down.make_slow()

    assert_unavailable(impatient, lambda: impatient.context({"userId": "ann"}))

    proxy.down.heal()
    proxy.reset()
    assert client.context({"userId": "ann"}) is not None


@pytest.mark.parametrize("mode", ["OPTIONAL", "REQUIRED"])
def test_neo4j_goes_and_comes_back(connect, server, proxies, dead_port, mode):
    """A client outlives Neo4j: without it nothing, with it again an answer."""
    proxy = proxies(bolt_port(server))
    client = connect(mode, port=proxy.port, timeout=TIMEOUT)
    wait_until(lambda: is_answered(client))
    proxy.target = dead_port
    proxy.drop()

    assert_unavailable(client, lambda: client.context({"userId": "ann"}))

    proxy.target = bolt_port(server)
    wait_until(lambda: is_answered(client))


def test_a_connection_that_broke_is_made_anew(connect, server, proxies):
    """A pooled connection that broke meanwhile costs another try, not an answer."""
    proxy = proxies(bolt_port(server))
    client = connect(port=proxy.port)
    client.context({"userId": "ann"})
    proxy.reset()

    assert client.context({"userId": "ann"}) is not None


def test_a_write_that_breaks_leaves_nothing(connect, rules, server, proxies):
    """When the connection breaks before the commit there is no rule, extraction or user."""
    proxy = proxies(bolt_port(server))
    client = connect("OPTIONAL", port=proxy.port, write_timeout=TIMEOUT)
    wait_until(lambda: is_answered(client))
    proxy.down.left = 0
    proxy.up.make_slow()

    assert client.add({"userId": rules.user, "text": "formal tone"}, SOURCE) is None
    proxy.reset()
    wait_until(lambda: not other_transactions(rules.session))
    assert rules.session.run("MATCH (n) RETURN count(n)").single().value() == 0


def test_an_open_circuit_asks_nothing(connect, server, proxies, dead_port):
    """After failures in a row nothing is asked until the time has passed; then one try decides."""
    now = [0.0]
    proxy = proxies(dead_port)
    client = connect(
        "OPTIONAL", port=proxy.port, breaker=CircuitBreaker(2, 30.0, clock=lambda: now[0])
    )
    for _ in range(5):
        assert client.context({"userId": "ann"}) is None
    asked = proxy.accepted
    client.context({"userId": "ann"})

    assert proxy.accepted == asked

    proxy.target = bolt_port(server)
    now[0] = 30.0
    assert client.context({"userId": "ann"}) is not None
    assert client.context({"userId": "ann"}) is not None


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["OPTIONAL", "REQUIRED"])
def test_no_sidecar(connect, server, mode):
    """Neo4j without its sidecar is not a memory either."""
    client = connect(mode)
    with server.sidecar_down():
        assert_unavailable(client, lambda: client.context({"userId": "ann"}), seconds=15)

    assert client.context({"userId": "ann"}) is not None


@pytest.mark.parametrize("mode", ["OPTIONAL", "REQUIRED"])
def test_no_procedures(connect, mode):
    """A Neo4j that lacks what is asked for is not a memory; neither is a wrong password."""
    client, stranger = connect(mode), connect(mode, password="wrong")

    assert_unavailable(client, lambda: client.read("CALL rules.nope()"))
    assert_unavailable(stranger, lambda: stranger.context({"userId": "ann"}))


def test_many_threads_share_a_client(connect, rules):
    """One client answers several threads at once, each its own question."""
    client = connect()
    users = [f"{rules.user}-{number}" for number in range(8)]
    told = {}

    def use(user):
        client.add({"userId": user, "text": f"write like {user}"}, SOURCE)
        told[user] = [each["text"] for each in client.context({"userId": user})["styleRules"]]

    threads = [threading.Thread(target=use, args=(user,)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert told == {user: [f"write like {user}"] for user in users}


@pytest.mark.slow
def test_answers_and_errors_are_those_of_the_own_call(connect, rules):
    """However many write and fail at once: the driver can mix up those who share connections."""
    client = connect(write_timeout=60)

    def use(user):
        for rule_id in (f"{user}-{number}" for number in range(10)):
            rule = {"userId": user, "text": f"mention {rule_id}"}
            added = client.add(rule | {"id": rule_id}, SOURCE)
            assert (added["id"], added["created"]) == (rule_id, True)
            with pytest.raises(RuleTaken, match=f"there already as `{rule_id}`"):
                client.add(rule | {"id": f"{rule_id}-again"}, SOURCE)

    users = [f"{rules.user}-{number}" for number in range(8)]
    with ThreadPoolExecutor(len(users)) as pool:
        list(pool.map(use, users))

    written = rules.session.run(
        "MATCH (r:StyleRule) WHERE r.user IN $users RETURN r.ruleId", users=users
    ).value()
    assert sorted(written) == sorted(f"{user}-{number}" for user in users for number in range(10))


def test_a_closed_client_leaves_no_thread(connect):
    """Closing ends the client's thread; a later call begins anew."""
    before = set(threading.enumerate())
    client = connect()
    client.context({"userId": "ann"})
    client.close()

    assert set(threading.enumerate()) <= before
    assert client.context({"userId": "ann"}) is not None


def test_a_local_search_finds_names_and_snippets(connect, new_user, memory):
    """Words are found in names of concepts and in snippets, of this user only."""
    key = memory.concept("Apollo program", snippet="we met at noon")
    other = new_user()
    Memory(other.session, other.user).concept("Apollo", snippet="noon")
    search = LocalSearch(connect())

    def found(query):
        result = search.search(memory.user, query)
        return {(each.kind, each.id, each.text) for each in result.found}

    wait_until(lambda: found("apollo"))
    assert found("apollo") == {("concept", key, "Apollo program")}
    assert found("at NOON?") == {("extraction", memory.last_extraction, "we met at noon")}
    assert found('name:* OR "') == set()
    assert found("absent") == set()


def assert_unavailable(client, ask, seconds=TIMEOUT + 3):
    """Assert that a client says within some seconds that it has no answer, as its mode wants it."""
    begun = time.monotonic()
    if client.settings.mode == "REQUIRED":
        with pytest.raises(MemoryUnavailable):
            ask()
    else:
        assert ask() is None
    assert time.monotonic() - begun < promised(seconds)


def is_answered(client):
    try:
        return client.context({"userId": "ann"}) is not None
    except MemoryUnavailable:
        return False


def other_transactions(session):
    return session.run(
        "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery CONTAINS 'rules.add' "
        "AND NOT currentQuery STARTS WITH 'SHOW' RETURN currentQuery"
    ).data()


_OF_ZONES = """
import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo
from sidecypher_procedures.rules.client import ClientSettings, MemoryClient

uri, password, user = sys.argv[1:]
first = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
settings = ClientSettings(mode="REQUIRED", uri=uri, password=password, timeout=10)
with MemoryClient(settings) as memory:
    memory.add({"userId": user, "text": "formal tone", "since": first}, {"method": "rule"})
    for zone in ["Europe/Berlin", "Asia/Tokyo", "America/New_York"]:
        for day in range(20):
            now = (first + timedelta(days=9 * day)).astimezone(ZoneInfo(zone))
            memory.context({"userId": user}, {"now": now})
    [row] = memory.read("MATCH (:User)-[p:PREFERS]->() RETURN $at + [p.since] AS at", at=[first])
    print(*(each.astimezone(UTC).isoformat() for each in row["at"]))
"""


@pytest.mark.slow
def test_datetimes_with_a_named_zone_are_taken(server, rules):
    """The driver alone would end the process by SIGSEGV for some of them."""
    arguments = [server.facts["bolt"], server.password, rules.user]
    done = subprocess.run(
        [sys.executable, "-c", _OF_ZONES, *arguments], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["2026-07-01T10:00:00+00:00"] * 2
