import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from fix_waiting import promised, wait_until

from sidecypher.runtime.errors import AlreadyRunning, NotRunning, RuntimeFailure, ServerFailed
from sidecypher.runtime.process import restart
from sidecypher.runtime.process._child import Backoff
from sidecypher.runtime.process.detached import launch_supervisor
from sidecypher.runtime.process.restart import restart_process
from sidecypher.runtime.process.spec import end_processes
from sidecypher.runtime.process.state import (
    State,
    find_process,
    read_state,
    start_of,
    state_file,
    write_state,
)
from sidecypher.runtime.process.stop import stop

SUPERVISOR = """
    import functools, json, os, sys
    from pathlib import Path
    from sidecypher.runtime.process._child import Backoff
    from sidecypher.runtime.errors import PortInUse
    from sidecypher.runtime.process.spec import ProcessSpec
    from sidecypher.runtime.process.supervisor import Supervisor
    from sidecypher.telemetry.calls import configure_logging

    configure_logging("INFO", "json")
    home = Path(sys.argv[1])

    def names(file, pid):
        return file.exists() and json.loads(file.read_text())["pid"] == pid

    def answers(name, pid):
        with (home / "asked").open("a") as asked:
            asked.write(name + " ")
        return not (home / ("mute " + name)).exists()

    def plan():
        for child in json.loads(sys.argv[2]):
            ready = home / (child["name"] + ".json")
            yield ProcessSpec(
                name=child["name"],
                argv=(sys.executable, "-c", child["code"], str(home), str(ready)),
                env=dict(os.environ),
                log_file=home / "logs" / (child["name"] + ".log"),
                restart=child["restart"],
                ready=functools.partial(names, ready),
                ready_timeout=child.get("ready_timeout", 20),
                answers=functools.partial(answers, child["name"]),
                hang_seconds=child.get("hang_seconds", 0),
                stop_grace=child.get("stop_grace", 5),
                stops_last=child.get("stops_last", False),
            )
        if sys.argv[3:]:
            raise PortInUse("Port 1 for Bolt is in use.", details={"port": 1})

    Supervisor(home, plan, backoff=Backoff(first=0.05)).run()
    """

# A child says that it is ready, and when it is told to stop; both with its own name.
CHILD = """
import json, os, pathlib, signal, sys, time
home, ready = map(pathlib.Path, sys.argv[1:])
def end(*_):
    with (home / "order").open("a") as order:
        order.write(ready.stem + " ")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
{before}
fresh = ready.with_suffix(".new")
fresh.write_text(json.dumps({{"pid": os.getpid()}}))
fresh.replace(ready)
print("ready", flush=True)
while True:
    signal.pause()
"""


def child(name, *, restart=True, before="", **more):
    return {"name": name, "restart": restart, "code": CHILD.format(before=before), **more}


def command(home, *children, fails=False):
    code = textwrap.dedent(SUPERVISOR)
    return [sys.executable, "-c", code, str(home), json.dumps(children), *(["fails"] * fails)]


@pytest.fixture(name="home")
def home_that_is_stopped(tmp_path):
    yield tmp_path
    stop(tmp_path)


def launch(home, *children, **more):
    return launch_supervisor(home, command(home, *children, **more), dict(os.environ), timeout=30)


def one(home, name):
    return next(entry for entry in read_state(home).processes if entry.name == name)


def test_launching_returns_when_all_are_ready(home):
    """A launch waits until every process is ready, and the state tells pid and status of each."""
    state = launch(home, child("first"), child("second"))

    assert [entry.name for entry in state.processes] == ["first", "second"]
    assert {entry.status for entry in state.processes} == {"ready"}
    assert state.alive
    assert all(entry.alive for entry in state.processes)


def test_processes_start_together(home):
    """None waits until another is ready: each of these is ready only after both have begun."""
    meet = """
pathlib.Path(home / ("begun " + ready.stem)).touch()
while len(list(home.glob("begun *"))) < 2:
    time.sleep(0.01)
"""
    state = launch(home, child("first", before=meet), child("second", before=meet))

    assert {entry.status for entry in state.processes} == {"ready"}


