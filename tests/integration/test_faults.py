"""What a caller sees when Python is slow, gone, or somebody else."""

import socket
import ssl
import threading
import time

import psutil
import pytest
from fix_waiting import wait_until
from neo4j.exceptions import ClientError, Neo4jError

from sidecypher.credentials import load_credentials
from sidecypher.runtime.bootcheck import boot_check


class Caller(threading.Thread):
    """Runs a query on a thread of its own and keeps what came of it."""

    def __init__(self, driver, query, **parameters):
        super().__init__(daemon=True)
        self.driver = driver
        self.query = query
        self.parameters = parameters
        self.error = None
        self.ended = None
        self.start()

    def run(self):
        try:
            with self.driver.session() as session:
                session.run(self.query, self.parameters).consume()
        except Neo4jError as error:
            self.error = error
        self.ended = time.monotonic()


def new_mark():
    """Return a mark that no body has; one that cannot be stopped may still run for a while."""
    return f"mark {time.monotonic_ns()}"


def transaction_of(session, mark):
    """Return the id of the only other transaction, once the body with this mark runs."""
    wait_until(lambda: mark in session.run("CALL test.running()").value())
    query = (
        "SHOW TRANSACTIONS YIELD transactionId, currentQuery "
        "WHERE NOT currentQuery STARTS WITH 'SHOW' RETURN transactionId"
    )
    return session.run(query).single(strict=True).value()


@pytest.mark.parametrize("procedure", ["test.hang", "test.hangAsync"])
def test_terminating_a_transaction_frees_its_caller(driver, session, procedure):
    """TERMINATE TRANSACTION frees a caller that waits for Python within a second."""
    mark = new_mark()
    caller = Caller(driver, f"CALL {procedure}(20, $mark)", mark=mark)
    transaction = transaction_of(session, mark)

    begun = time.monotonic()
    session.run("TERMINATE TRANSACTION $id", id=transaction).consume()
    caller.join(10)

    assert caller.ended - begun < 1.0
    assert "terminated" in caller.error.message.lower()


def test_terminating_a_transaction_stops_the_cypher_of_a_body(driver, session):
    """TERMINATE TRANSACTION stops a statement that a body runs."""
    query = "CALL test.run('UNWIND range(1, 1000000000) AS n RETURN sum(n * rand()) AS s')"
    caller = Caller(driver, query)
    transaction = transaction_of(session, "test.run")

    begun = time.monotonic()
    session.run("TERMINATE TRANSACTION $id", id=transaction).consume()
    caller.join(10)

    assert caller.ended - begun < 1.0
    assert caller.error is not None


def test_terminating_a_transaction_ends_its_stream(driver, session):
    """TERMINATE TRANSACTION ends an endless stream, and the generator is closed."""
    label = new_mark()
    query = "CALL test.closing($label) YIELD value RETURN max(value)"
    caller = Caller(driver, query, label=label)
    transaction = transaction_of(session, label)

    begun = time.monotonic()
    session.run("TERMINATE TRANSACTION $id", id=transaction).consume()
    caller.join(10)

    assert caller.ended - begun < 1.0
    wait_until(lambda: label in session.run("CALL test.closed()").value())


@pytest.mark.parametrize("procedure", ["test.brief", "test.briefAsync"])
def test_a_body_that_never_answers_is_a_clear_error(session, procedure):
    """A body that outlives its timeout of 0.3 s gives an error within another second."""
    begun = time.monotonic()
    with pytest.raises(ClientError, match=r"SC-213.*`test\.brief") as caught:
        session.run(f"CALL {procedure}(20)").consume()

    assert time.monotonic() - begun < 1.3
    assert "raise " in caught.value.message
    assert session.run(f"CALL {procedure}(0)").single()["value"] == "in time"


def test_without_a_sidecar_calls_fail_at_once_and_recover(server, driver, session):
    """Sidecar down: a clear error within 500 ms; up again: the next call works."""
    session.run("CALL test.echo('warm')").consume()

    with server.sidecar_down():
        begun = time.monotonic()
        with pytest.raises(ClientError, match=r"SC-210.*sidecypher up"):
            session.run("CALL test.echo('x')").consume()
        assert time.monotonic() - begun < 0.5
        assert session.run("RETURN 1 AS one").single()["one"] == 1

    server.await_sidecar()
    assert session.run("CALL test.echo('back')").single()["value"] == "back"


def test_a_sidecar_killed_in_a_call_is_an_unknown_outcome(server, driver, session):
    """kill -9 in a call: the caller hears at once, and nobody repeats the call for it."""
    mark = new_mark()
    caller = Caller(driver, "CALL test.hang(20, $mark)", mark=mark)
    transaction_of(session, mark)

    begun = time.monotonic()
    server.process("sidecar").kill()
    caller.join(10)

    assert caller.ended - begun < 1.0
    assert "SC-212" in caller.error.message
    server.await_sidecar()
    assert session.run("CALL test.echo('back')").single()["value"] == "back"


def test_a_squatter_on_the_port_gets_neither_token_nor_calls(server, session, tmp_path):
    """Who listens on a dead sidecar's port sees a handshake that fails, and not one byte more."""
    token = (server.home / "run" / "token").read_bytes().strip()
    port = server.rendezvous.endpoints[0].port
    heard = []

    with server.sidecar_down(), socket.create_server(("127.0.0.1", port)) as squatter:
        tls = load_credentials(tmp_path).tls

        def listen():
            while True:
                try:
                    plain, _ = squatter.accept()
                except OSError:
                    return
                with plain:
                    try:
                        stream = tls.wrap_socket(plain, server_side=True)
                        heard.append(stream.recv(4096))
                    except (ssl.SSLError, OSError):
                        heard.append(b"")

        thread = threading.Thread(target=listen, daemon=True)
        thread.start()
        with pytest.raises(ClientError, match="SC-210"):
            session.run("CALL test.echo($x)", x="private words").consume()
        wait_until(lambda: heard)
        squatter.shutdown(socket.SHUT_RDWR)
        thread.join(5)

    assert heard
    assert token not in b"".join(heard)
    assert b"private words" not in b"".join(heard)


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


def test_neo4j_starts_without_a_sidecar(server, installation, java):
    """A plugin whose sidecar does not exist keeps no Neo4j from starting."""
    plugin = server.home / "neo4j" / "plugins" / "sidecypher.jar"

    boot_check(plugin, {"test.echo"}, installation=installation, java=java)


def test_the_token_is_nowhere_but_in_its_file(server, session):
    """Neither logs nor arguments of processes hold the token or the password."""
    session.run("CALL test.echo('x')").consume()
    token = (server.home / "run" / "token").read_text().strip()
    processes = [server.process(name) for name in ("neo4j", "sidecar")]
    shown = server.logs() + " ".join(word for each in processes for word in each.cmdline())
    environments = " ".join(" ".join(each.environ().values()) for each in processes)

    for secret in (token, server.password):
        assert secret not in shown
        assert secret not in environments


def test_files_with_secrets_are_for_the_owner_only(server):
    """Run folder 0700, and token, key, rendezvous and password 0600."""
    run = server.home / "run"
    files = [run / name for name in ("token", "key.pem", "sidecar.json")]
    files.append(server.home / "neo4j-password")

    assert run.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
