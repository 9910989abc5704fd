"""S14: nothing that a peer sends is ever unpickled."""

import ast
import base64
import os
import pickle
from pathlib import Path

import pytest
from fix_http import HttpClient
from fix_server import PROCEDURES
from fix_tls import client_context, connect_tls

from sidecypher.app import Sidecar
from sidecypher.calls.executors._pool_worker import Worker
from sidecypher.calls.executors.pool import Lease, ProcessWorkers
from sidecypher.calls.executors.pool_messages import Setup, Task
from sidecypher.errors import ProtocolError, RecordingError, WorkerLost
from sidecypher.host.credentials import load_credentials
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings
from sidecypher.loading.loader import load
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.call import no_transaction
from sidecypher.testing import replay, wire
from sidecypher.transport.memory import Client

ROOT = Path(__file__).parents[2]
FORGERY = """
import os, sys
from multiprocessing.connection import Connection
from sidecypher import Row, procedure
class Text(Row):
    value: str
@procedure("own.forge", executor="process")
def forge(answer: bytes) -> Text:
    Connection(os.dup(int(sys.argv[1]))).send_bytes(answer)
    return Text(value="answered")
"""


class Trap:
    """Whoever unpickles it makes a folder."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


@pytest.fixture(params=range(pickle.HIGHEST_PROTOCOL + 1))
def trap(request, tmp_path):
    """A pickle, in each of their forms, that shows when somebody loads it."""
    mark = tmp_path / "unpickled"
    text = pickle.dumps(Trap(mark), protocol=request.param)
    pickle.loads(text)
    mark.rmdir()
    yield text
    assert not mark.exists()


oldest_and_newest = pytest.mark.parametrize("trap", [0, pickle.HIGHEST_PROTOCOL], indirect=True)
"""For tests that start a process each."""


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory):
    """What a sidecar in this process announces of itself, and the tokens of its run folder."""
    home = tmp_path_factory.mktemp("home")
    running = Sidecar(load_settings({"home": home, "procedures": [PROCEDURES]}, {}))
    running.start()
    [found] = running_sidecars(home / "run")
    yield found, load_credentials(home / "run")
    running.stop()


@pytest.fixture
def line(sidecar):
    """A connection that has shown its token."""
    found, credentials = sidecar
    opened = wire.WireClient(wire.connect_unix(found.socket), credentials.token, no_transaction)
    assert opened.greeting == b"!yv\n"
    yield opened
    opened.close()


def is_closed(connection):
    """Whether the sidecar has nothing more to say; what it has not read makes that a reset."""
    try:
        return connection.recv(100) == b""
    except ConnectionResetError:
        return True


def test_a_pickle_for_a_greeting_ends_the_connection(sidecar, trap):
    """Before its token a peer can have nothing read but the token."""
    found, _ = sidecar
    with connect_tls(found.port, client_context()) as stranger:
        stranger.sendall(b"A\n" + trap + b"\n\n")

        assert is_closed(stranger)


def test_a_pickle_for_a_line_ends_the_connection(line, trap):
    """After its token too, whether it is a command or a part of one."""
    line.socket.sendall(trap + b"\n")

    assert line.reader.readline() == b"!xsprotocol error\n"
    assert is_closed(line.socket)


@pytest.mark.parametrize("method", ["hello", "call", "page", "close", "cancel", "failures"])
def test_a_pickle_for_an_envelope_ends_the_connection(line, trap, method):
    """No message is read as anything but JSON."""
    if method != "hello":
        Client(line.ask, {})

    with pytest.raises(ProtocolError):
        line.send(method, trap)
    assert is_closed(line.socket)


def test_a_pickle_for_an_argument_is_its_bytes(line, trap):
    """As a value it goes through a procedure and comes back."""
    signatures = {each.name: each.entry.signature for each in load([PROCEDURES]).registry}
    client = Client(line.ask, signatures)

    for value in (trap, trap.decode("latin-1"), {"pickle": [trap]}):
        for name in ("test.echoAny", "process.echo"):
            assert list(client.rows(name, value)) == [[value]]


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 400),
        ("application/octet-stream", 415),
        ("application/x-python-pickle", 415),
        ("application/python-pickle", 415),
    ],
)
def test_a_pickle_for_the_body_of_a_request_is_refused(sidecar, trap, kind, status):
    """HTTP takes JSON, whatever a request says that it sends."""
    found, credentials = sidecar
    client = HttpClient(found.http, credentials.http_token)

    answer = client.http.post("/v1/call/test.echoAny", content=trap, headers={"Content-Type": kind})

    client.close()
    assert answer.status_code == status


@oldest_and_newest
def test_a_pickle_for_a_message_ends_a_worker(trap):
    """What comes to a worker process is JSON too; anything else ends it."""
    worker = Worker(Setup([], None, 256, 1024, "CRITICAL", "json", traces=False), 0)
    worker.answer(Deadline.after(60.0))

    with pytest.raises(EOFError):
        worker.ask(trap, Deadline.after(30.0))

    assert worker.end(10.0) > 0


@oldest_and_newest
def test_a_pickle_for_the_answer_of_a_worker_is_none(tmp_path, trap):
    """What comes from a worker process is not trusted either: it runs an author's code."""
    (tmp_path / "own.py").write_text(FORGERY)
    found = load([tmp_path]).registry.get("own.forge")
    workers = ProcessWorkers(Setup([str(tmp_path)]), 1)
    task = Task(
        *("call-1", "procedure", "own.forge", found.entry.signature),
        *([{"$bytes": base64.b64encode(trap).decode()}], "", "", 30.0, ""),
    )

    with pytest.raises(WorkerLost, match="sent something that is not an answer"):
        workers.run("own.forge", task, Lease(), Deadline.after(30.0), [].extend)
    workers.stop()


def test_a_pickle_for_a_recording_is_none(tmp_path, trap):
    """A file that is not a recording of a call is refused by name."""
    (tmp_path / "call-1.json").write_bytes(trap)

    with pytest.raises(RecordingError, match=r"`call-1\.json` is not a recording"):
        replay(tmp_path / "call-1.json")


# What the code cannot do, because it does not have it

UNPICKLERS = {"pickle", "_pickle", "cPickle", "pickletools", "marshal", "shelve", "copyreg",
              "dill", "cloudpickle", "joblib", "jsonpickle", "dbm"}  # fmt: skip
PACKAGES = ("bridge/sidecypher", "plugin-build/sidecypher_plugin", "cypher/sidecypher_schema",
            "procedures/sidecypher_procedures")  # fmt: skip
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imported(tree):
    """Yield the first part of everything that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield str(node.module).partition(".")[0]


def test_no_module_of_the_product_can_unpickle():
    """Neither `pickle` nor anything like it is imported, and only bytes cross between processes."""
    assert len(MODULES) > 100
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = set(imported(tree))
        assert not found & UNPICKLERS, path
        if "multiprocessing" in found:
            # `send` and `recv` of its connections pickle; `send_bytes` and `recv_bytes` do not.
            used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
            assert not used & {"send", "recv", "Pool", "Queue", "Manager", "Pipe"}, path
