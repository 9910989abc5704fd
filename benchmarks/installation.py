"""One Neo4j, one sidecar and one bare sidecar in a temporary folder."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import httpx
import neo4j
import psutil

from benchmarks.plugin import build_jar
from sidecypher.cli.prepare import fetch_jars
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings
from sidecypher.runtime.process.restart import restart_process
from sidecypher.runtime.process.state import read_state

_HERE = Path(__file__).parent
_KEPT = ("SIDECYPHER_CACHE_DIR", "SIDECYPHER_MAVEN_URL")
_IDLE_SECONDS = 1.0

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Load:
    """Results of concurrent callers; times in seconds."""

    calls: int
    seconds: float
    p50: float
    p99: float

    @property
    def rate(self) -> float:
        """Calls per second."""
        return self.calls / self.seconds


@dataclass(frozen=True)
class Split:
    """Times of a statement, in seconds.

    Attributes:
        elapsed: Elapsed time.
        jvm: CPU time of the caller's thread in the JVM.
        python: CPU time of the sidecar.
    """

    elapsed: float
    jvm: float
    python: float


@dataclass(frozen=True)
class Start:
    """Time and memory of one start of a sidecar.

    Attributes:
        seconds: Time from the start of its process until `/readyz` reports ready.
        idle_bytes: Its resident memory without calls.
    """

    seconds: float
    idle_bytes: int


class Installation:
    """A running installation.

    Attributes:
        home: Its folder.
        environ: Environment variables of its processes.
        driver: Driver of its Neo4j.
    """

    def __init__(self, home: Path, environ: dict[str, str], driver: neo4j.Driver) -> None:
        self.home = home
        self.environ = environ
        self.driver = driver

    def rows(self, query: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Run a statement and return its records."""
        with self.driver.session() as session:
            return session.run(query, parameters).data()

    def seconds(self, query: str, repeats: int = 1, /, **parameters: Any) -> list[float]:
        """Return the seconds of each run of a statement inside the server."""
        found = self.rows(
            "CALL bench.time($query, $parameters, $repeats) YIELD nanos",
            query=query,
            parameters=parameters,
            repeats=repeats,
        )
        return [row["nanos"] / 1e9 for row in found]

    def split(self, query: str, /, **parameters: Any) -> Split:
        """Return the elapsed time of a statement, and the CPU time of each process."""
        sidecar = psutil.Process(self.sidecar_pid())
        before = sidecar.cpu_times()
        (found,) = self.rows(
            "CALL bench.time($query, $parameters, 1) YIELD nanos, cpu",
            query=query,
            parameters=parameters,
        )
        after = sidecar.cpu_times()
        worked = after.user + after.system - before.user - before.system
        return Split(found["nanos"] / 1e9, found["cpu"] / 1e9, worked)

    def load(self, query: str, *, callers: int, seconds: float = 50.0, calls: int = 2**40) -> Load:
        """Run concurrent callers inside the server that read rows of a statement."""
        (found,) = self.rows(
            "CALL bench.load($query, $callers, $calls, $millis)",
            query=query,
            callers=callers,
            calls=calls,
            millis=int(seconds * 1000),
        )
        return Load(found["calls"], found["nanos"] / 1e9, found["p50"] / 1e9, found["p99"] / 1e9)

    def command(self, *arguments: str) -> dict[str, Any]:
        """Run the command line on this installation; return its JSON output."""
        return _command(self.environ, *arguments)

    def restart_sidecar(self) -> None:
        """Stop the sidecar and wait until the supervisor has started another one."""
        restart_process(self.home, "sidecar")

    def sidecar_pid(self) -> int:
        """Return the process id of the sidecar that the plugin calls."""
        return int(self.process("sidecar").pid)

    def process(self, name: str) -> psutil.Process:
        """Return a process of the supervisor: `neo4j` or `sidecar`."""
        processes = read_state(self.home).processes
        return psutil.Process(next(each.pid for each in processes if each.name == name))

    def serve(self, **variables: str) -> "subprocess.Popen[bytes]":
        """Start a further sidecar, which the plugin calls too."""
        run = {"SIDECYPHER_RUN_DIR": str(self.home / "run")}
        command = [sys.executable, "-m", "sidecypher", "serve"]
        return subprocess.Popen(command, env=self.environ | run | variables, **_DETACHED)

    def start_another_sidecar(self) -> Start:
        """Start another sidecar, without a plugin, and stop it."""
        home = self.home.parent / "another"
        command = [sys.executable, "-m", "sidecypher", "serve", "--home", str(home)]
        begun = time.monotonic()
        with ended(subprocess.Popen(command, env=self.environ, **_DETACHED)) as process:
            port = wait_until(lambda: _http_port(home / "run", process.pid))
            url = f"http://127.0.0.1:{port}/readyz"
            wait_until(lambda: httpx.get(url, trust_env=False).is_success)
            seconds = time.monotonic() - begun
            time.sleep(_IDLE_SECONDS)
            return Start(seconds, psutil.Process(process.pid).memory_info().rss)


