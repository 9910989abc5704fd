"""Watched changes of the graph go to the outbox in their transaction, and from there to Redis."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_calls import Calls
from fix_waiting import wait_until

from sidecypher_procedures.sync.streams import CHANGES, CHANGES_LEASE

WATCHED = ("--node", "WorkflowRun.state", "--node", "Plan.status", "--node", "Customer")
RELATED = ("--relationship", "CONTRADICTS", "--relationship", "PAID")

STATED = """
    MERGE (u:User {id: 'ann'})
    CREATE (e:Extraction {extractionId: $id + '-said', method: 'rule'})
    CREATE (r:StyleRule {ruleId: $id, user: 'ann', text: $text})
    CREATE (e)-[:CREATED]->(r), (e)-[:ASSERTED]->(r)
    CREATE (u)-[:PREFERS {
        since: datetime('2026-01-01'), scope: 'global', temporalMarker: 'current',
        extractionId: e.extractionId
    }]->(r)
"""


@pytest.fixture(scope="module")
def command(server):
    """Run a command of `sidecypher sync`; return what it printed as JSON."""

    def run(*arguments):
        done = server.command("sync", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture(scope="module")
def watching(driver, command):
    yield command("watch", *WATCHED, *RELATED)
    command("unwatch")


@pytest.fixture
def graph(watching, session):
    """A session on an empty graph with an empty outbox."""
    drop(session)
    return session


def drop(session):
    Calls(session, "sidecypher").one("dropChanges", 2**62)


def changes(session, since=0, **options):
    return Calls(session, "sidecypher").call("changes", since, options)


def told(session, *columns):
    """Return these columns of the waiting changes."""
    return [tuple(row[name] for name in columns) for row in changes(session)]


@pytest.mark.parametrize(
    ("before", "statement", "rows"),
    [
        (
            "RETURN 1",
            "CREATE (:WorkflowRun {id: 'r', state: 'running'})",
            [("changed", "WorkflowRun", "r", "r", "state", "running")],
        ),
        (
            "CREATE (:Plan {id: 'p', runId: 'r', status: 'draft'})",
            "MATCH (p:Plan) SET p.status = 'approved', p.note = 'fine'",
            [("changed", "Plan", "p", "r", "status", "approved")],
        ),
        (
            "CREATE (:Plan {id: 'p', runId: 'r', status: 'draft'})",
            "MATCH (p:Plan) REMOVE p.status",
            [("changed", "Plan", "p", "r", "status", None)],
        ),
        (
            "CREATE (:Customer {id: 7})",
            "MATCH (c:Customer) DELETE c",
            [("deleted", "Customer", "7", None, None, None)],
        ),
        (
            "CREATE (:Lead {key: 'k'})",
            "MATCH (c:Lead) SET c:Customer",
            [("created", "Customer", "k", None, None, None)],
        ),
        (
            "CREATE (:Customer {id: 'c', runId: 'r'})",
            "MATCH (c:Customer) REMOVE c:Customer",
            [("deleted", "Customer", "c", "r", None, None)],
        ),
        (
            "CREATE (:Lead)-[:PAID {id: 'first'}]->(:Lead)",
            "MATCH (a)-[p:PAID]->(b) DELETE p CREATE (a)-[:PAID {id: 'second'}]->(b)",
            [
                ("created", "PAID", "second", None, None, None),
                ("deleted", "PAID", "first", None, None, None),
            ],
        ),
    ],
)
def test_a_watched_change_is_told(graph, before, statement, rows):
    """Created, changed and deleted: with label, id, run, and the new value of the property."""
    graph.run(before).consume()
    drop(graph)
    graph.run(statement).consume()
    assert told(graph, "kind", "label", "id", "runId", "property", "value") == rows


def test_nothing_else_is_told(graph):
    """Other labels, other properties, the same value, and what is rolled back write no change."""
    graph.run("CREATE (:Plan {id: 'p', status: 'draft'}), (:Task {status: 'draft'})").consume()
    drop(graph)
    graph.run("MATCH (t:Task) SET t.status = 'done'").consume()
    graph.run("MATCH (p:Plan) SET p.status = 'draft', p.note = 'x'").consume()
    with graph.begin_transaction() as transaction:
        transaction.run("CREATE (:Customer {id: 'c'})").consume()
        transaction.rollback()
    assert not changes(graph)


def test_an_id_of_any_type_is_told_as_text(graph):
    """An id that is not a text, or that is absent, never keeps a transaction from its commit."""
    graph.run("CREATE (:Customer {id: [1, 2], runId: 5}), (:Customer)").consume()
    ids = [row["id"] for row in changes(graph)]
    assert sorted(ids) == sorted(
        graph.run("MATCH (c:Customer) RETURN elementId(c) AS id").value("id")
    )


def test_values_are_told_as_json_has_them(graph):
    """Numbers and lists stay what they are; a time becomes a text."""
    graph.run("""
        CREATE (:Plan {id: 1, status: 3}), (:Plan {id: 2, status: ['a', 'b']}),
            (:Plan {id: 3, status: date('2026-01-02')})
    """).consume()
    assert sorted(told(graph, "id", "value")) == [("1", 3), ("2", ["a", "b"]), ("3", "2026-01-02")]


def test_a_contradiction_is_told_once(graph):
    """Whether `rules.add` records it, or the trigger `rules-guard` for a rule of plain Cypher."""
    rules = Calls(graph, "rules")
    source = {"method": "rule", "rawSnippet": "said"}
    rules.one("add", {"text": "Use tabs", "userId": "bob"}, source)
    [_] = rules.one("add", {"text": "Never use tabs", "userId": "bob"}, source)["contradicts"]
    assert told(graph, "kind", "label") == [("created", "CONTRADICTS")]
    drop(graph)

    graph.run(STATED, id="one", text="Use tabs").consume()
    graph.run(STATED, id="other", text="Never use tabs").consume()
    graph.run(STATED, id="third", text="Write short texts").consume()
    [(kind, label, about)] = told(graph, "kind", "label", "id")
    assert (kind, label) == ("created", "CONTRADICTS")
    assert "one" in about
    assert "other" in about


def test_numbers_are_the_order_of_commits(graph, driver):
    """Many writers: no number is missing, a poller misses nothing, and each run is in order."""
    count, writers = 25, 4

    def write(run):
        with driver.session() as session:
            for number in range(count):
                session.run("MERGE (r:WorkflowRun {id: $run}) SET r.state = $n", run=run, n=number)

    seen = []
    with ThreadPoolExecutor(writers) as threads:
        written = [threads.submit(write, f"run {each}") for each in range(writers)]
        while len(seen) < count * writers:
            seen += changes(graph, since=seen[-1]["seq"] if seen else 0, limit=7)
            assert all(each.done() is False or each.result() is None for each in written)
    numbers = [row["seq"] for row in seen]
    assert numbers == [*range(numbers[0], numbers[0] + count * writers)]
    for each in range(writers):
        values = [row["value"] for row in seen if row["runId"] == f"run {each}"]
        assert values == [*range(count)]


def test_a_poller_chooses_and_drops(graph):
    """`since`, `labels` and `limit` choose; `dropChanges` removes up to a number."""
    for number in range(1, 6):
        graph.run("CREATE (:Customer {id: $n})", n=number).consume()
    graph.run("CREATE (:Plan {id: 'p', status: 'draft'})").consume()
    first = changes(graph)[0]["seq"]
    assert [row["id"] for row in changes(graph, first, limit=2)] == ["2", "3"]
    assert [row["id"] for row in changes(graph, labels=["Plan"])] == ["p"]
    sidecypher = Calls(graph, "sidecypher")
    assert sidecypher.one("dropChanges", first + 3) == {"dropped": 4}
    assert told(graph, "id") == [("5",), ("p",)]


@pytest.mark.slow
def test_the_command_shows_what_is_watched(graph, command, server):
    """`watch` replaces what was watched, `unwatch` ends it, and `watched` tells what waits."""
    graph.run("CREATE (:Customer {id: 1})").consume()
    watched = {
        "nodes": ["Customer", "Plan.status", "WorkflowRun.state"],
        "relationships": ["CONTRADICTS", "PAID"],
    }
    try:
        assert command("watched") == {**watched, "waiting": 1}
        assert command("unwatch") == {"nodes": [], "relationships": [], "waiting": 1}
        graph.run("CREATE (:Customer {id: 2})").consume()
        assert command("watch") == {
            "nodes": ["Plan.status", "WorkflowRun.state"],
            "relationships": ["CONTRADICTS"],
            "waiting": 1,
        }
        refused = server.command("sync", "watch", "--node", "Outbox")
        assert refused.returncode == 1
        assert "`Outbox` cannot be watched" in refused.stderr
    finally:
        assert command("watch", *WATCHED, *RELATED) == {**watched, "waiting": 1}


def test_a_trigger_that_somebody_has_stopped_is_told(graph, command, server, driver):
    """`watched` fails with what to do, and `watch` starts it again."""
    stop = "CALL apoc.trigger.stop('neo4j', 'outbox-writer')"
    driver.execute_query(stop, database_="system")
    listed = (
        "CALL apoc.trigger.list() YIELD name, paused WHERE name = 'outbox-writer' RETURN paused"
    )
    wait_until(lambda: driver.execute_query(listed).records[0]["paused"])
    try:
        refused = server.command("sync", "watched")
        assert refused.returncode == 1
        assert "The trigger `outbox-writer` is stopped [SC-939]" in refused.stderr
    finally:
        command("watch", *WATCHED, *RELATED)


@pytest.mark.slow
def test_migrations_leave_the_outbox_alone(graph, command, server):
    """A run of `sidecypher migrate` neither stops nor removes the trigger."""
    before = command("watched")
    done = server.command("migrate")
    assert done.returncode == 0, done.stderr
    assert command("watched") == before


class Subscriber:
    """Somebody who reads the stream `wf:changes`."""

    def __init__(self, redis):
        self._redis = redis

    def entries(self):
        return [fields for _, fields in self._redis.xrange(CHANGES)]

    def values(self, run):
        """Return the values of a run's state in order, each change once."""
        seen = {}
        for each in self.entries():
            if each.get("runId") == run:
                seen.setdefault(int(each["seq"]), json.loads(each["value"]))
        assert [*seen] == sorted(seen)
        return [*seen.values()]


