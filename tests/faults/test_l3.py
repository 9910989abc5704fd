"""L3: many callers that go."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fix_evidence import read_metrics

POOL = 16
CALLERS = 100
WAVES = 3


@pytest.mark.slow
def test_three_hundred_callers_that_go_leave_the_pool_only(server, session, quiet_sidecar):
    """Callers on connections of their own, so on threads of Neo4j, come in waves and leave."""
    sidecar = quiet_sidecar.process
    session.run("CALL test.echo('connected')").consume()
    threads = sidecar.num_threads()

    answers = [answer for _ in range(WAVES) for answer in wave(server)]

    assert answers == [str(number) for number in range(CALLERS)] * WAVES
    connections = read_metrics(quiet_sidecar.announcement)["sidecypher_connections", frozenset()]
    # The pool's, and the one that tells when the other side is gone.
    assert connections <= POOL + 1
    # Each open connection has a thread; some others may come and go.
    assert sidecar.num_threads() - threads < POOL + 4


def wave(server):
    """Let many callers call at once, and close their connections to Neo4j."""
    together = threading.Barrier(CALLERS)

    def call(number):
        with driver.session() as session:
            session.run("RETURN 1").consume()
            together.wait(60)
            return session.run("CALL test.echo($n)", n=str(number)).single()["value"]

    with server.driver() as driver, ThreadPoolExecutor(CALLERS) as callers:
        return list(callers.map(call, range(CALLERS)))
