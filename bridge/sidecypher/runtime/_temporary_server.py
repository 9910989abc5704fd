"""Temporary servers: Bolt only, in their own folder, removed at the end."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import psutil

from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java
from sidecypher.runtime.neo4j import Neo4jServer
from sidecypher.runtime.ports import choose_ports
from sidecypher.runtime.process.spec import (
    ProcessSpec,
    end_processes,
    ending_signals_blocked,
    launch_process,
    log_size,
    log_tail,
)

_POLL = 0.05  # seconds


@contextmanager
def temporary_server(installation: Installation, java: Java) -> Iterator[Neo4jServer]:
    """Prepare a server in a temporary folder; only this process knows its password.

    Example:
        >>> with temporary_server(installation, java) as server:  # doctest: +SKIP
        ...     with running(server.process(restart=False)):
        ...         server.answers()
        True
    """
    with tempfile.TemporaryDirectory(prefix="sidecypher-") as home:
        ports = choose_ports(Path(home, "ports.json"))
        server = Neo4jServer(Path(home), installation, java, ports, short_lived=True, closed=True)
        server.prepare()
        yield server


@contextmanager
def running(spec: ProcessSpec) -> Iterator[None]:
    """Run a process without a supervisor, for the time of a `with` block.

    If this program is killed, the process is ended too.

    Raises:
        ServerFailed: If it ends, or is not ready in time.
    """
    mark = log_size(spec.log_file)
    process = None
    try:
        with ending_signals_blocked():
            process = launch_process(replace(spec, argv=(*_bound(), *spec.argv)))
        deadline = time.monotonic() + spec.ready_timeout
        while not spec.ready(process.pid):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(
                    f"`{spec.name}` did not start",
                    hint="Read its last lines.",
                    details={"process": spec.name, "log_tail": log_tail(spec.log_file, mark)},
                )
            time.sleep(_POLL)
        yield
    finally:
        # A second Ctrl-C waits too: it would leave the process running.
        with ending_signals_blocked():
            if process is not None and process.poll() is None:
                end_processes({psutil.Process(process.pid): spec.stop_grace})
                process.wait()


def _bound() -> tuple[str, ...]:
    script = str(files("sidecypher.runtime.process") / "bound.py")
    return (sys.executable, "-IS", script, str(os.getpid()))


def offered_names(server: Neo4jServer) -> tuple[set[str], set[str]]:
    """Return the names of the procedures and of the functions that a running server offers."""
    with server.address.driver() as driver:
        procedures = driver.execute_query("SHOW PROCEDURES YIELD name").records
        functions = driver.execute_query("SHOW FUNCTIONS YIELD name").records
    return {record["name"] for record in procedures}, {record["name"] for record in functions}
