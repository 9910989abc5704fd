"""F2: the sidecar is down when it is called."""

import time

from sidecypher.runtime.bootcheck import boot_check


def test_without_a_sidecar_calls_fail_at_once_and_recover(server, session, evidence):
    """Sidecar down: a clear error within 500 ms; up again: the next call works."""
    session.run("CALL test.echo('warm')").consume()

    with server.sidecar_down():
        begun = time.monotonic()
        error = evidence.error("CALL test.echo($value)", value=evidence.payload)
        assert time.monotonic() - begun < 0.5
        assert session.run("RETURN 1 AS one").single()["one"] == 1

    assert "SC-210" in error.message
    assert "sidecypher up" in error.message
    evidence.told_by_plugin("SC-210")
    server.await_sidecar()
    assert session.run("CALL test.echo('back')").single()["value"] == "back"


def test_neo4j_starts_without_a_sidecar(server, installation, java):
    """A plugin whose sidecar does not exist keeps no Neo4j from starting."""
    plugin = server.home / "neo4j" / "plugins" / "sidecypher.jar"

    boot_check(plugin, {"test.echo"}, installation=installation, java=java)
