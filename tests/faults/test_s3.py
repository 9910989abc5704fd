"""S3: somebody else takes the port while the sidecar is down."""

import socket
import ssl
import threading

from fix_waiting import wait_until

from sidecypher.host.credentials import load_credentials


def test_a_squatter_on_the_port_gets_neither_token_nor_calls(server, evidence, tmp_path):
    """Who listens on a dead sidecar's port sees a handshake that fails, and not one byte more."""
    port = server.sidecar.port
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
        error = evidence.error("CALL test.echo($value)", value=evidence.payload)
        wait_until(lambda: heard)
        squatter.shutdown(socket.SHUT_RDWR)
        thread.join(5)

    assert "SC-210" in error.message
    assert "is not the sidecar's" in error.message
    evidence.told_by_plugin("SC-210")
    assert server.token.encode() not in b"".join(heard)
    assert evidence.payload.encode() not in b"".join(heard)
