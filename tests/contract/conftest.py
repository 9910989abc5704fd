"""One suite, every transport: `rows` calls a procedure of tests/procedures over each of them."""

import math
from functools import partial
from pathlib import Path

import pytest
from fix_http import HttpClient
from fix_tls import client_context, connect_tls

from sidecypher.calls.dispatcher import Dispatcher
from sidecypher.calls.executors._pages import Pages
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.calls.executors.pool import ProcessWorkers
from sidecypher.calls.executors.pool_messages import Setup
from sidecypher.host.credentials import load_credentials
from sidecypher.host.limits import Limits
from sidecypher.loading.loader import load
from sidecypher.protocol import envelope
from sidecypher.protocol.envelope import RunReply
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import Telemetry
from sidecypher.testing import wire
from sidecypher.transport.http.api import HttpApi
from sidecypher.transport.http.server import HttpServer
from sidecypher.transport.listeners import TlsListener, UnixListener
from sidecypher.transport.memory import Client, memory
from sidecypher.transport.py4j import Py4JServer

PROCEDURES = Path(__file__).parents[1] / "procedures"
FAULTS = Path(__file__).parent / "procedures"

TLS = client_context()


class FakeTransaction:
    """Answers callbacks: `FAIL` fails, `COUNT` counts in pages, all else gives back parameters.

    `COUNT` takes `to`, the size of a `page`, and optionally where to `fail`.
    """

    def __init__(self):
        self.asked = []
        self.methods = []
        self.open = {}

    def __call__(self, method, request):
        self.methods.append(method)
        if method == "run":
            return self.run(request)
        rest = self.open.pop((request.id, request.cursor))
        return self.page(request, *rest) if method == "next" else RunReply()

    def run(self, asked):
        self.asked.append(asked)
        if asked.cypher == "FAIL":
            return _FAILURE
        if asked.cypher == "COUNT":
            return self.page(asked, 0, asked.params)
        return RunReply(["given", "one"], [[asked.params, 1]])

    def page(self, asked, start, params):
        end = min(start + params["page"], params["to"])
        if start <= params.get("fail", -1) < end:
            return _FAILURE
        more = end < params["to"]
        if more:
            self.open[asked.id, asked.cursor] = (end, params)
        rows = [[number, "x" * params.get("size", 0)] for number in range(start, end)]
        return RunReply(["n", "text"], rows, more)


_FAILURE = RunReply(
    error=envelope.RunError("Neo.ClientError.Statement.SyntaxError", "Invalid input")
)


class Stand:
    """A dispatcher over the test procedures, with all transports in front of it."""

    def __init__(self, folder):
        self.loaded = load([PROCEDURES, FAULTS])
        assert not self.loaded.failures
        self.telemetry = Telemetry()
        self.loop = EventLoop()
        self.resources = Resources()
        self.limits = Limits(message_bytes=2 * 1024 * 1024, handshake_seconds=3.0)
        setup = Setup(
            [str(PROCEDURES), str(FAULTS)],
            self.loaded.sources_for_workers,
            256,
            self.limits.message_bytes,
        )
        self.workers = ProcessWorkers(setup)
        self.dispatcher = Dispatcher(
            self.loaded.registry,
            self.loop,
            self.resources,
            self.telemetry,
            self.limits,
            workers=self.workers,
        )
        self.credentials = load_credentials(folder)
        self.tls, self.unix = TlsListener(0, self.credentials.tls), UnixListener(folder / "socket")
        self.server = self.serve(self.tls, self.unix, limits=self.limits)
        self.http = self.serve_http(calls=64)
        self.signatures = self._signatures("procedure")
        self.functions = self._signatures("function")
        self.lines = []

    def further(self, registry, limits=None, workers=None):
        """Make another dispatcher; return it and the signatures of its procedures."""
        dispatcher = Dispatcher(
            registry, self.loop, self.resources, Telemetry(), limits or Limits(), workers=workers
        )
        return dispatcher, {found.name: found.entry.signature for found in registry}

    def _signatures(self, kind):
        registry = self.loaded.registry
        return {found.name: found.entry.signature for found in registry if found.kind == kind}

    def serve_http(self, **settings):
        """Start a further HTTP server in front of the same dispatcher."""
        api = HttpApi(
            self.dispatcher,
            token=self.credentials.http_token,
            limits=self.limits,
            telemetry=self.telemetry,
            **{"calls": 16, "stall_seconds": 60.0, **settings},
        )
        server = HttpServer(api.routes(), 0, self.telemetry)
        server.start()
        return server

    def http_client(self, port=None, **settings):
        return HttpClient(port or self.http.port, self.credentials.http_token, **settings)

    def serve(self, *listeners, limits):
        """Start a server for JVMs in front of the dispatcher."""
        server = Py4JServer(
            self.dispatcher,
            listeners=listeners,
            token=self.credentials.token,
            limits=limits,
            telemetry=self.telemetry,
        )
        server.start()
        return server

    def reach(self, listener=None):
        """Connect to a listener, and say nothing yet."""
        listener = listener or self.unix
        return (
            wire.connect_unix(listener.path)
            if listener is self.unix
            else connect_tls(listener.port, TLS)
        )

    def line(self, call_back=None, listener=None):
        answer = call_back or wire.callback_handler(FakeTransaction())
        line = wire.WireClient(self.reach(listener), self.credentials.token, answer)
        self.lines.append(line)
        return line

    def state_of(self, name):
        """What the module of a procedure remembers."""
        return self.loaded.registry.get(name).function.__globals__["state"]

    def stop(self):
        for line in self.lines:
            line.close()
        self.server.stop()
        self.http.stop()
        self.workers.stop()
        self.loop.stop([self.resources.stop])


def pytest_collection_modifyitems(config, items):
    """Leave out what HTTP is not made for: each such test says why in its mark `not_over_http`."""
    left_out = {
        item
        for item in items
        if item.get_closest_marker("not_over_http")
        and getattr(item, "callspec", None)
        and "http" in item.callspec.params.values()
    }
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(autouse=True)
def _whole_pages(monkeypatch):
    """Pages end by their rows alone, so that the first has 16 however busy the machine is."""
    monkeypatch.setattr(
        "sidecypher.calls.executors.execution.Pages", partial(Pages, flush_seconds=math.inf)
    )


@pytest.fixture(scope="session")
def stand(tmp_path_factory):
    made = Stand(tmp_path_factory.mktemp("run"))
    yield made
    made.stop()


@pytest.fixture(params=["unix", "tls"])
def listener(request, stand):
    """Each way on which a JVM comes."""
    return getattr(stand, request.param)


@pytest.fixture
def dial():
    """Connect to a port and shake hands, and say nothing yet."""
    return partial(connect_tls, context=TLS)


@pytest.fixture
def transaction():
    return FakeTransaction()


@pytest.fixture(params=["memory", "py4j", "http"])
def client(request, stand, transaction):
    """A caller over one of the transports."""
    if request.param == "http":
        over_http = stand.http_client()
        yield over_http
        over_http.close()
        return
    line = stand.line(wire.callback_handler(transaction)) if request.param == "py4j" else None
    send = line.ask if line else memory(stand.dispatcher, transaction)
    yield Client(send, stand.signatures, functions=stand.functions)
    if line:
        line.close()


@pytest.fixture
def rows(client):
    """Call a procedure and return all its rows."""
    return lambda name, *arguments: list(client.rows(name, *arguments))
