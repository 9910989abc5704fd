"""Throw-away servers: no password, a folder of their own, gone when they are left."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import neo4j
import psutil

from sidecypher.runtime.archive import archive_path, writing_flags
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java
from sidecypher.runtime.neo4j import Neo4jServer
from sidecypher.runtime.ports import choose_ports
from sidecypher.runtime.process.spec import (
    ProcessSpec,
    end_process,
    launch_process,
    log_size,
    log_tail,
)

_POLL = 0.05  # seconds
_ARCHIVE_GRACE = 120.0  # seconds that a JVM may take to write its class data archive


@contextmanager
def throwaway_server(installation: Installation, java: Java) -> Iterator[Neo4jServer]:
    """Prepare a server without a password in a folder that goes away with it.

    Example:
        >>> with throwaway_server(installation, java) as server:  # doctest: +SKIP
        ...     with running(server.process(restart=False)):
        ...         server.answers()
        True
    """
    with tempfile.TemporaryDirectory(prefix="sidecypher-") as home:
        ports = choose_ports(Path(home, "ports.json"))
        server = Neo4jServer(Path(home), installation, java, ports, auth=False)
        server.prepare()
        yield server


@contextmanager
def running(spec: ProcessSpec) -> Iterator[None]:
    """Run a process while the body runs, without a supervisor.

    Raises:
        ServerFailed: If it ends, or is not ready in time.
    """
    mark = log_size(spec.log_file)
    process = launch_process(spec)
    try:
        deadline = time.monotonic() + spec.ready_timeout
        while not spec.ready(process.pid):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(
                    f"`{spec.name}` did not start.",
                    hint="Read its last lines.",
                    details={"process": spec.name, "log_tail": log_tail(spec.log_file, mark)},
                )
            time.sleep(_POLL)
        yield
    finally:
        if process.poll() is None:
            end_process(psutil.Process(process.pid), spec.stop_grace)
            process.wait()


def procedure_names(server: Neo4jServer) -> set[str]:
    """Ask a running server without a password which procedures it offers."""
    with neo4j.GraphDatabase.driver(server.bolt_uri) as driver:
        records, _summary, _keys = driver.execute_query("SHOW PROCEDURES YIELD name RETURN name")
    return {record["name"] for record in records}


def write_archive(installation: Installation, java: Java) -> None:
    """Write the class data archive of these jars and this Java, unless it is there.

    Takes 10 to 20 s, and pays off after four or five starts.

    Raises:
        ServerFailed: If Neo4j does not start.
    """
    archive = archive_path(installation, java)
    if archive.is_file():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    fresh = archive.with_name(f"{archive.name}.{os.getpid()}")
    # An archive fits every home only when no plugin was on the class path that it was made with.
    jars = tuple(jar for jar in installation.lock.jars if jar.place == "lib")
    bare = Installation(msgspec.structs.replace(installation.lock, jars=jars), installation.folder)
    with throwaway_server(bare, java) as server:
        spec = server.process(
            restart=False, class_data=writing_flags(fresh), stop_grace=_ARCHIVE_GRACE
        )
        try:
            with running(spec):
                procedure_names(server)
            for stale in archive.parent.glob(f"{installation.lock.lane}-*.jsa"):
                stale.unlink(missing_ok=True)
            fresh.replace(archive)
        finally:
            fresh.unlink(missing_ok=True)
