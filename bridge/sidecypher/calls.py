"""The calls that are open, and how they end when nobody wants their rows any more."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

from sidecypher.errors import CallError, ProtocolError, StreamExpired
from sidecypher.executors import CLEANUP_SECONDS, Running
from sidecypher.reaper import Reaper
from sidecypher.registry import Procedure
from sidecypher.state import CallBack, CallState, cancelled, deadline_exceeded
from sidecypher.telemetry import Observation

OVERDUE_SECONDS: Final = 1.0
"""How long after its deadline a call that its caller did not cancel is cancelled here."""

_ENDINGS_KEPT: Final = 1024
"""Calls that ended between two pages, whose callers may still ask for the next one."""


@dataclass(slots=True, eq=False)
class Call:
    """A call that has started and may have more rows.

    Attributes:
        jvm: Who called.
        refusal: What answers `ctx.run` where there is no transaction for it.
        begun: When, on the monotonic clock.
        rested: When its latest page was ready.
        seconds_left: Of its procedure's timeout, where the caller keeps to another one.
        reserved: Bytes of its arguments that are counted.
        broken: What the body raised after the rows of the page before.
        lock: Held by the thread that serves or closes it.
    """

    procedure: Procedure
    state: CallState
    running: Running
    observed: Observation
    jvm: str
    refusal: CallBack | None
    begun: float
    rested: float
    seconds_left: float = math.inf
    pages: int = 0
    reserved: int = 0
    broken: CallError | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def call_id(self) -> str:
        """The call's identifier, the same in both logs."""
        return self.state.call_id

    @property
    def name(self) -> str:
        """Cypher name of what was called."""
        return self.procedure.name

    @property
    def is_busy(self) -> bool:
        """Whether a thread or task works on it."""
        return self.lock.locked() or self.running.lingers

    @property
    def is_overdue(self) -> bool:
        """Whether it is served beyond its deadline, and its caller does not cancel it."""
        return self.state.deadline.is_past_by(
            OVERDUE_SECONDS if self.seconds_left == math.inf else 0.0
        )

    def interrupt(self) -> None:
        """Raise an exception in its body, if that can be done."""
        self.running.interrupt()


@dataclass(frozen=True, slots=True)
class RunningCall:
    """What others may know of an open call.

    Attributes:
        seconds: How long ago it began.
        rows: Rows sent so far.
        done: How far its body says it has come, if it does.
        total: What it will have done at its end, if it knows.
        state: `running`, `waiting` for its caller to ask for more rows, `stopping` after a cancel,
            or `stuck` when it does not stop.
    """

    call_id: str
    name: str
    user: str
    database: str
    seconds: float
    rows: int
    done: float | None
    total: float | None
    state: Literal["running", "waiting", "stopping", "stuck"]


