"""One real Neo4j and one real sidecar for the whole run, started by `sidecypher up`.

With `SIDECYPHER_TEST_BACKEND=docker` they are the containers of docker/compose.yml instead, and
with `SIDECYPHER_TEST_NEO4J_URI` what runs there, for the tests that need no more of a server than
`driver` or `session`.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import neo4j
import psutil
import pytest
from fix_external import URI
from fix_forked import run_command
from fix_home import PLUGIN, fill, keep_plugin
from fix_waiting import wait_until
from fix_webhooks import SECRET
from recorded import Recordings

from sidecypher.cli.demo.replay import serving
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.runtime.process.state import read_state
from sidecypher_schema import migrate

PROCEDURES = Path(__file__).parent / "procedures"
DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES = DOCS / "examples"


class Server:
    """An installation that is up."""

    def __init__(self, home, environ, facts):
        self.home = home
        self.environ = environ
        self.facts = facts
        self.password = Path(facts["password_file"]).read_text().strip()

    def command(self, *arguments, text_in=None, **environ):
        """Run the command line on this home."""
        return run_command(self.environ | environ, *arguments, text_in=text_in)

    def driver(self, *, port=None, **options):
        """Return a driver; it connects to Neo4j itself, or to a port in front of it."""
        uri = self.facts["bolt"] if port is None else f"bolt://127.0.0.1:{port}"
        return neo4j.GraphDatabase.driver(uri, auth=("neo4j", self.password), **options)

    def process(self, name):
        return psutil.Process(self._state(name).pid)

    def _state(self, name):
        return next(each for each in read_state(self.home).processes if each.name == name)

    def log_files(self, name="*.log"):
        folders = (self.home / "logs", self.home / "neo4j" / "logs")
        return [path for folder in folders for path in folder.glob(name)]

    def logs(self):
        return "\n".join(path.read_text(errors="replace") for path in self.log_files())

    @property
    def token(self):
        return (self.home / "run" / "token").read_text().strip()

    @property
    def secrets(self):
        """What must be in no output."""
        return self.token, (self.home / "run" / "http-token").read_text().strip(), self.password

    @property
    def sidecar(self):
        """What the supervised sidecar tells of itself; None while it does not run."""
        pid = self._state("sidecar").pid
        found = running_sidecars(self.home / "run")
        return next((each for each in found if each.pid == pid), None)

    @contextlib.contextmanager
    def sidecar_down(self):
        """Kill the sidecar and keep it down while the block runs; it is back afterwards."""
        supervisor = psutil.Process(read_state(self.home).pid)
        supervisor.suspend()
        try:
            port = self.sidecar.port
            self.process("sidecar").kill()
            # Threads of a killed process may hold its sockets for a moment, and the plugin may not
            # have noticed yet.
            wait_until(lambda: not _listens(port) and not self._is_connected(port))
            yield
        finally:
            supervisor.resume()
            self.await_sidecar()

    def kill_sidecar(self):
        """Kill the supervised sidecar, and wait until it is gone: a dying one still listens."""
        sidecar = self.process("sidecar")
        sidecar.kill()
        sidecar.wait(30)

    def await_sidecar(self):
        """Wait until a sidecar that a test has killed is replaced."""
        wait_until(self._sidecar_serves)

    def await_successor(self, pid):
        """Wait until another process than this one is the supervised sidecar; return its id."""

        def successor():
            found = self.sidecar
            return found if found is not None and found.pid != pid else None

        return wait_until(successor).pid

    def _is_connected(self, port):
        found = self.process("neo4j").net_connections("tcp")
        return any(each.raddr and each.raddr.port == port for each in found)

    def _sidecar_serves(self):
        found = self.sidecar
        return self._state("sidecar").alive and found is not None and _listens(found.port)


def _listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionError:
        # Refused, or reset by a listener that is just being closed.
        return False
    return True


@pytest.fixture(scope="session")
def github(payloads):
    """A GitHub that answers with recorded data."""
    with serving(Recordings.load(payloads)) as replay:
        yield replay


@pytest.fixture(scope="session")
def server(request):
    """Neo4j and sidecar, with the procedures of tests and examples beside the shipped ones."""
    otherwise = "external" if URI in os.environ else "embedded"
    backend = os.environ.get("SIDECYPHER_TEST_BACKEND", otherwise)
    return request.getfixturevalue(f"{backend}_server")


@pytest.fixture(scope="session")
def code_root(tmp_path_factory):
    """The folder whose repositories `code.index` may read."""
    return tmp_path_factory.mktemp("code")


@pytest.fixture
def shop(code_root):
    """The repository of the pages, below the folder that may be read."""
    folder = shutil.copytree(DOCS / "shop", code_root / "shop")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory, github, outside_server, code_root):
    """What `sidecypher up` starts, with a stand-in for GitHub and one for what sessions call."""
    environ = {
        "SIDECYPHER_GITHUB_BASE_URL": github.url,
        "SIDECYPHER_GITHUB_WEBHOOK_SECRET": SECRET,
        "SIDECYPHER_GITHUB_WEBHOOK_NODES": "true",
        # The second is not a type that a run can have.
        "SIDECYPHER_GITHUB_WEBHOOK_RUNS": f"issues.labeled=triage,test_event={201 * 'x'}",
        "SIDECYPHER_GITHUB_WEBHOOK_APPENDS": "test_said=triage",
        # No event that GitHub sends, so that other tests define no workflow.
        "SIDECYPHER_GITHUB_WEBHOOK_SESSIONS": "test_opened=triage",
        "SIDECYPHER_GITHUB_WEBHOOK_ANSWERS": "test_commented=triage",
        "SIDECYPHER_CODE_ROOTS": str(code_root),
        "SIDECYPHER_CODE_EMBEDDINGS_URL": f"{outside_server.url}/v1",
        "SIDECYPHER_CODE_EMBEDDINGS_MODEL": "small",
        "SIDECYPHER_CODE_EMBEDDINGS_KEY": "key-of-tests",
        "SIDECYPHER_RUNS_ARCHIVE_DIR": str(tmp_path_factory.mktemp("archives")),
        "SIDECYPHER_SESSION_API_HOSTS": outside_server.host,
        "SIDECYPHER_SESSION_GENERATE_URL": f"{outside_server.url}/v1",
        "SIDECYPHER_SESSION_GENERATE_MODEL": "small",
        "SIDECYPHER_SESSION_GENERATE_KEY": "key-of-tests",
    }
    home = tmp_path_factory.mktemp("home")
    source = fill(home, up)
    with up(home, **environ) as server:
        keep_plugin(home, source)
        yield server


@pytest.fixture(scope="session")
def current_server(tmp_path_factory, current_java):
    """The same on the current lane's Neo4j, without the stand-in for GitHub."""
    home = tmp_path_factory.mktemp("current")
    fill(home, up, PLUGIN)
    with up(home, "--lane", "current", JAVA_HOME=str(current_java.home)) as server:
        yield server


