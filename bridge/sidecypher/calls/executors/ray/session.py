"""The connection of a driver to its Ray cluster."""

import asyncio
import contextlib
import os
import socket
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any, Final

import msgspec
import ray
import ray.exceptions

from sidecypher.calls.executors.ray.calls import Calls, Send
from sidecypher.calls.executors.ray.messages import (
    LOCAL,
    Away,
    DriverSetup,
    Report,
    Request,
    Status,
    Stop,
)
from sidecypher.protocol import envelope

_STATUS_SECONDS: Final = 2.0

_SILENCE_SECONDS: Final = 10.0
"""A cluster that does not answer for longer is lost."""

_CONNECT_SECONDS: Final = 5.0

_decode: Final = msgspec.json.Decoder(Request).decode


def connect(setup: DriverSetup) -> Away | None:
    """Connect to the cluster, or start a local one; return what is wrong if that fails."""
    common: dict[str, Any] = {
        "configure_logging": False,
        "logging_level": "ERROR",
        "log_to_driver": True,
    }
    try:
        if setup.address == LOCAL:
            ray.init(address=LOCAL, include_dashboard=False, _temp_dir=setup.folder, **common)
            return None
        host, _, port = setup.address.rpartition(":")
        # Ray itself tries for a minute, and then ends the process.
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except OSError as error:
        return Away(
            f"no cluster answers at `ray_address` ({type(error).__name__})",
            "Start the cluster, or correct `ray_address`.",
        )
    try:
        ray.init(address=setup.address, **common)
    except ConnectionError:
        return Away(
            "this machine is not one of its nodes",
            "Run `ray start --address=...` here, with the same token.",
        )
    except RuntimeError as error:
        if "ersion mismatch" in str(error):
            return Away(
                "it has another version of Ray or Python than this sidecar",
                f"This sidecar has Ray {ray.__version__} and Python "
                f"{sys.version.split()[0]}; install the same on both sides.",
            )
        return Away(f"it refused the sidecar ({type(error).__name__})")
    except Exception as error:  # noqa: BLE001 - whatever it is, callers are told
        return Away(f"it refused the sidecar ({type(error).__name__})", "See the sidecar's log.")
    return None


async def report_status(calls: Calls, send: Send) -> None:
    """Report the state of the cluster again and again, until it does not answer."""
    loop = asyncio.get_running_loop()
    while True:
        answer = loop.run_in_executor(None, ray.nodes)
        nodes = [each for each in await asyncio.wait_for(answer, _SILENCE_SECONDS) if each["Alive"]]
        cpus = sum(each["Resources"].get("CPU", 0.0) for each in nodes)
        calls.cpus = cpus
        send(Status(len(nodes), cpus))
        await asyncio.sleep(_STATUS_SECONDS)


def serve(connection: Connection, setup: DriverSetup) -> None:
    """Run what the sidecar sends until it has no more, or the cluster is lost."""
    away = connect(setup)
    if away is not None:
        connection.send_bytes(envelope.write(away))
        return
    asyncio.run(_serve(connection, setup))
    ray.shutdown()


async def _serve(connection: Connection, setup: DriverSetup) -> None:
    lock = threading.Lock()

    def send(report: Report | bytes) -> None:
        with lock, contextlib.suppress(OSError):
            connection.send_bytes(report if isinstance(report, bytes) else envelope.write(report))

    loop = asyncio.get_running_loop()
    calls = Calls(setup, send)
    status = asyncio.ensure_future(report_status(calls, send))

    def read() -> None:
        with contextlib.suppress(EOFError, OSError):
            while not isinstance(request := _decode(connection.recv_bytes()), Stop):
                loop.call_soon_threadsafe(calls.handle, request)
        loop.call_soon_threadsafe(status.cancel)

    threading.Thread(target=read, name="sidecypher-requests", daemon=True).start()
    try:
        await status
    except asyncio.CancelledError:
        return
    except (TimeoutError, ray.exceptions.RayError):
        # Ray would wait for its cluster for a minute. The sidecar tells callers what this means.
        os._exit(1)
