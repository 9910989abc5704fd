"""Further sidecars on the run folder of the shared server."""

import json
import os
import sys

import psutil
import pytest
from fix_waiting import wait_until
from prometheus_client import Gauge

from sidecypher import envelope
from sidecypher.credentials import load_credentials
from sidecypher.rendezvous import Announcement, Membership, running_sidecars
from sidecypher.transport.py4j import Py4JServer
from sidecypher.types import Limits


class Another:
    """A `sidecypher serve` of its own.

    Attributes:
        announcement: What it tells of itself.
    """

    def __init__(self, server, log, *arguments, **variables):
        self._folder = server.home / "run"
        with log.open("ab") as output:
            self.process = psutil.Popen(
                [sys.executable, "-m", "sidecypher", "serve", *arguments],
                env=server.environ | {"SIDECYPHER_RUN_DIR": str(self._folder)} | variables,
                stdout=output,
                stderr=output,
            )
        self.announcement = wait_until(self._announced, 30)

    def _announced(self):
        assert self.process.poll() is None
        found = running_sidecars(self._folder)
        return next((each for each in found if each.pid == self.process.pid), None)

    def stop(self):
        """End it in order."""
        self.process.terminate()
        assert self.process.wait(20) == 0


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


class Scripted:
    """A sidecar in this process that answers every call as its test says.

    Attributes:
        answer: Makes the reply to a call, bytes, of its request.
        calls: The requests so far.
    """

    generation = "scripted"

    def __init__(self, folder, answer):
        self.answer = answer
        self.calls = []
        credentials = load_credentials(folder)
        self._server = Py4JServer(
            self,
            tls=credentials.tls,
            token=credentials.token,
            port=0,
            limits=Limits(),
            open_connections=Gauge("scripted", "Open connections.", registry=None),
        )
        self._server.start()
        own = Announcement(
            self.generation, os.getpid(), "127.0.0.1", self._server.port, 0, 0, left_out={}
        )
        self._membership = Membership(folder, credentials.fingerprint, own)

    def handle(self, method, payload, session):
        request = json.loads(payload)
        if method == "hello":
            session.jvm = request["jvm"]
            reply = {"v": envelope.VERSION, "sidecar": self.generation, "catalogue": ""}
            return json.dumps(reply).encode()
        if method == "call":
            self.calls.append(request)
            return self.answer(request)
        return json.dumps({"id": request["id"]}).encode()

    def disconnected(self, session):
        pass

    def stop(self):
        self._membership.leave()
        self._server.stop()


@pytest.fixture
def scripted_sidecar(server):
    """Let a script answer in place of the supervised sidecar."""
    started = []

    def start(answer):
        started.append(Scripted(server.home / "run", answer))
        return started[-1]

    with server.sidecar_down():
        yield start
        for each in started:
            each.stop()
    server.await_sidecar()
