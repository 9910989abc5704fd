"""Further sidecars on the run folder of the shared server."""

import contextlib
import json
import os
import shutil
import socket
import threading

import msgspec
import pytest
from fix_forked import Forked
from fix_proxy import Proxy
from fix_waiting import wait_until
from neo4j.exceptions import Neo4jError

from sidecypher.host.credentials import load_credentials, run_folder_lock, write_private
from sidecypher.host.rendezvous import (
    FILE,
    Announcement,
    Membership,
    Rendezvous,
    read_rendezvous,
    running_sidecars,
)
from sidecypher.protocol import envelope
from sidecypher.transport.py4j import escape, unescape


class Another:
    """A `sidecypher serve` of its own.

    Attributes:
        announcement: What it tells of itself.
    """

    def __init__(self, server, log, *arguments, folder=None, **variables):
        self._folder = folder or server.home / "run"
        # A worker process takes most of a second to start.
        given = {"SIDECYPHER_RUN_DIR": str(self._folder), "SIDECYPHER_WORKER_PROCESSES": "1"}
        environ = server.environ | given | variables
        self.process = Forked(environ, "serve", *arguments, output=log)
        try:
            self.announcement = wait_until(self._announced, 60)
        except BaseException:
            # Left running, it would take calls from all tests that follow.
            self.kill()
            raise

    def _announced(self):
        assert self.process.poll() is None
        found = running_sidecars(self._folder)
        return next((each for each in found if each.pid == self.process.pid), None)

    def stop(self):
        """End it in order."""
        self.process.terminate()
        assert self.process.wait(20) == 0

    def kill(self):
        """End it at once."""
        self.process.kill()
        self.process.wait()


@pytest.fixture
def another_sidecar(server, tmp_path):
    """Start sidecars that join the supervised one; all are gone at the end."""
    started = []

    def start(*arguments, **variables):
        started.append(Another(server, tmp_path / "sidecar.log", *arguments, **variables))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.stop()


@pytest.fixture
def quiet_sidecar(server, another_sidecar):
    """The only sidecar while the test runs; it logs nothing but errors."""
    with server.sidecar_down():
        yield another_sidecar(SIDECYPHER_LOG_LEVEL="ERROR")


class Proxied:
    """A sidecar that the plugin finds behind a proxy.

    Attributes:
        sidecar: The sidecar itself.
        proxy: What the plugin connects to.
    """

    def __init__(self, server, folder, another_sidecar, proxies):
        run = server.home / "run"
        folder.mkdir()
        for name in ("token", "key.pem", "certificate.pem"):
            shutil.copy(run / name, folder)
        self.sidecar = another_sidecar(folder=folder, SIDECYPHER_LOG_LEVEL="ERROR")
        self.proxy = proxies(self.sidecar.announcement.port)
        self._membership = Membership(
            run,
            load_credentials(folder).fingerprint,
            msgspec.structs.replace(self.sidecar.announcement, port=self.proxy.port, socket=""),
        )

    def reconnect(self, session, end):
        """End the plugin's connections in some way, and wait until it calls over new ones."""
        end()
        wait_until(lambda: answers(session) and self.proxy.connections)

    def leave(self):
        self._membership.leave()


def answers(session):
    """Tell whether a call succeeds; one sent over a connection that was just ended may not."""
    try:
        return session.run("CALL test.echo('x')").single()["value"] == "x"
    except Neo4jError:
        return False


@pytest.fixture
def proxied_sidecar(server, tmp_path, another_sidecar, proxies):
    """Add a sidecar behind a proxy to those that serve."""
    with contextlib.ExitStack() as added:

        def add():
            found = Proxied(server, tmp_path / "behind", another_sidecar, proxies)
            added.callback(found.leave)
            return found

        yield add