_DETACHED: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.DEVNULL,
    "stderr": subprocess.DEVNULL,
    # Ctrl-C is for this process alone: it stops the others in their order.
    "start_new_session": True,
}


@contextmanager
def installed(neo4j_settings: str = "", **variables: str) -> Iterator[Installation]:
    """Start everything; when the block ends, also by Ctrl-C, stop and remove everything.

    Args:
        neo4j_settings: Lines for `own.conf`.
        **variables: Environment variables in addition to those of every installation here.
    """
    with TemporaryDirectory(prefix="sidecypher-bench-") as folder, _bare_sidecar() as bare_port:
        home = Path(folder, "home")
        environ = _environ(home) | variables
        plugins = home / "neo4j" / "plugins"
        plugins.mkdir(parents=True)
        conf = home / "neo4j" / "conf"
        conf.mkdir()
        (conf / "own.conf").write_text(neo4j_settings, encoding="utf-8")
        build_jar(fetch_jars(load_settings({}, environ)), plugins / "bench.jar")
        try:
            facts = _command(environ, "up", "--json", "--no-check")
            password = Path(facts["password_file"]).read_text(encoding="utf-8").strip()
            with neo4j.GraphDatabase.driver(facts["bolt"], auth=("neo4j", password)) as driver:
                installation = Installation(home, environ, driver)
                installation.rows("CALL bench.bareConnect($port)", port=bare_port)
                yield installation
        finally:
            with undisturbed():
                _take_down(environ)


def _take_down(environ: dict[str, str]) -> None:
    try:
        _command(environ, "down")
    except SystemExit as failure:
        # Not raised: an earlier error is more important.
        print(failure, file=sys.stderr)


@contextmanager
def _bare_sidecar() -> Iterator[int]:
    command = [sys.executable, str(_HERE / "bare_sidecar.py")]
    pipes = _DETACHED | {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with ended(subprocess.Popen(command, text=True, **pipes)) as process:
        yield int(process.stdout.readline())


@contextmanager
def ended(process: subprocess.Popen, grace: float = 30.0) -> Iterator[subprocess.Popen]:
    """Terminate a process when the block ends; kill it if it does not end in time."""
    try:
        yield process
    finally:
        with undisturbed():
            process.terminate()
            try:
                process.communicate(timeout=grace)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore a second Ctrl-C, so that no process is left behind."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_until(condition: Callable[[], _Value], seconds: float = 30.0) -> _Value:
    """Check the condition every 2 ms until it holds; return its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise SystemExit("error: a sidecar did not start")
        time.sleep(0.002)
    return value


def _environ(home: Path) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("SIDECYPHER_") or name in _KEPT
    }
    procedures = str(_HERE / "procedures")
    return kept | {"SIDECYPHER_HOME": str(home), "SIDECYPHER_PROCEDURES": procedures}


def _command(environ: dict[str, str], *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher", *arguments],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        start_new_session=True,
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"`sidecypher {arguments[0]}` failed:\n{done.stderr}")
    return json.loads(done.stdout) if "--json" in arguments else {}


def _http_port(run_folder: Path, pid: int) -> int:
    return next((each.http for each in running_sidecars(run_folder) if each.pid == pid), 0)
