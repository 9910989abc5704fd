"""Many writers at once, who crash and repeat themselves, leave runs that are right."""

import contextlib
import os
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from fix_waiting import wait_until
from integration.runs.history import History, Stored, Told, faults, stored
from neo4j.exceptions import DriverError, Neo4jError

CLIENTS = 8
OPERATIONS = int(os.environ.get("SIDECYPHER_TEST_OPERATIONS", "400"))


class Client:
    """One writer, who writes down what it was told."""

    def __init__(self, driver, server, runs, history, seed):
        self._driver = driver
        self._server = server
        self._runs = runs
        self._history = history
        self._random = random.Random(seed)
        self._names = (f"{seed}-{number}" for number in count())
        self._known = {run: [] for run in runs}

    def act(self, operations):
        """Do so many random operations."""
        kinds = [
            *(4 * [self._plain], 2 * [self._behind], [self._many], [self._join]),
            *([self._again], [self._foreign], [self._rolled_back], [self._gone]),
        ]
        moves = [move for group in kinds for move in group]
        for _ in range(operations):
            self._random.choice(moves)(self._random.choice(self._runs))

    def _plain(self, run):
        self._append(run, {}, None)

    def _behind(self, run):
        if self._known[run]:
            some = self._random.sample(self._known[run], min(2, len(self._known[run])))
            self._append(run, {"parentIds": some}, frozenset(some))

    def _join(self, run):
        self._append(run, {"join": True}, "join")

    def _many(self, run):
        names = [next(self._names) for _ in range(self._random.randint(1, 5))]
        events = [{"id": name, "type": "status"} for name in names]
        self._tell(run, [Told(run, name) for name in names], "appendMany", events)

    def _append(self, run, more, parents):
        name = next(self._names)
        event = {"id": name, "type": "userMessage", "content": name, **more}
        self._tell(run, [Told(run, name, parents)], "append", event)

    def _again(self, run):
        """Repeat an event whose first answer may have been lost."""
        name = next(self._names)
        event = {"id": name, "type": "status", "content": name}
        told = [Told(run, name)]
        self._tell(run, told, "append", event)
        self._tell(run, told, "append", event)

    def _foreign(self, run):
        """Give a parent of another run."""
        other = next(each for each in self._runs if each != run)
        if self._known[other]:
            name = next(self._names)
            event = {"id": name, "type": "status", "parentIds": self._known[other][-1:]}
            with self._driver.session() as session, contextlib.suppress(Neo4jError, DriverError):
                _call(session, "append", run, event)
            self._history.refused.append(name)

    def _rolled_back(self, run):
        """Append, and take it back."""
        name = next(self._names)
        with self._driver.session() as session, contextlib.suppress(Neo4jError, DriverError):
            transaction = session.begin_transaction()
            _call(transaction, "append", run, {"id": name, "type": "status"})
            transaction.rollback()
        self._history.refused.append(name)

    def _gone(self, run):
        """Append, and never commit."""
        name = next(self._names)
        with self._driver.session() as session, contextlib.suppress(Neo4jError, DriverError):
            transaction = session.begin_transaction()
            _call(transaction, "append", run, {"id": name, "type": "status"})
            transaction.close()
        self._history.refused.append(name)

    def _tell(self, run, told, name, events):
        """Append until it is acknowledged: after a lost answer nobody knows, so it is repeated."""
        while True:
            try:
                with self._driver.session() as session:
                    rows = _call(session, name, run, events)
            except (Neo4jError, DriverError):
                self._server.await_sidecar()
            else:
                break
        for each, row in zip(told, rows, strict=True):
            self._history.acknowledged.append(
                Told(run, each.id, each.parents, row["seq"], row["digest"])
            )
            self._known[run].append(each.id)


def _call(runner, name, run, events):
    return runner.run(
        f"CALL runs.{name}($run, $events) YIELD seq, digest", run=run, events=events
    ).data()


@contextlib.contextmanager
def acting(driver, server, runs, history):
    """Have all clients do their share of the operations, and wait for them at the end."""
    clients = [Client(driver, server, runs, history, f"client-{n}") for n in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        busy = [pool.submit(client.act, OPERATIONS // CLIENTS) for client in clients]
        yield
        for each in busy:
            each.result()


def test_no_writer_forks_loses_or_reorders_a_run(runs, driver, server):
    """After random appends, repeats, roll-backs and the death of a sidecar all is right."""
    ids, history = [runs.new() for _ in range(3)], History()
    with acting(driver, server, ids, history):
        wait_until(lambda: len(history.acknowledged) > 100)
        pid = server.sidecar.pid
        server.kill_sidecar()
        server.await_successor(pid)
    server.await_sidecar()

    assert len(history.acknowledged) > OPERATIONS // 2
    for run in ids:
        events = stored(runs.session, run)
        assert faults(history, run, events) == []
        assert runs.one("verify", run)["ok"]
        assert runs.one("state", run)["lastSeq"] == len(events)


NAIVE = """
    MATCH (r:NaiveRun {id: $run})
    OPTIONAL MATCH (last:NaiveEvent {runId: $run}) WHERE NOT (last)-[:NEXT]->()
    WITH r, collect(last) AS leaves, coalesce(max(last.seq), 0) + 1 AS seq
    CREATE (e:NaiveEvent {id: $id, runId: $run, seq: seq})
    FOREACH (leaf IN leaves | CREATE (leaf)-[:NEXT]->(e))
    RETURN seq
"""


def test_the_checker_finds_what_naive_appends_do(session, driver):
    """Appends that look for the tail, as one would write them, fork a run; `faults` says so."""
    session.run("CREATE (:NaiveRun {id: 'naive'})").consume()
    history = History()

    def write(client):
        with driver.session() as writer:
            for number in range(30):
                name = f"{client}-{number}"
                [seq] = writer.run(NAIVE, run="naive", id=name).value()
                history.acknowledged.append(Told("naive", name, None, seq))

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(write, range(CLIENTS)))

    found = session.run(
        "MATCH (e:NaiveEvent) RETURN e.id AS id, e.seq AS seq, [(p)-[:NEXT]->(e) | p.id] AS parents"
    )
    events = [Stored(each["id"], each["seq"], frozenset(each["parents"])) for each in found]
    assert "the places have gaps or are taken twice" in faults(history, "naive", events)


def test_the_checker_finds_each_fault():
    """A run that is right has no faults; each thing that could be wrong with it is found."""
    right = [
        Stored("a", 1, frozenset()),
        Stored("b", 2, frozenset("a")),
        Stored("c", 3, frozenset("b")),
    ]
    told = [Told("r", event.id, None, event.seq) for event in right]
    history = History(acknowledged=told, refused=["x"])
    first, second, third = right
    joined = History(acknowledged=[*told[:2], Told("r", "c", "join", 3)])
    branch = Stored("b", 2, frozenset())

    assert faults(history, "r", right) == []
    assert faults(joined, "r", right) == []
    assert faults(joined, "r", [first, branch, third]) != []
    for wrong in (
        [first, third],
        [first, second],
        [first, second, third, Stored("d", 4, frozenset("c"))],
        [first, second, third, Stored("x", 4, frozenset("c"))],
        [first, second, Stored("c", 3, frozenset("a"))],
        [first, second, Stored("c", 3, frozenset())],
        [first, second, Stored("c", 2, frozenset("a"))],
        [first, second, Stored("c", 3, frozenset("b"), "d", "e")],
    ):
        assert faults(history, "r", wrong) != [], wrong