@pytest.fixture
def subscriber(graph, sync):
    return Subscriber(sync.redis)


def set_state(graph, run, *numbers):
    for number in numbers:
        graph.run("MERGE (r:WorkflowRun {id: $r}) SET r.state = $n", r=run, n=number).consume()


def test_changes_reach_redis_in_order(graph, sync, subscriber):
    """Each change is an entry of `wf:changes`, and leaves the graph."""
    set_state(graph, "r", 0, 1)
    sync.start()
    wait_until(lambda: len(subscriber.entries()) == 2)
    set_state(graph, "r", 2)
    wait_until(lambda: subscriber.values("r") == [0, 1, 2])
    *_, before, entry = subscriber.entries()
    assert entry.pop("at").startswith("20")
    assert int(entry.pop("seq")) == int(before["seq"]) + 1
    assert entry == {
        "kind": "changed",
        "label": "WorkflowRun",
        "id": "r",
        "runId": "r",
        "property": "state",
        "value": "2",
    }
    wait_until(lambda: not changes(graph))


@pytest.mark.slow
def test_no_change_is_lost_while_redis_is_away(graph, sync, subscriber, redis_server):
    """Changes wait in the graph, and are published in order when Redis is back."""
    set_state(graph, "r", 0)
    sync.start()
    wait_until(lambda: subscriber.values("r") == [0])
    redis_server.kill()
    set_state(graph, "r", 1, 2)
    wait_until(lambda: "sync.redis_away" in sync.log)
    redis_server.start()
    wait_until(lambda: subscriber.values("r") == [0, 1, 2])


