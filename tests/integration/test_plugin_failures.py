"""What only the plugin sees of failing calls shows up in the metrics of the sidecars."""

import pytest
from fix_evidence import read_metrics
from fix_waiting import wait_until
from neo4j.exceptions import ClientError


def failures(server):
    """Counts of the JVM by procedure, code and result; its own name must be the same for all."""
    found = {
        tuple(dict(labels)[name] for name in ("jvm", "procedure", "code", "result")): value
        for (metric, labels), value in read_metrics(server.sidecar).items()
        if metric == "sidecypher_plugin_failures_total"
    }
    assert len({jvm for jvm, *_ in found}) <= 1
    return {tuple(kind): value for (_, *kind), value in found.items()}


@pytest.mark.slow
def test_calls_that_found_no_sidecar_are_counted_by_the_next_ones(server, session):
    """Errors and missing rows are told to the sidecar that comes, and again to its successor."""
    kinds = [
        ("test.echo", "SC-210", "error"),
        ("test.optional", "SC-210", "nothing"),
        ("test.off", "OFF", "nothing"),
    ]
    session.run("CALL test.echo('connected')").consume()
    before = failures(server)
    expected = {kind: before.get(kind, 0) + 1 for kind in kinds}

    with server.sidecar_down():
        with pytest.raises(ClientError, match="SC-210"):
            session.run("CALL test.echo('nobody')").consume()
        session.run("CALL test.optional(1)").consume()
        session.run("CALL test.off(1)").consume()
    for _ in range(2):
        server.await_sidecar()
        session.run("CALL test.echo('back')").consume()
        wait_until(lambda: all(failures(server).get(kind, 0) >= n for kind, n in expected.items()))
        server.process("sidecar").terminate()
        wait_until(lambda: server.sidecar is None)
    server.await_sidecar()
