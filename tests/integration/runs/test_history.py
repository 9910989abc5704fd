"""Many writers at once, who crash and repeat themselves, leave runs that are right."""

import contextlib
import os
import random
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import pytest
from fix_waiting import wait_until
from integration.runs.history import Forked, History, Stored, Told, faults, stored
from neo4j.exceptions import DriverError, Neo4jError

CLIENTS = 8
MOST_RUNS = 12
OPERATIONS = int(os.environ.get("SIDECYPHER_TEST_OPERATIONS", "400"))


class Client:
    """One writer, who writes down what it was told."""

    def __init__(self, driver, server, runs, history, seed):
        self._driver = driver
        self._server = server
        self._runs = runs
        self._begun = tuple(runs)
        self._history = history
        self._random = random.Random(seed)
        self._names = (f"{seed}-{number}" for number in count())
        # The places of events that this client has appended, by run and id.
        self._known = defaultdict(dict)

    def act(self, operations):
        """Do so many random operations."""
        kinds = [
            *(4 * [self._plain], 2 * [self._behind], [self._many], [self._join]),
            *([self._again], [self._foreign], [self._rolled_back], [self._gone]),
            *([self._delete], [self._fork]),
        ]
        moves = [move for group in kinds for move in group]
        for _ in range(operations):
            self._random.choice(moves)(self._random.choice(self._runs))

    def _plain(self, run):
        self._append(run, {}, None)

    def _behind(self, run):
        known = list(self._known[run])
        if known:
            some = self._random.sample(known, min(2, len(known)))
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
        self._tell(run, [Told(run, name, parents, text=True)], "append", event)

    def _again(self, run):
        """Repeat an event whose first answer may have been lost."""
        name = next(self._names)
        event = {"id": name, "type": "status", "content": name}
        told = [Told(run, name, text=True)]
        self._tell(run, told, "append", event)
        self._tell(run, told, "append", event)

    def _foreign(self, run):
        """Give a parent of another run, which is none that they share."""
        other = next(each for each in self._begun if each != run)
        if run in self._begun and self._known[other]:
            name = next(self._names)
            event = {"id": name, "type": "status", "parentIds": [*self._known[other]][-1:]}
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

    def _delete(self, run):
        """Delete an event, perhaps again, or one that a fork shares."""
        if self._known[run]:
            name = self._random.choice([*self._known[run]])
            # What is not known to be deleted may be.
            self._history.deleted.append(name)
            self._repeat("CALL runs.deleteEvent($id) YIELD seq", id=name)

    def _fork(self, run):
        """Fork a run, perhaps a fork, at a place where it has been."""
        if self._known[run] and len(self._runs) < MOST_RUNS:
            name, seq = next(self._names), self._random.choice([*self._known[run].values()])
            fork = "CALL runs.fork($run, $seq, {id: $id}) YIELD id"
            self._repeat(fork, run=run, seq=seq, id=name)
            self._history.forks[name] = Forked(run, seq)
            self._runs.append(name)

    def _tell(self, run, told, name, events):
        """Append until it is acknowledged."""
        rows = self._repeat(_statement(name), run=run, events=events)
        for each, row in zip(told, rows, strict=True):
            self._history.acknowledged.append(replace(each, seq=row["seq"], digest=row["digest"]))
            self._known[run][each.id] = row["seq"]

    def _repeat(self, statement, **parameters):
        """Run a statement until it succeeds: after a lost answer nobody knows whether it did."""
        while True:
            try:
                with self._driver.session() as session:
                    return session.run(statement, parameters).data()
            except (Neo4jError, DriverError):
                self._server.await_sidecar()


def _statement(name):
    return f"CALL runs.{name}($run, $events) YIELD seq, digest"


def _call(runner, name, run, events):
    return runner.run(_statement(name), run=run, events=events).data()


@contextlib.contextmanager
def acting(driver, server, runs, history):
    """Have all clients do their share of the operations, and wait for them at the end."""
    clients = [Client(driver, server, runs, history, f"client-{n}") for n in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        busy = [pool.submit(client.act, OPERATIONS // CLIENTS) for client in clients]
        yield
        for each in busy:
            each.result()


@pytest.mark.slow
def test_no_writer_forks_loses_or_reorders_a_run(runs, driver, server):
    """After random appends, deletes, forks, roll-backs and the death of a sidecar all is right."""
    ids, history = [runs.new() for _ in range(3)], History()
    with acting(driver, server, ids, history):
        wait_until(lambda: len(history.acknowledged) > 100)
        pid = server.sidecar.pid
        server.kill_sidecar()
        server.await_successor(pid)
    server.await_sidecar()

    assert len(history.acknowledged) > OPERATIONS // 2
    assert history.deleted
    assert len(ids) > 3
    for run in ids:
        events = stored(runs.session, run, history.forks)
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
        Stored("a", 1, frozenset(), empty=False),
        Stored("b", 2, frozenset("a")),
        Stored("c", 3, frozenset("b")),
    ]
    told = [Told("r", event.id, None, event.seq, text=event.seq == 1) for event in right]
    history = History(acknowledged=told, refused=["x"], deleted=["c"])
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
        [first, second, Stored("c", 3, frozenset("b"), empty=False)],
        [Stored("a", 1, frozenset(), empty=True), second, third],
    ):
        assert faults(history, "r", wrong) != [], wrong