class Scripted:
    """A peer in this process that has the sidecars' key, and sends to a call what its test says.

    Attributes:
        answer: Makes what is sent, bytes, of a call's request.
        calls: The requests so far.
        heard: Of each connection that has ended, what came after its last whole request.
    """

    generation = "scripted"

    def __init__(self, folder, answer, version=envelope.VERSION):
        credentials = load_credentials(folder)
        self.answer = answer
        self.calls = []
        self.heard = []
        self._hello = envelope.HelloReply(version, sidecar=self.generation)
        self._tls = credentials.tls
        self._serving = {}
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        threading.Thread(target=self._accept, name="scripted-accept", daemon=True).start()
        self._membership = Membership(folder, credentials.fingerprint, self._announcement())

    def _announcement(self):
        port = self._listener.getsockname()[1]
        return Announcement(self.generation, os.getpid(), "127.0.0.1", port, 0, 0, left_out={})

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                plain, _ = self._listener.accept()
                thread = threading.Thread(target=self._serve, args=(plain,), daemon=True)
                self._serving[thread] = plain
                thread.start()

    def _serve(self, plain):
        lines = []
        # However a connection ends, its test may want to know what was heard of it.
        with contextlib.suppress(OSError), self._tls.wrap_socket(plain, server_side=True) as peer:
            self._serving[threading.current_thread()] = peer
            reader = peer.makefile("rb")
            reader.readline()
            reader.readline()
            peer.sendall(b"!yv\n")
            for line in reader:
                lines.append(line)
                if len(lines) == 5:
                    peer.sendall(self._reply(lines[2].strip(), json.loads(unescape(lines[3][1:]))))
                    lines.clear()
        self.heard.append(b"".join(lines))

    def _reply(self, method, request):
        if method == b"hello":
            return line_of(self._hello)
        if method == b"call":
            self.calls.append(request)
            return self.answer(request)
        return line_of({"id": request["id"]})

    def stop(self):
        """Leave, and return when no plugin takes it for a sidecar any more."""
        self._membership.leave()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread, peer in list(self._serving.items()):
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_WR)
            thread.join(10)


def line_of(reply):
    """Return a reply as the wire has it."""
    return b"!ys" + escape(msgspec.json.encode(reply)) + b"\n"


def page(request, *rows):
    """Return the reply to a call with these rows and no more."""
    return line_of({"id": request["id"], "rows": rows, "more": False})


@contextlib.contextmanager
def _scripts(server):
    with contextlib.ExitStack() as started:

        def start(answer, **facts):
            made = Scripted(server.home / "run", answer, **facts)
            started.callback(made.stop)
            return made

        yield start


@pytest.fixture
def scripted_sidecar(server):
    """Let a script answer in place of the supervised sidecar."""
    with server.sidecar_down(), _scripts(server) as start:
        yield start


@pytest.fixture
def sick_sidecar(server):
    """Let a script answer beside the supervised sidecar: every other call goes to it."""
    with _scripts(server) as start:
        yield start


def without_socket(server):
    """Let the plugin reach the supervised sidecar by TLS, until the sidecar is replaced."""
    folder = server.home / "run"
    with run_folder_lock(folder):
        found = read_rendezvous(folder)
        sidecars = [msgspec.structs.replace(each, socket="") for each in found.sidecars]
        write_private(folder / FILE, msgspec.json.encode(Rendezvous(found.fingerprint, sidecars)))


@contextlib.contextmanager
def announced(server, port, socket=""):
    """Name a port in the run folder, or a socket, as if a sidecar listened there."""
    folder = server.home / "run"
    own = Announcement("announced", os.getpid(), "127.0.0.1", port, 0, 0, {}, socket)
    membership = Membership(folder, load_credentials(folder).fingerprint, own)
    try:
        yield
    finally:
        membership.leave()


@contextlib.contextmanager
def behind_proxy(server):
    """Put a proxy between Neo4j and the supervised sidecar, which is replaced afterwards."""
    folder = server.home / "run"
    found = server.sidecar
    with contextlib.closing(Proxy(found.port)) as proxy:
        with run_folder_lock(folder):
            there = msgspec.structs.replace(found, port=proxy.port, socket="")
            content = Rendezvous(read_rendezvous(folder).fingerprint, [there])
            write_private(folder / FILE, msgspec.json.encode(content))
        yield proxy
        server.kill_sidecar()
        server.await_successor(found.pid)
