"""Ctrl-C while `up` is at work: it ends with 130, and leaves no process and nothing half-made."""

import contextlib
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from fix_modules import good, write
from fix_running import Running
from fix_waiting import wait_until

from sidecypher.runtime.process.state import read_state


class Up(Running):
    """`up`, with the processes below it."""

    def __init__(self, environ, *options):
        super().__init__(environ, "up", *options)

    def started(self, word):
        """Wait until there is a process below it with such a word in its command line."""
        return wait_until(lambda: [each for each in self._below() if _is(each, word)], 120)

    def interrupt(self):
        """Press Ctrl-C; return the exit code, and what still runs of it."""
        below = self._below()
        code = self.end()
        _, alive = psutil.wait_procs(below, timeout=30)
        return code, alive

    def _below(self):
        with contextlib.suppress(psutil.NoSuchProcess):
            return psutil.Process(self.process.pid).children(recursive=True)
        return []


def _is(process, wanted):
    with contextlib.suppress(psutil.Error):
        return any(wanted in word for word in process.cmdline())
    return False


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def environ(tmp_path, clean_environment, home):
    write(tmp_path / "my", "word.py", good("kg.word"))
    return {
        **clean_environment,
        "SIDECYPHER_HOME": str(home),
        "SIDECYPHER_PROCEDURES": str(tmp_path / "my"),
    }


@pytest.fixture
def start(environ):
    """Start `up` with these options and variables; what a failed test leaves of it is ended."""
    made = []

    def start(*options, **variables):
        made.append(Up({**environ, **variables}, *options))
        return made[-1]

    yield start
    for up in made:
        if up.process.returncode is None:
            up.end()


def assert_clean(home, up):
    """Ctrl-C ends it without a word, and nothing is left of it."""
    before = up.text()
    code, alive = up.interrupt()

    assert (code, up.text(), alive) == (130, before, [])
    plugins = home / "neo4j" / "plugins"
    drafts = [path.name for path in plugins.glob(".*")] if plugins.is_dir() else []
    assert drafts == []


class _Slow(BaseHTTPRequestHandler):
    """A mirror that sends each jar a byte at a time, and never comes to its end."""

    begun = threading.Event()

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(10**9))
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b".")
                self.begun.set()

    def log_message(self, *_arguments):
        pass


@pytest.mark.slow
def test_while_jars_are_fetched(tmp_path, start, home):
    """Jars that were begun hold nobody up, and none of them has its name."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Slow) as mirror:
        thread = threading.Thread(target=mirror.serve_forever, daemon=True)
        thread.start()
        up = start(
            SIDECYPHER_MAVEN_URL=f"http://127.0.0.1:{mirror.server_port}/",
            SIDECYPHER_CACHE_DIR=str(tmp_path / "cache"),
        )
        assert _Slow.begun.wait(120)

        assert_clean(home, up)
        mirror.shutdown()
        thread.join(30)

    assert list((tmp_path / "cache").rglob("*.jar")) == []


@pytest.mark.slow
def test_while_the_plugin_is_compiled(tmp_path, start, home, installation, javac):
    """The compiler is ended too, and no plugin is there."""
    jdk = tmp_path / "jdk/bin"
    jdk.mkdir(parents=True)
    (jdk / "java").symlink_to(javac.with_name("java"))
    (jdk / "javac").write_text(
        f'#!/bin/sh\ncase "$*" in *-version*) exec {javac} -version;; esac\nexec sleep 1000\n'
    )
    (jdk / "javac").chmod(0o755)
    up = start(JAVA_HOME=str(tmp_path / "jdk"))
    up.started("1000")

    assert_clean(home, up)
    assert not (home / "neo4j/plugins/sidecypher.jar").exists()


@pytest.mark.slow
def test_while_the_plugin_is_tried(start, home, installation):
    """The temporary Neo4j is ended too, its folder is gone, and no plugin is there."""
    up = start()
    up.printed("Starting a temporary Neo4j")
    [server] = up.started("--home-dir=")
    option = "--home-dir="
    [folder] = [Path(word[len(option) :]) for word in server.cmdline() if word.startswith(option)]

    assert_clean(home, up)
    assert not (home / "neo4j/plugins/sidecypher.jar").exists()
    assert not folder.exists()


@pytest.mark.slow
def test_while_the_processes_start(start, environ, home, installation):
    """Supervisor, sidecar and Neo4j are ended; a second `up` meanwhile is told to wait."""
    up = start("--no-check")
    up.started("--home-dir=")
    second = subprocess.run(
        [sys.executable, "-m", "sidecypher", "up"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert_clean(home, up)
    assert (second.returncode, second.stdout) == (1, "")
    assert "error: Another `up` or `down` is using this home [SC-307]" in second.stderr
    state = read_state(home)
    assert not state.alive
    assert not state.orphans
    assert list((home / "run").glob("sidecar.json")) == []