def test_the_state_is_for_its_owner_only(home):
    """The state file has mode 0600 in a folder of mode 0700."""
    launch(home, child("first"))

    assert stat.S_IMODE(state_file(home).stat().st_mode) == 0o600
    assert stat.S_IMODE(state_file(home).parent.stat().st_mode) == 0o700


def test_what_others_use_is_stopped_last(home):
    """Every other process has ended before its SIGTERM, and nothing is left."""
    slow = "end_now = end\ndef end(*a): time.sleep(0.2); end_now(*a)\n"
    slow += "signal.signal(signal.SIGTERM, end)"
    state = launch(home, child("base", stops_last=True), child("user", before=slow))

    assert stop(home)
    assert (home / "order").read_text().split() == ["user", "base"]
    assert not any(psutil.pid_exists(entry.pid) for entry in state.processes)
    assert read_state(home).status == "stopped"
    assert not read_state(home).alive


def test_processes_stop_together(home):
    """All have their grace at the same time: each of these ends only after both were told to."""
    meet = """
def end(*_):
    (home / ("told " + ready.stem)).touch()
    while len(list(home.glob("told *"))) < 2:
        time.sleep(0.01)
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
"""
    names = ("first", "second")
    launch(home, *(child(name, before=meet, stop_grace=60) for name in names))

    began = time.monotonic()
    assert stop(home)
    assert time.monotonic() - began < promised(20)


def test_the_supervisor_has_the_time_that_its_processes_have(home, monkeypatch):
    """`stop` waits for as long as both groups may take, one after the other."""
    graces = []

    def recorded(processes, **more):
        graces.extend(processes.values())
        end_processes(processes, **more)

    monkeypatch.setattr("sidecypher.runtime.process.stop.end_processes", recorded)
    launch(home, *(child(name, stop_grace=300) for name in "ab"), child("c", stops_last=True))

    assert stop(home)
    [grace] = graces
    assert 305 < grace < 605


def test_a_process_in_its_grace_gets_no_second_sigterm(home):
    """Nor does the death of its supervisor, killed while all of it stops, cut the grace."""
    told_once = """
def end(*_):
    with (home / "told").open("a") as told:
        told.write("once ")
    while not (home / "go").exists():
        time.sleep(0.01)
    (home / "ended").touch()
    os._exit(0)
signal.signal(signal.SIGTERM, end)
"""
    state = launch(home, child("patient", before=told_once, stop_grace=120))
    os.kill(state.pid, signal.SIGTERM)
    wait_until((home / "told").exists)
    os.kill(state.pid, signal.SIGKILL)
    wait_until(lambda: not read_state(home).alive)

    with ThreadPoolExecutor() as pool:
        stopping = pool.submit(stop, home)
        (home / "go").touch()
        assert stopping.result(promised(20))

    assert (home / "told").read_text().split() == ["once"]
    assert (home / "ended").exists()


def test_a_disk_that_is_full_ends_nothing(home):
    """A dead process comes back once there is room, no other one ends, and the state is right."""
    state = launch(home, child("fragile"), child("steady", restart=False))
    fragile, steady = state.processes
    supervisor = psutil.Process(state.pid)
    limits = supervisor.rlimit(psutil.RLIMIT_FSIZE)
    supervisor.rlimit(psutil.RLIMIT_FSIZE, (0, limits[1]))

    os.kill(fragile.pid, signal.SIGKILL)
    # It is started, and ends since it cannot write either, again and again.
    tried = set()
    wait_until(lambda: tried.update(each.pid for each in supervisor.children()) or len(tried) > 3)
    assert one(home, "fragile") == fragile
    supervisor.rlimit(psutil.RLIMIT_FSIZE, limits)

    again = wait_until(
        lambda: (now := one(home, "fragile")).status == "ready" and now.pid != fragile.pid and now
    )
    assert again.restarts > 1
    assert one(home, "steady") == steady
    assert steady.alive


