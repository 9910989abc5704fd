"""Open calls, and how they end if their callers do not read all rows."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from sidecypher.calls._reaper import Reaper
from sidecypher.calls.executors.execution import Execution, RunningCall
from sidecypher.calls.executors.loop import CLEANUP_SECONDS
from sidecypher.calls.reservation import Reservation
from sidecypher.errors import CallError, ProtocolError, SidecarBusy, StreamExpired
from sidecypher.sdk.call import cancelled, deadline_exceeded

_ENDINGS_KEPT: Final = 1024
"""Number of calls that ended between two pages whose endings are kept for their callers."""

_EARLY_KEPT: Final = 1024
"""Number of cancellations that are kept for calls which are not open: they begin, or have ended."""

_SMALL_BYTES: Final = 64 * 1024
"""Smaller arguments are not counted: the number of connections bounds them."""


class OpenCalls:
    """Every call that is served, has rows left, or will not stop."""

    def __init__(self, lease_seconds: float, argument_bytes: int) -> None:
        """Start without calls.

        Args:
            lease_seconds: How long a call may wait for the request for its next page.
            argument_bytes: How many bytes all calls may `reserve`.
        """
        self._lease_seconds = lease_seconds
        self._bytes_left = argument_bytes
        self._bytes_lock: Final = threading.Lock()
        self._calls: dict[str, Execution] = {}
        self._closing: dict[Execution, float] = {}
        self._endings: dict[tuple[str, str], Callable[[], CallError]] = {}
        self._endings_lock: Final = threading.Lock()
        self._early: dict[tuple[str, str], Callable[[str], CallError]] = {}
        self._reaper: Final = Reaper()

    def __len__(self) -> int:
        """Return the number of calls that are served or have rows left."""
        return len(self._calls)

    def __contains__(self, call_id: str) -> bool:
        """Return whether a call with this id is served or has rows left."""
        return call_id in self._calls

    def __iter__(self) -> Iterator[Execution]:
        """Iterate over the calls that are served or have rows left."""
        return iter(list(self._calls.values()))

    @property
    def busy(self) -> int:
        """Number of calls that a thread works on now, clean-up included."""
        return sum(call.is_served for call in self) + len(self._closing)

    @property
    def stuck(self) -> int:
        """Number of calls that are still running although they were cancelled."""
        return len(self._reaper.stuck)

    def reserve(self, size: int) -> Reservation:
        """Reserve memory for the arguments of a new call, before they are read.

        Args:
            size: Bytes of the arguments as JSON.

        Raises:
            SidecarBusy: The arguments of other calls use all of it.
        """
        if size <= _SMALL_BYTES:
            return Reservation(size)
        with self._bytes_lock:
            if size > self._bytes_left:
                raise SidecarBusy(
                    "The sidecar has reached its limit of bytes of arguments",
                    hint="Call again later, or pass less data.",
                    retryable=True,
                )
            self._bytes_left -= size
        return Reservation(size, self._release)

    def _release(self, size: int) -> None:
        with self._bytes_lock:
            self._bytes_left += size

    def add(self, call: Execution) -> None:
        """Add a call that has started; one that was cancelled before will end at once."""
        self._calls[call.call_id] = call
        if self._early:
            with self._endings_lock:
                ending = self._early.pop((call.jvm, call.call_id), None)
            if ending is not None:
                call.cancel(ending(call.name))

    def find(self, call_id: str, jvm: str) -> Execution:
        """Return an open call of a JVM.

        Raises:
            StreamExpired: Its next page was not requested in time.
            CallCancelled: It was cancelled here, between two pages.
            ProtocolError: It is not open.
        """
        call = self._calls.get(call_id)
        if call is not None and call.jvm == jvm:
            return call
        ending = self._endings.get((jvm, call_id))
        if ending is not None:
            raise ending()
        raise ProtocolError("The requested call is not open")

    def remove(self, call: Execution) -> None:
        """Remove a call that has ended."""
        if self._calls.pop(call.call_id, None) is not None:
            call.reservation.release()
        call.end()
        if call.is_still_running:
            self._reaper.watch(call)

    def clean_up(self, call: Execution) -> None:
        """Let the function of an ended call clean up; log any error that it raises."""
        self._closing[call] = time.monotonic()
        try:
            call.close()
        except BaseException as error:  # noqa: BLE001 - an author's `finally` may raise anything
            call.observed.unexpected(error)
        finally:
            del self._closing[call]
            if call.is_still_running:
                self._reaper.watch(call)

    def close_stream(self, call: Execution) -> None:
        """End a call whose caller reads no more rows; wait for its function to clean up."""
        if self._stop(call, cancelled(call.name)):
            call.observed.closed()
            self._finish(call)

    def cancel(self, call: Execution, reason: CallError) -> None:
        """End a call without waiting for it."""
        if not self._stop(call, reason):
            self._reaper.watch(call)
            return
        call.observed.failed(reason)
        # A function may need long to clean up, and other calls must be cancelled as well.
        thread = threading.Thread(
            target=self._finish, args=(call,), name="sidecypher-close", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            self._finish(call)

    def cancel_for_caller(self, jvm: str, call_id: str, ending: Callable[[str], CallError]) -> None:
        """End a call of a JVM without waiting for it, even if it is just being started.

        Args:
            jvm: The JVM.
            call_id: The call.
            ending: Returns the error of a call with a name.
        """
        # Kept before the search: a call that is added after it finds the cancellation.
        with self._endings_lock:
            self._early[jvm, call_id] = ending
            if len(self._early) > _EARLY_KEPT:
                del self._early[next(iter(self._early))]
        with contextlib.suppress(CallError):
            call = self.find(call_id, jvm)
            with self._endings_lock:
                self._early.pop((jvm, call_id), None)
            self.cancel(call, ending(call.name))

    def expire(self) -> None:
        """End calls that are idle for longer than the lease or served beyond their deadline.

        To be called several times a second.
        """
        now = time.monotonic()
        for call in self:
            if call.is_served:
                if call.is_overdue:
                    self.cancel(call, deadline_exceeded(call.name))
            elif now - call.idle_since > self._lease_seconds:
                self._cancel_silently(call, partial(_lease_expired, call.name, self._lease_seconds))
        for call, since in list(self._closing.items()):
            if now - since > CLEANUP_SECONDS:
                self._reaper.watch(call)

    def cancel_by_id(self, call_id: str) -> bool:
        """End a call of any caller at once; return whether it was open or stuck."""
        call = self._calls.get(call_id)
        if call is not None:
            self._cancel_silently(call, partial(cancelled, call.name))
            return True
        # A stuck call was cancelled before, so nothing more can be ended.
        return any(stuck.call_id == call_id for stuck in self._reaper.stuck)

    def running(self) -> list[RunningCall]:
        """Return the open calls, the oldest first."""
        stuck = self._reaper.stuck
        found = dict.fromkeys([*self, *stuck])
        snapshots = [call.snapshot(is_stuck=call in stuck) for call in found]
        return sorted(snapshots, key=lambda call: -call.seconds)

    def _cancel_silently(self, call: Execution, ending: Callable[[], CallError]) -> None:
        """End a call whose caller gets the error only if it requests the next page.

        A raised error keeps its frames and all their values, so only `ending` is stored.
        """
        with self._endings_lock:
            self._endings[call.jvm, call.call_id] = ending
            if len(self._endings) > _ENDINGS_KEPT:
                del self._endings[next(iter(self._endings))]
        self.cancel(call, ending())

    def _stop(self, call: Execution, reason: CallError) -> bool:
        """Cancel a call; if it is idle, remove it, return True and keep its lock."""
        call.cancel(reason)
        if not call.lock.acquire(blocking=False):
            return False
        self.remove(call)
        return True

    def _finish(self, call: Execution) -> None:
        try:
            self.clean_up(call)
        finally:
            call.lock.release()


def _lease_expired(name: str, lease_seconds: float) -> StreamExpired:
    return StreamExpired(f"No more rows of `{name}` were requested within {lease_seconds:g} s")
