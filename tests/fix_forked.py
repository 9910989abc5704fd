"""Commands of `sidecypher` in processes of their own, forked from one that has imported it.

The import takes most commands longer than what they do. How a command starts is tested where it is
started as users start it, such as in tests/integration/test_commands.py.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

import psutil

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload([
    *("sidecypher.cli.main", "sidecypher.cli.output", "sidecypher.app", "sidecypher_schema"),
    *("sidecypher.transport.py4j", "sidecypher.transport.http", "neo4j"),
    *(each.module for each in entry_points(group="sidecypher.commands")),
    *(each.module for each in entry_points(group="sidecypher.procedures")),
])  # fmt: skip


class Forked:
    """A command that runs; it has the methods of `psutil.Popen`.

    Attributes:
        pid: The id of its process.
    """

    def __init__(self, environ, *arguments, output, errors=None, text_in=os.devnull):
        streams = [*map(str, (text_in, output, errors or output))]
        arguments = [*map(str, arguments)]
        self._process = _PROCESSES.Process(
            target=_run, args=(environ, arguments, streams), daemon=True
        )
        self._process.start()
        self.pid = self._process.pid
        self.terminate, self.kill = self._process.terminate, self._process.kill

    def poll(self):
        return self._process.exitcode

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self.poll() is None:
            raise subprocess.TimeoutExpired("sidecypher", timeout)
        return self.poll()

    def __getattr__(self, name):
        return getattr(psutil.Process(self.pid), name)


def run_command(environ, *arguments, text_in=None):
    """Run a command in an environment; return its exit code, and what it printed."""
    with tempfile.TemporaryDirectory(prefix="sidecypher-test-") as name:
        given, told, said = (Path(name, each) for each in ("in", "out", "err"))
        given.write_text(text_in or "")
        code = Forked(environ, *arguments, output=told, errors=said, text_in=given).wait()
        return subprocess.CompletedProcess(arguments, code, told.read_text(), said.read_text())


def _run(environ, arguments, streams):
    os.environ.clear()
    os.environ.update(environ)
    for number, stream in enumerate(streams):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT if number else os.O_RDONLY
        opened = os.open(stream, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    # A new interpreter reads this.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding=environ.get("PYTHONIOENCODING"))
    # Where `multiprocessing` starts a process, it reads nothing.
    sys.stdin = os.fdopen(0)
    sys.argv = ["sidecypher", *arguments]
    from sidecypher.cli.main import main  # noqa: PLC0415 - who starts it needs no command line

    main()