def test_down_works_on_a_full_disk(home):
    """A supervisor that cannot write down that it stops, stops everything all the same."""
    state = launch(home, child("first"), child("second", stops_last=True))
    supervisor = psutil.Process(state.pid)
    supervisor.rlimit(psutil.RLIMIT_FSIZE, (0, supervisor.rlimit(psutil.RLIMIT_FSIZE)[1]))

    assert stop(home)

    assert not read_state(home).alive
    assert not any(entry.alive for entry in state.processes)


def test_stopping_twice_finds_nothing_the_second_time(home):
    """Stop tells whether anything ran."""
    launch(home, child("first"))

    assert stop(home)
    assert not stop(home)


def test_a_dead_process_comes_back(home):
    """A killed process with restart is started again, and the others are left alone."""
    state = launch(home, child("steady", restart=False), child("fragile"))
    steady, fragile = state.processes

    os.kill(fragile.pid, signal.SIGKILL)

    wait_until(lambda: one(home, "fragile").restarts == 1)
    again = wait_until(lambda: (now := one(home, "fragile")).status == "ready" and now)
    assert again.pid != fragile.pid
    assert one(home, "steady").pid == steady.pid


def test_one_process_is_restarted_from_outside(home):
    """When the call returns its successor is ready, and the others were left alone."""
    state = launch(home, child("first"), child("second"))

    restart_process(home, "second")

    again = one(home, "second")
    assert (again.restarts, again.status) == (1, "ready")
    assert again.pid != state.processes[1].pid
    assert one(home, "first") == state.processes[0]
    assert (home / "order").read_text().split() == ["second"]


def test_what_ends_by_itself_meanwhile_is_waited_for(home, monkeypatch):
    """A process that was found and is gone when it shall be ended gets its successor too."""
    launch(home, child("second"))

    def found_and_gone(pid, start):
        found = find_process(pid, start)
        found.kill()
        wait_until(lambda: one(home, "second").pid != pid)
        return found

    monkeypatch.setattr(restart, "find_process", found_and_gone)

    restart_process(home, "second")

    assert one(home, "second").status == "ready"


@pytest.mark.parametrize("name", ["third", "second"])
def test_what_does_not_run_cannot_be_restarted(home, name):
    """An unknown process, or one of a home that was stopped, is told by its name."""
    launch(home, child("second"))
    if name == "second":
        stop(home)

    with pytest.raises(NotRunning, match=f"`{name}` does not run"):
        restart_process(home, name)


def test_a_restart_that_never_gets_ready_ends(home):
    """A successor has a bounded time to be ready, and the error says where to look."""
    launch(
        home, child("once", before="(home / 'seen').exists() and time.sleep(600)", stop_grace=0.1)
    )
    (home / "seen").touch()

    with pytest.raises(ServerFailed, match="`once` did not come back") as caught:
        restart_process(home, "once", timeout=0.5)

    assert "`sidecypher logs`" in caught.value.hint


def test_a_process_that_keeps_dying_is_started_again_and_again(home):
    """A process that dies at once after its restart is tried again, each time counted."""
    mark = home / "crash"
    launch(home, child("loop", before=f"if pathlib.Path({str(mark)!r}).exists(): sys.exit(3)"))
    mark.touch()
    os.kill(one(home, "loop").pid, signal.SIGKILL)
    wait_until(lambda: one(home, "loop").restarts >= 2)

    mark.unlink()

    assert wait_until(lambda: one(home, "loop").status == "ready")


def test_a_process_that_hangs_is_replaced(home):
    """One that does not answer for its `hang_seconds` is killed, and the log says why."""
    state = launch(home, child("hangs", hang_seconds=1), child("unasked"))
    (home / "mute hangs").touch()
    (home / "mute unasked").touch()

    wait_until(lambda: one(home, "hangs").restarts == 1)
    (home / "mute hangs").unlink()

    again = wait_until(lambda: (now := one(home, "hangs")).status == "ready" and now)
    assert again.pid != state.processes[0].pid
    assert one(home, "unasked") == state.processes[1]
    log = (home / "logs" / "supervisor.log").read_text()
    assert '"process": "hangs", "reason": "did not answer for 1 s"' in log


