"""A worker process: loads the procedures, then runs one function at a time for the sidecar.

Started as `python -m sidecypher.calls.executors.pool_main`. It ends when the sidecar does.
"""

import asyncio
import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from sidecypher.calls.executors.pool_messages import MEMORY_EXIT, STOP_SECONDS, Ready, Setup
from sidecypher.calls.executors.task_runner import OutcomeSender, TaskRunner
from sidecypher.host.epochs import Epochs
from sidecypher.loading.loader import load
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.caching import share_epochs
from sidecypher.telemetry.calls import configure_logging
from sidecypher.telemetry.export import export_spans

_DIE_WITH_PARENT: Final = 1
_MIB: Final = 1024 * 1024


def end_with(parent: int) -> None:
    """End this process when the sidecar ends; on Linux even in the middle of C code."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def limit_memory(memory_mb: int) -> None:
    """Allow so much memory in addition to what is in use; be the first that Linux kills."""
    used = _address_space()
    limit = used + memory_mb * _MIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # If the machine runs out of memory, the kernel should kill this process, not the database.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _address_space() -> int:
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def serve(connection: Connection, end: Callable[[int], None] = os._exit) -> None:
    """Answer tasks until the sidecar closes the connection."""
    setup = envelope.read(connection.recv_bytes(), Setup)
    configure_logging(setup.log_level, setup.log_format)
    spans = export_spans() if setup.traces else None
    registry = load([Path(folder) for folder in setup.folders], only=setup.sources).registry
    runner = TaskRunner(registry, setup.message_bytes, OutcomeSender(connection.send_bytes, end))
    if setup.epochs:
        share_epochs(Epochs(Path(setup.epochs)))
    limit_memory(setup.memory_mb)
    connection.send_bytes(envelope.write(Ready()))
    try:
        while True:
            runner.run(connection.recv_bytes())
    except MemoryError:
        # The state of this process is unknown now, and its memory must be released.
        end(MEMORY_EXIT)
    except (EOFError, OSError):
        # One limit for resources and spans together: the sidecar kills this process after 1.5 s.
        deadline = Deadline.after(STOP_SECONDS)
        asyncio.run(runner.resources.stop())
        if spans is not None:
            spans.stop(deadline.remaining())


def main() -> None:
    """Serve the sidecar that started this process."""
    channel, parent = map(int, sys.argv[1:3])
    end_with(parent)
    # Ctrl-C is for the sidecar, which then closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    with Connection(channel) as connection:
        serve(connection)


if __name__ == "__main__":
    main()
