"""F37, F38 and F41: what the supervisor does on a full disk, at the end, and with what hangs."""

import contextlib
import json
import subprocess
import sys
import threading
import time

import psutil
import pytest
from fix_evidence import Caller
from fix_server import up
from fix_waiting import is_served, promised, wait_until

from sidecypher.host.rendezvous import running_sidecars
from sidecypher.runtime.process.state import read_state

# `tests/integration/runtime/test_supervisor.py` has the same rules on processes that start quickly.
pytestmark = pytest.mark.deep

DISK = 512 * 2**20
HANG_SECONDS = 5.0


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A disk that is small enough to be filled."""
    folder = tmp_path_factory.mktemp("disk")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextlib.contextmanager
def full(disk):
    """Fill the disk to its last byte; there is room again afterwards."""
    filler = disk / "filler"
    try:
        with filler.open("wb", buffering=0) as file:
            for size in (2**20, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"\0" * size):
                        pass
        yield
    finally:
        filler.unlink()


@pytest.fixture(scope="module")
def installation_on_disk(disk):
    """An installation of two sidecars, on a disk of its own."""
    given = {"SIDECARS": "2", "SHUTDOWN_SECONDS": "60", "HANG_SECONDS": str(HANG_SECONDS)}
    with up(disk / "home", **{f"SIDECYPHER_{name}": each for name, each in given.items()}) as found:
        yield found


@pytest.fixture(name="own")
def running_installation(installation_on_disk):
    """The same, running: an earlier test may have stopped it."""
    done = installation_on_disk.command("up", "--json", "--no-check")
    assert done.returncode == 0, done.stderr
    return installation_on_disk


def processes(server):
    """Return what the supervisor keeps, by name."""
    return {each.name: psutil.Process(each.pid) for each in read_state(server.home).processes}


def runs(process):
    """Tell whether a process has not ended; nobody may have collected it yet."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def announced(server):
    return {each.pid for each in running_sidecars(server.home / "run")}


def told(server, sidecars):
    """Return what `status` prints, once it knows these processes of sidecars."""
    facts = json.loads(server.command("status", "--json").stdout)
    known = {facts["processes"][name]["pid"] for name in ("sidecar", "sidecar-2")}
    return facts if facts["ready"] and known == sidecars else None


def echoes(driver):
    return is_served(
        lambda: driver.execute_query("CALL test.echo('x') YIELD value").records[0]["value"] == "x"
    )


@pytest.mark.parametrize("name", ["sidecar", "neo4j"])
def test_what_is_frozen_is_replaced(own, name):
    """SIGSTOP: a sidecar or Neo4j that answers nothing is replaced, and calls work again."""
    before = processes(own)
    before[name].suspend()
    began = time.monotonic()

    wait_until(lambda: not runs(before[name]), 60)
    # Seven questions, each of which may take 2 s.
    assert HANG_SECONDS <= time.monotonic() - began < promised(20)

    wait_until(lambda: is_back(own, name, before[name]), 180)
    with own.driver() as driver:
        wait_until(lambda: echoes(driver))
    others = before.keys() - {name}
    assert {each: processes(own)[each] for each in others} == {
        each: before[each] for each in others
    }


def is_back(server, name, before):
    found = next(each for each in read_state(server.home).processes if each.name == name)
    return found.status == "ready" and found.pid != before.pid


def test_sidecars_come_back_on_a_full_disk(own, disk):
    """Killed sidecars come back, Neo4j goes on, and `status` is right as soon as there is room."""
    before = processes(own)
    supervisor = psutil.Process(read_state(own.home).pid)

    with own.driver() as driver, full(disk):
        for name in ("sidecar", "sidecar-2"):
            before[name].kill()
        wait_until(
            lambda: (
                announced(own)
                and not announced(own) & {before[name].pid for name in ("sidecar", "sidecar-2")}
            )
        )
        wait_until(lambda: echoes(driver))
        assert supervisor.is_running()
        assert before["neo4j"].is_running()

    wait_until(lambda: len(announced(own)) == 2, 60)
    facts = wait_until(lambda: told(own, announced(own)))
    assert facts["processes"]["neo4j"]["restarts"] == 0
    assert processes(own)["neo4j"] == before["neo4j"]


def test_down_works_on_a_full_disk(own, disk):
    """Everything ends, also what was started while its pid could not be written down."""
    before = processes(own)
    supervisor = psutil.Process(read_state(own.home).pid)

    with full(disk):
        before["sidecar"].kill()
        others = {before["sidecar-2"].pid}
        wait_until(lambda: announced(own) == others)
        again = [
            child
            for child in supervisor.children()
            if child.pid not in {each.pid for each in before.values()}
        ]
        done = own.command("down")

    assert done.returncode == 0, done.stderr
    left = [each for each in (supervisor, *before.values(), *again) if runs(each)]
    assert left == []


def test_neo4j_is_stopped_after_the_sidecars(own, tmp_path):
    """`down`: a call in flight gets its rows, and Neo4j goes on until both sidecars have ended."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    ended = {}

    def watch(name, process):
        process.wait(120)
        ended[name] = time.monotonic()

    watchers = [threading.Thread(target=watch, args=each) for each in processes(own).items()]
    for watcher in watchers:
        watcher.start()
    with own.driver() as driver:
        wait_until(lambda: echoes(driver))
        call = "CALL process.await($begun, $go)"
        caller = Caller(driver, call, {"begun": str(begun), "go": str(go)})
        wait_until(begun.exists)
        down = subprocess.Popen([sys.executable, "-m", "sidecypher", "down"], env=own.environ)
        wait_until(lambda: not announced(own))
        go.touch()
        caller.join(30)
    assert down.wait(120) == 0
    for watcher in watchers:
        watcher.join(120)

    assert caller.error is None
    assert len(caller.rows) == 1
    assert max(ended["sidecar"], ended["sidecar-2"]) < ended["neo4j"]
