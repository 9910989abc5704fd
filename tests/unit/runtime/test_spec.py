"""How a process is started while signals come."""

import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest
from fix_waiting import wait_until

from sidecypher.runtime._temporary_server import running
from sidecypher.runtime.process import spec as module
from sidecypher.runtime.process.detached import launch_supervisor
from sidecypher.runtime.process.spec import ProcessSpec, end_processes, ending_signals_blocked


@pytest.fixture
def spec(tmp_path):
    """A process that runs until it is ended."""
    return ProcessSpec(
        "sleeper",
        (sys.executable, "-c", "import signal; signal.pause()"),
        dict(os.environ),
        tmp_path / "logs" / "sleeper.log",
        restart=False,
        ready=bool,
    )


@pytest.fixture
def interrupted(monkeypatch):
    """Ctrl-C comes when a process runs already and nobody knows of it; those that were started."""
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(psutil.Process(self.pid))
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module.subprocess, "Popen", Interrupted)
    yield started
    for process in started:
        if process.is_running():
            process.kill()


def test_ctrl_c_while_a_process_starts_ends_it(spec, interrupted):
    """A throw-away process that has just begun to run does not outlive the command."""
    with pytest.raises(KeyboardInterrupt), running(spec):
        pass

    [process] = interrupted
    assert not process.is_running()


def test_ctrl_c_while_a_supervisor_starts_ends_it(tmp_path, spec, interrupted):
    """Nor does a supervisor that nobody has waited for."""
    with pytest.raises(KeyboardInterrupt):
        launch_supervisor(tmp_path, spec.argv, spec.env)

    [process] = interrupted
    assert not process.is_running()


def test_a_temporary_process_does_not_outlive_a_killed_command(tmp_path):
    """A command that gets SIGKILL cannot stop its temporary process, which ends by itself."""
    program = f"""
import os, sys
from pathlib import Path
from sidecypher.runtime._temporary_server import running
from sidecypher.runtime.process.spec import ProcessSpec

def ready(pid):
    print(pid, flush=True)
    return False

argv = (sys.executable, "-c", "import signal; signal.pause()")
with running(ProcessSpec("s", argv, os.environ, Path({str(tmp_path)!r}, "log"), False, ready)):
    pass
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as command:
        process = psutil.Process(int(command.stdout.readline()))
        wait_until(lambda: process.cmdline()[-1:] == ["import signal; signal.pause()"])
        command.kill()

    wait_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_handled_when_the_body_is_done(number):
    """What would end the program comes after the body, not lost and not earlier."""
    handled = []
    before = signal.signal(number, lambda *_: handled.append("handled"))
    try:
        with ending_signals_blocked():
            signal.raise_signal(number)
            handled.append("body done")
    finally:
        signal.signal(number, before)

    assert handled == ["body done", "handled"]


def test_an_ignored_signal_stays_ignored():
    """What `nohup` has set is left as it is."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ending_signals_blocked():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_start_processes_too():
    """Only the main thread handles signals; any other has none to hold back."""
    entered = []

    def enter():
        with ending_signals_blocked():
            entered.append(threading.current_thread())

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()

    assert entered == [thread]


HALF_DEAD = """
import ctypes, signal, threading, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.PyDLL(None).pthread_exit(None)
"""


def test_a_process_has_ended_with_its_last_thread():
    """A JVM whose first thread has ended still holds its store: who stops it waits for the rest."""
    process = subprocess.Popen([sys.executable, "-c", HALF_DEAD])
    half_dead = psutil.Process(process.pid)
    wait_until(lambda: half_dead.status() == psutil.STATUS_ZOMBIE)
    assert process.poll() is None

    end_processes({half_dead: 0.1})

    assert not half_dead.is_running()
    process.wait()