@contextlib.contextmanager
def up(home, *options, **environ):
    environ = {
        **os.environ,
        "SIDECYPHER_HOME": str(home),
        "SIDECYPHER_PROCEDURES": f"{PROCEDURES},{EXAMPLES / 'procedures'}",
        "SIDECYPHER_LOG_LEVEL": "DEBUG",
        # Small enough to be filled by a test.
        "SIDECYPHER_QUEUE_LIMIT": "100",
        "SIDECYPHER_AVAILABILITY": "test.off=OFF",
        "SIDECYPHER_TRACE_CONTEXT": "true",
        **environ,
    }
    # Its own start tells as much as that of a throw-away server before it.
    up = [sys.executable, "-m", "sidecypher", "up", "--json", "--no-check", *options]
    try:
        done = subprocess.run(up, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        yield Server(home, environ, json.loads(done.stdout))
    finally:
        down = [sys.executable, "-m", "sidecypher", "down"]
        subprocess.run(down, env=environ, capture_output=True, check=True)


@pytest.fixture(scope="session")
def driver(server):
    """A driver of the shared server, with the schema applied."""
    with server.driver() as driver:
        migrate(driver)
        yield driver


@pytest.fixture
def session(server, driver):
    """A session on an empty graph, with a sidecar that serves."""
    server.await_sidecar()
    with driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        yield session
