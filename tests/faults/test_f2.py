"""F2: the sidecar is down when it is called."""

import socket
import statistics
import time

import pytest
from fix_sidecars import answers, behind_proxy
from fix_waiting import promised, wait_until

from sidecypher.runtime.bootcheck import boot_check

CIRCUIT_SECONDS = 1.0
"""How long calls keep away from a sidecar that was not reached; the default of `circuit_ms`."""


@pytest.fixture
def proxy(server):
    """A proxy through which Neo4j reaches its sidecar."""
    with behind_proxy(server) as made:
        yield made


def test_without_a_sidecar_calls_fail_at_once_and_recover(server, session, evidence):
    """Sidecar down: a clear error within 500 ms; up again: the next call works."""
    session.run("CALL test.echo($value)", value="warm").consume()

    with server.sidecar_down():
        begun = time.monotonic()
        error = evidence.error("CALL test.echo($value)", value=evidence.payload)
        assert time.monotonic() - begun < promised(0.5)
        assert session.run("RETURN 1 AS one").single()["one"] == 1

    assert "SC-210" in error.message
    assert "sidecypher up" in error.message
    evidence.told_by_plugin("SC-210")
    assert session.run("CALL test.echo('back')").single()["value"] == "back"
    evidence.counted_by_plugin("test.echo", "SC-210")


@pytest.mark.slow
def test_while_the_circuit_is_open_nobody_connects(session, evidence, proxy):
    """After a failure calls fail without a connect; one a second tries, and ends that for all."""
    wait_until(lambda: answers(session) and proxy.connections >= 2)
    sidecar = proxy.target
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        proxy.target = nobody.getsockname()[1]
        proxy.reset()
        begun = time.monotonic()
        wait_until(lambda: "SC-210" in evidence.strike("CALL test.echo('x')").message)
        tried = proxy.accepted

        times = []
        for _ in range(20):
            asked = time.monotonic()
            error = evidence.error("CALL test.echo($value)", value=evidence.payload)
            times.append(time.monotonic() - asked)
            assert "SC-210" in error.message
        assert statistics.median(times) < 0.5
        assert proxy.accepted - tried <= (time.monotonic() - begun) // CIRCUIT_SECONDS

    proxy.target = sidecar
    wait_until(lambda: answers(session))
    assert all(answers(session) for _ in range(20))
    evidence.told_by_plugin("SC-210")


@pytest.mark.slow
def test_neo4j_starts_without_a_sidecar(server, installation, java):
    """A plugin whose sidecar does not exist keeps no Neo4j from starting."""
    plugin = server.home / "neo4j" / "plugins" / "sidecypher.jar"

    boot_check(plugin, {"test.echo"}, installation=installation, java=java)
