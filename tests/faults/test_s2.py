"""S2: a stranger looks for ports."""

import psutil


def test_neo4j_listens_on_bolt_and_http_only(server, session):
    """The JVM opens no port for Python; both of its own are on loopback."""
    session.run("CALL test.echo('connected')").consume()

    listening = {
        connection.laddr
        for connection in server.process("neo4j").net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }

    ports = {int(server.facts[name].rpartition(":")[2]) for name in ("bolt", "http")}
    assert {address.port for address in listening} == ports
    assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