class OpenCalls:
    """Every call that is served, has rows left, or will not stop."""

    def __init__(self, lease_seconds: float, argument_bytes: int) -> None:
        """Know of none yet.

        Args:
            lease_seconds: How long a call may wait for its next page to be asked for.
            argument_bytes: How much all calls may `reserve`.
        """
        self._lease_seconds = lease_seconds
        self._bytes_left = argument_bytes
        self._bytes_lock: Final = threading.Lock()
        self._calls: dict[str, Call] = {}
        self._closing: dict[Call, float] = {}
        self._endings: dict[tuple[str, str], Callable[[], CallError]] = {}
        self._endings_lock: Final = threading.Lock()
        self._reaper: Final[Reaper[Call]] = Reaper()

    def __len__(self) -> int:
        """Return how many are served or have rows left."""
        return len(self._calls)

    def __contains__(self, call_id: str) -> bool:
        """Tell whether a call of that id is served or has rows left."""
        return call_id in self._calls

    def __iter__(self) -> Iterator[Call]:
        """Iterate over those that are served or have rows left."""
        return iter(list(self._calls.values()))

    @property
    def busy(self) -> int:
        """How many a thread works on now, clean-up included."""
        return sum(call.state.served for call in self) + len(self._closing)

    @property
    def stuck(self) -> int:
        """How many do not stop though they were cancelled."""
        return len(self._reaper.stuck)

    def reserve(self, count: int) -> bool:
        """Count the arguments of a call that is to begin; tell whether there is room for them."""
        with self._bytes_lock:
            if count > self._bytes_left:
                return False
            self._bytes_left -= count
        return True

    def release(self, count: int) -> None:
        """Count them no more; `forget` does so itself."""
        with self._bytes_lock:
            self._bytes_left += count

    def add(self, call: Call) -> None:
        """Open a call, under an id of its own."""
        self._calls[call.call_id] = call

    def find(self, call_id: str, jvm: str) -> Call:
        """Return an open call of a JVM.

        Raises:
            StreamExpired: Nobody asked for its next page in time.
            CallCancelled: It was cancelled here, between two pages.
            ProtocolError: It is not open.
        """
        call = self._calls.get(call_id)
        if call is not None and call.jvm == jvm:
            return call
        ending = self._endings.get((jvm, call_id))
        if ending is not None:
            raise ending()
        raise ProtocolError("The call whose next page is asked for is not open")

    def forget(self, call: Call) -> None:
        """Take a call out: it is over."""
        if self._calls.pop(call.call_id, None) is not None and call.reserved:
            self.release(call.reserved)
        call.state.end()
        if call.running.lingers:
            self._reaper.watch(call)

    def close(self, call: Call) -> None:
        """Let the body of a call that is over clean up; nobody hears of what that raises."""
        self._closing[call] = time.monotonic()
        try:
            call.running.close()
        except BaseException as error:  # noqa: BLE001 - an author's `finally` may raise anything
            call.observed.unexpected(error)
        finally:
            del self._closing[call]
            if call.running.lingers:
                self._reaper.watch(call)

    def enough(self, call: Call) -> None:
        """End a call whose caller wants no more rows; return when its body has cleaned up."""
        if self._stop(call, cancelled(call.name)):
            call.observed.closed()
            self._finish(call)

    def abandon(self, call: Call, reason: CallError) -> None:
        """End a call that nobody waits for, and wait for nothing."""
        if not self._stop(call, reason):
            self._reaper.watch(call)
            return
        call.observed.failed(reason)
        # A body may take long to clean up, and others are to be told as well.
        thread = threading.Thread(
            target=self._finish, args=(call,), name="sidecypher-close", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            self._finish(call)

    def expire(self) -> None:
        """End what is idle for longer than the lease, and what is served beyond its deadline."""
        now = time.monotonic()
        for call in self:
            if call.state.served:
                if call.is_overdue:
                    self.abandon(call, deadline_exceeded(call.name))
            elif now - call.rested > self._lease_seconds:
                self._break_off(call, partial(_too_late, call.name, self._lease_seconds))
        for call, since in list(self._closing.items()):
            if now - since > CLEANUP_SECONDS:
                self._reaper.watch(call)

    def cancel(self, call_id: str) -> bool:
        """End a call, whoever made it, and wait for nothing; tell whether it was open or stuck."""
        call = self._calls.get(call_id)
        if call is not None:
            self._break_off(call, partial(cancelled, call.name))
            return True
        # Of a stuck call, which was cancelled before, nothing more can be ended.
        return any(stuck.call_id == call_id for stuck in self._reaper.stuck)

    def running(self) -> list[RunningCall]:
        """Return what is open now, the oldest first."""
        stuck = self._reaper.stuck
        found = dict.fromkeys([*self, *stuck])
        facts = [_facts(call, is_stuck=call in stuck) for call in found]
        return sorted(facts, key=lambda fact: -fact.seconds)

    def _break_off(self, call: Call, ending: Callable[[], CallError]) -> None:
        """End a call whose caller may ask for its next page, and is told the reason then.

        An error that was raised holds frames, and all that is in them: it must not be kept.
        """
        with self._endings_lock:
            self._endings[call.jvm, call.call_id] = ending
            if len(self._endings) > _ENDINGS_KEPT:
                del self._endings[next(iter(self._endings))]
        self.abandon(call, ending())

    def _stop(self, call: Call, reason: CallError) -> bool:
        """Cancel a call; tell whether it is idle, and then hold its lock."""
        call.running.cancel(reason)
        if not call.lock.acquire(blocking=False):
            return False
        self.forget(call)
        return True

    def _finish(self, call: Call) -> None:
        try:
            self.close(call)
        finally:
            call.lock.release()


def _too_late(name: str, lease_seconds: float) -> StreamExpired:
    return StreamExpired(f"Nobody asked for more rows of `{name}` within {lease_seconds:g} s")


def _facts(call: Call, *, is_stuck: bool) -> RunningCall:
    state = call.state
    return RunningCall(
        call_id=state.call_id,
        name=call.name,
        user=state.user,
        database=state.database,
        seconds=time.monotonic() - call.begun,
        rows=call.observed.rows,
        done=state.done,
        total=state.total,
        state="stuck"
        if is_stuck
        else "stopping"
        if state.stopped
        else "running"
        if state.served
        else "waiting",
    )