@pytest.mark.slow
def test_a_process_that_answers_again_in_time_is_left_alone(home):
    """Only questions in a row count: pauses shorter than `hang_seconds` end nothing."""
    state = launch(home, child("slow", hang_seconds=3))
    asked = home / "asked"

    def asked_again(times):
        before = len(asked.read_text())
        wait_until(lambda: len(asked.read_text()) >= before + times * len("slow "))

    wait_until(asked.exists)
    for _ in range(3):
        (home / "mute slow").touch()
        asked_again(3)
        (home / "mute slow").unlink()
        asked_again(2)

    assert one(home, "slow") == state.processes[0]


def test_the_end_of_a_process_without_restart_ends_all(home):
    """When a process without restart dies, the others are stopped and the state says why."""
    launch(home, child("vital", restart=False), child("other"))
    other = one(home, "other")

    os.kill(one(home, "vital").pid, signal.SIGKILL)

    wait_until(lambda: not read_state(home).alive)
    state = read_state(home)
    assert state.status == "failed"
    assert "`vital` was ended by SIGKILL" in state.failure.message
    assert not other.alive


def test_a_process_that_does_not_start_is_told_with_its_log(home):
    """A process that ends before it is ready fails the launch with its last log lines."""
    noisy = child("noisy", before="print('no room', flush=True); sys.exit(4)")

    with pytest.raises(RuntimeFailure, match="`noisy` ended with exit code 4") as failed:
        launch(home, child("first"), noisy)

    assert failed.value.code == "SC-306"
    assert failed.value.details["log_tail"] == ["no room"]
    assert "no room" not in str(failed.value)
    assert not one(home, "first").alive


def test_old_log_lines_are_not_blamed(home):
    """The log lines in an error are those of the failed start alone."""
    launch(home, child("first"))
    stop(home)

    with pytest.raises(RuntimeFailure) as failed:
        launch(home, child("first", before="sys.exit(1)"))

    assert failed.value.details["log_tail"] == []


@pytest.mark.slow
def test_a_process_that_never_gets_ready_is_stopped(home):
    """A process has a bounded time to get ready, and is stopped when that is over."""
    with pytest.raises(RuntimeFailure, match=r"`slow` was not ready within 5 s"):
        launch(home, child("slow", before="signal.pause()", ready_timeout=5))

    assert (one(home, "slow").pid, one(home, "slow").status) == (0, "stopped")
    assert (home / "order").read_text().split() == ["slow"]


def test_an_error_of_the_plan_reaches_the_launcher(home):
    """What fails before any process starts keeps its code and details on its way out."""
    with pytest.raises(RuntimeFailure, match="Port 1") as failed:
        launch(home, fails=True)

    assert (failed.value.code, failed.value.details) == ("SC-305", {"port": 1})


def test_a_command_that_says_nothing_is_told_with_its_log(home):
    """A supervisor command that ends without a state is an error with its output."""
    silent = [sys.executable, "-c", "print('wrong command'); raise SystemExit(2)"]

    with pytest.raises(ServerFailed, match="supervisor ended") as failed:
        launch_supervisor(home, silent, dict(os.environ))

    assert failed.value.details["log_tail"] == ["wrong command"]


def test_a_second_supervisor_is_refused(home):
    """One home has one supervisor: a second launch, or a second command, changes nothing."""
    state = launch(home, child("first"))

    with pytest.raises(AlreadyRunning):
        launch(home, child("first"))
    second = subprocess.run(
        command(home, child("first")), check=False, capture_output=True, text=True
    )

    assert second.returncode != 0
    assert "AlreadyRunning" in second.stderr
    assert read_state(home) == state
    assert state.alive


def test_stop_cleans_up_after_a_killed_supervisor(home):
    """The orphans of a supervisor that was killed are found and stopped in the same order."""
    state = launch(home, child("first", stops_last=True), child("second"))
    os.kill(state.pid, signal.SIGKILL)
    wait_until(lambda: not read_state(home).alive)
    assert [entry.name for entry in read_state(home).orphans] == ["first", "second"]

    assert stop(home)

    assert (home / "order").read_text().split() == ["second", "first"]
    assert read_state(home).orphans == ()


