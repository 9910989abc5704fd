"""Watcher of cancelled calls: it interrupts them, and counts those that do not end."""

import contextlib
import threading
import time
from typing import Final

from sidecypher.calls.executors.execution import Execution
from sidecypher.telemetry.calls import logger

INTERRUPT_SECONDS: Final = 0.25
"""How long a cancelled plain function may continue before an exception is raised in it."""

STUCK_SECONDS: Final = 1.0
"""How long a cancelled call may continue before it counts as stuck."""

_TICK_SECONDS: Final = 0.02
_SLOW_TICK_SECONDS: Final = 0.25


class Reaper:
    """Watcher of calls until they end, on a thread that ends with the last of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[Execution, float] = {}
        self._reported: set[Execution] = set()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def stuck(self) -> list[Execution]:
        """Calls that are still running although they were cancelled."""
        latest = time.monotonic() - STUCK_SECONDS
        return [call for call, since in self._watched() if since <= latest and call.is_busy]

    def watch(self, call: Execution) -> None:
        """Watch a cancelled call until it ends."""
        with self._lock:
            self._since.setdefault(call, time.monotonic())
            self._wake.set()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="sidecypher-reaper", daemon=True)
                # If no thread can be started, the next watched call starts it for both.
                with contextlib.suppress(RuntimeError):
                    thread.start()
                    self._thread = thread

    def _watched(self) -> list[tuple[Execution, float]]:
        with self._lock:
            return list(self._since.items())

    def _run(self) -> None:
        while self._drop_ended():
            now = time.monotonic()
            youngest = 0.0
            for call, since in self._watched():
                youngest = max(youngest, since)
                if now - since >= INTERRUPT_SECONDS:
                    call.interrupt()
                if now - since >= STUCK_SECONDS and call not in self._reported:
                    self._reported.add(call)
                    logger().warning("call does not stop", procedure=call.name, call=call.call_id)
            self._wake.wait(_TICK_SECONDS if now - youngest < STUCK_SECONDS else _SLOW_TICK_SECONDS)

    def _drop_ended(self) -> bool:
        """Drop calls that have ended; return whether any are left."""
        with self._lock:
            self._wake.clear()
            for call in [call for call in self._since if not call.is_busy]:
                del self._since[call]
                if call in self._reported:
                    self._reported.discard(call)
                    logger().info("call has stopped", procedure=call.name, call=call.call_id)
            if not self._since:
                self._thread = None
            return bool(self._since)