@pytest.mark.slow
def test_kills_of_the_publisher_lose_nothing(graph, sync, subscriber, kill_count):
    """A killed publisher may leave a change twice, with the same `seq`; never none, never late."""
    written = 0
    for _ in range(kill_count + 1):
        consumer = sync.start()
        wait_until(lambda: sync.redis.exists(CHANGES_LEASE))
        set_state(graph, "r", *range(written, written + 20))
        written += 20
        consumer.kill()
        consumer.wait()
    sync.start()
    wait_until(lambda: subscriber.values("r") == [*range(written)])


@pytest.mark.slow
def test_a_paused_publisher_adds_nothing_after_its_lease(graph, sync, subscriber):
    """While it was paused another one has published; what it had read it does not add again."""
    paused = sync.start()
    wait_until(lambda: sync.redis.exists(CHANGES_LEASE))
    set_state(graph, "r", 0)
    wait_until(lambda: subscriber.values("r") == [0])
    paused.suspend()
    set_state(graph, "r", 1)
    other = sync.start()
    wait_until(lambda: subscriber.values("r") == [0, 1])
    set_state(graph, "r", 2, 3)
    wait_until(lambda: subscriber.values("r") == [0, 1, 2, 3])
    paused.resume()
    other.send_signal(signal.SIGTERM)
    other.wait()
    set_state(graph, "r", 4)
    wait_until(lambda: subscriber.values("r") == [0, 1, 2, 3, 4])


def test_a_stream_with_a_group_keeps_what_it_has_not_acknowledged(graph, sync, subscriber):
    """An entry goes when each group has acknowledged it, not earlier."""
    sync.redis.xgroup_create(CHANGES, "mail", id="0", mkstream=True)
    sync.start()
    set_state(graph, "r", 0, 1, 2)
    wait_until(lambda: subscriber.values("r") == [0, 1, 2])
    [[_, entries]] = sync.redis.xreadgroup("mail", "one", {CHANGES: ">"})
    sync.redis.xack(CHANGES, "mail", *(position for position, _ in entries[:2]))
    wait_until(lambda: len(subscriber.entries()) == 1)