def test_a_new_supervisor_stops_the_orphans_of_a_killed_one(home):
    """A launch after a killed supervisor starts from nothing left running."""
    before = launch(home, child("first"))
    os.kill(before.pid, signal.SIGKILL)
    wait_until(lambda: not read_state(home).alive)

    after = launch(home, child("first"))

    assert not before.processes[0].alive
    assert after.processes[0].alive


def test_a_supervisor_that_is_killed_while_it_stops_orphans_forgets_none(home):
    """What two supervisors in a row have left behind is stopped by whoever comes next."""
    slow = child("slow", before="signal.signal(signal.SIGTERM, signal.SIG_IGN)", stop_grace=30)
    first = launch(home, slow)
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not read_state(home).alive)
    with subprocess.Popen(command(home, slow)) as second:
        wait_until(lambda: read_state(home).pid == second.pid)
        second.kill()

    assert [entry.pid for entry in read_state(home).orphans] == [first.processes[0].pid]
    os.kill(first.processes[0].pid, signal.SIGKILL)


def test_a_foreign_process_with_a_recorded_pid_is_spared(home):
    """A process is ours only when its start time fits too, so a reused pid is never signalled."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as foreign:
        state = launch(home, child("first"))
        stop(home)
        old = state.processes[0].start
        entry = type(state.processes[0])("first", foreign.pid, old, "ready", 0)
        write_state(home, State(foreign.pid, old, "ready", (entry,)))

        assert not read_state(home).alive
        assert not stop(home)
        assert foreign.poll() is None


def test_a_corrected_clock_hides_no_process(tmp_path, monkeypatch):
    """A process is found although the time of its start is an hour later than it was."""
    own = psutil.Process()
    start, began = start_of(own.pid), own.create_time()
    facts = dict(line.split(maxsplit=1) for line in Path("/proc/stat").read_text().splitlines())
    (tmp_path / "stat").write_text(f"btime {int(facts['btime']) + 3600}\n")
    (tmp_path / str(own.pid)).symlink_to(f"/proc/{own.pid}")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))

    assert psutil.Process().create_time() > began + 3000
    assert find_process(own.pid, start) == own


def test_a_process_that_ignores_sigterm_is_killed(home):
    """After its grace a process that does not end is killed."""
    stubborn = child(
        "stubborn", before="signal.signal(signal.SIGTERM, signal.SIG_IGN)", stop_grace=0.1
    )
    launch(home, stubborn)
    entry = one(home, "stubborn")

    assert stop(home)
    assert not entry.alive


def test_workers_of_a_dead_process_do_not_stay(home):
    """What a killed process had started in its session is killed before it is started again."""
    before = (
        "import subprocess; worker = subprocess.Popen([sys.executable, '-c', 'import signal; "
        "signal.pause()']); (home / f'worker-{worker.pid}').touch()"
    )
    launch(home, child("parent", before=before))
    worker = psutil.Process(int(next(home.glob("worker-*")).name.removeprefix("worker-")))

    os.kill(one(home, "parent").pid, signal.SIGKILL)

    wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)


def test_ctrl_c_in_the_terminal_reaches_the_supervisor_only(home):
    """Every process leads a session of its own; the supervisor stops them in order at SIGINT."""
    state = launch(home, child("first", stops_last=True), child("second"))

    assert all(os.getsid(entry.pid) == entry.pid for entry in state.processes)
    os.kill(state.pid, signal.SIGINT)
    wait_until(lambda: not read_state(home).alive)
    assert (home / "order").read_text().split() == ["second", "first"]


def test_waits_double_up_to_a_limit_and_are_forgotten():
    """Restarts wait 0.2 s, then twice as long each time up to 5 s; 30 s of life reset that."""
    backoff = Backoff()
    waits = [0.0]
    for _ in range(7):
        waits.append(backoff.next(waits[-1], ran=0.1))

    assert waits[1:] == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]
    assert backoff.next(5.0, ran=30.0) == 0.2
