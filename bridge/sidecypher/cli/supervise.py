"""`supervise`, which `up` starts: run the processes of one installation."""

import os
import socket
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Annotated, Final

import typer

from sidecypher.cli.packages import Service
from sidecypher.cli.sidecars import is_live
from sidecypher.host.rendezvous import Announcement, running_sidecars
from sidecypher.host.settings import Settings, load_settings
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Javas
from sidecypher.runtime.lockfile import load_lock
from sidecypher.runtime.neo4j import Neo4jServer
from sidecypher.runtime.ports import choose_ports
from sidecypher.runtime.process.spec import ProcessSpec
from sidecypher.runtime.process.supervisor import Supervisor
from sidecypher.telemetry.calls import configure_logging

SERVICES_GROUP: Final = "sidecypher.services"
"""Group of the entry points that name a `Service`."""


def supervise(
    replay_port: Annotated[int | None, typer.Option()] = None,
    short_lived: Annotated[bool, typer.Option("--short-lived")] = False,
    debug_port: Annotated[int | None, typer.Option()] = None,
) -> None:
    """Keep Neo4j and the sidecar running.

    It stays in the foreground; `up` starts it.
    """
    settings = load_settings({})
    configure_logging(settings.log_level, settings.log_format)

    def plan() -> Iterator[ProcessSpec]:
        installation = Installation(load_lock(settings.lane), settings.cache_dir)
        ports = choose_ports(
            settings.home / "ports.json",
            bolt=settings.bolt_port or None,
            http=settings.browser_port or None,
        )
        java = Javas().find(installation.lock.java)
        server = Neo4jServer(
            settings.home,
            installation,
            java,
            ports,
            short_lived=short_lived,
            unhurried=debug_port is not None,
        )
        server.prepare()
        # First, because it takes longest to start.
        yield server.process(restart=True, hang_seconds=settings.hang_seconds)
        if replay_port is not None:
            yield _replay(settings, replay_port)
        for number in range(settings.sidecars):
            yield _sidecar(settings, number, debug_port)
        yield from _services(settings)

    Supervisor(settings.home, plan).run()


def _sidecar(settings: Settings, number: int, debug_port: int | None = None) -> ProcessSpec:
    # Imported here, while Neo4j starts: it takes half a second.
    from sidecypher.app import END_SECONDS  # noqa: PLC0415

    run_folder = settings.home / "run"
    name = f"sidecar-{number + 1}" if number else "sidecar"
    # Only the first one can use the configured ports.
    options = ["--port", "0", "--http-port", "0", "--listen", ""] if number else []
    flags = ["-P"]
    if debug_port is not None:
        options += ["--debug-port", str(debug_port)]
        # Frozen modules have no lines to stop at, and the debugger would warn of them.
        flags.append("-Xfrozen_modules=off")

    def announced(pid: int) -> Announcement | None:
        return next((each for each in running_sidecars(run_folder) if each.pid == pid), None)

    def answers(pid: int) -> bool:
        found = announced(pid)
        # Do not kill a process that has not announced an address.
        return found is None or is_live(found)

    return ProcessSpec(
        name=name,
        argv=(sys.executable, *flags, "-m", "sidecypher", "serve", *options),
        # The plugin looks here, even if the environment names another run folder.
        env={**os.environ, "SIDECYPHER_RUN_DIR": str(run_folder)},
        log_file=settings.log_dir / f"{name}.log",
        restart=True,
        ready=lambda pid: announced(pid) is not None,
        answers=answers,
        hang_seconds=settings.hang_seconds,
        stop_grace=settings.shutdown_seconds + END_SECONDS,
    )


def _services(settings: Settings) -> Iterator[ProcessSpec]:
    """Yield the processes that packages want, in the order of their names."""
    for point in sorted(entry_points(group=SERVICES_GROUP), key=lambda point: point.name):
        service: Service = point.load()
        if service.is_wanted(os.environ):
            yield ProcessSpec(
                name=service.name,
                argv=(sys.executable, "-P", "-m", "sidecypher", *service.command),
                env=dict(os.environ),
                log_file=settings.log_dir / f"{service.name}.log",
                restart=True,
                # It waits for what it needs, which may come later.
                ready=lambda _pid: True,
            )


def _replay(settings: Settings, port: int) -> ProcessSpec:
    # Run by path: as a module it would first import the whole command line.
    script = str(files("sidecypher.cli.demo") / "replay.py")
    return ProcessSpec(
        name="github-replay",
        argv=(sys.executable, "-P", script, "--port", str(port)),
        env=dict(os.environ),
        log_file=settings.log_dir / "replay.log",
        restart=True,
        ready=lambda _pid: _listens(port),
        stops_last=True,
    )


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
