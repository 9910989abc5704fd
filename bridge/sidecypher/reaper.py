"""Calls that nobody waits for any more: seen to their end, or counted when they do not end."""

import contextlib
import threading
import time
from typing import Final, Generic, Protocol, TypeVar

from sidecypher.telemetry import logger

INTERRUPT_SECONDS: Final = 0.25
"""How long a cancelled plain body may go on before an exception is raised in it."""

STUCK_SECONDS: Final = 1.0
"""How long a cancelled call may go on before it counts as stuck."""

_TICK_SECONDS: Final = 0.02
_SLOW_TICK_SECONDS: Final = 0.25


class Ending(Protocol):
    """A call that was cancelled."""

    @property
    def call_id(self) -> str:
        """The call's identifier, the same in both logs."""

    @property
    def name(self) -> str:
        """Cypher name of what was called."""

    @property
    def is_busy(self) -> bool:
        """Whether a thread or task still works on it."""

    def interrupt(self) -> None:
        """Raise an exception in its body, if that can be done."""


_Call = TypeVar("_Call", bound=Ending)


class Reaper(Generic[_Call]):
    """Watches calls until they have ended, on a thread that lives as long as there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[_Call, float] = {}
        self._told: set[_Call] = set()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def stuck(self) -> list[_Call]:
        """Calls that have not ended though they were cancelled."""
        latest = time.monotonic() - STUCK_SECONDS
        return [call for call, since in self._watched() if since <= latest and call.is_busy]

    def watch(self, call: _Call) -> None:
        """See to it that a cancelled call ends."""
        with self._lock:
            self._since.setdefault(call, time.monotonic())
            self._wake.set()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="sidecypher-reaper", daemon=True)
                # Without room for a thread the next call that is watched starts it for both.
                with contextlib.suppress(RuntimeError):
                    thread.start()
                    self._thread = thread

    def _watched(self) -> list[tuple[_Call, float]]:
        with self._lock:
            return list(self._since.items())

    def _run(self) -> None:
        while self._forget_ended():
            now = time.monotonic()
            youngest = 0.0
            for call, since in self._watched():
                youngest = max(youngest, since)
                if now - since >= INTERRUPT_SECONDS:
                    call.interrupt()
                if now - since >= STUCK_SECONDS and call not in self._told:
                    self._told.add(call)
                    logger().warning("call does not stop", procedure=call.name, call=call.call_id)
            self._wake.wait(_TICK_SECONDS if now - youngest < STUCK_SECONDS else _SLOW_TICK_SECONDS)

    def _forget_ended(self) -> bool:
        """Forget what has ended; tell whether anything is left to watch."""
        with self._lock:
            self._wake.clear()
            for call in [call for call in self._since if not call.is_busy]:
                del self._since[call]
                if call in self._told:
                    self._told.discard(call)
                    logger().info("call has stopped", procedure=call.name, call=call.call_id)
            if not self._since:
                self._thread = None
            return bool(self._since)
