"""`CallState`: what serving threads, event loop and canceller know of one call."""

import contextlib
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final

from sidecypher.errands import Errand
from sidecypher.errors import (
    CallCancelled,
    CallError,
    ContextExpired,
    CypherError,
    DeadlineExceeded,
    NoTransaction,
)
from sidecypher.types import Deadline

CallBack = Callable[[str, bytes], bytes]
"""Sends `run`, `next` or `discard` with its envelope to the caller's thread; returns the reply."""

_NO_TIME: Final = Deadline(0.0)


def no_transaction(_method: str, _request: bytes) -> bytes:
    """Refuse `ctx.run` where the transport has no transaction.

    Raises:
        NoTransaction: Always.
    """
    raise NoTransaction(
        "There is no transaction for `ctx.run` on this transport",
        hint="Call the procedure from Cypher, or give the test environment a `run`.",
    )


def deadline_exceeded(name: str) -> DeadlineExceeded:
    """Return the error of a call that has used up its time."""
    return DeadlineExceeded(
        f"`{name}` did not answer within its time",
        hint="Do less per call, or raise the procedure's `timeout`.",
    )


def cancelled(name: str) -> CallCancelled:
    """Return the error of a call whose caller does not wait any more."""
    return CallCancelled(f"The call to `{name}` was cancelled")


class CallState:
    """The facts of one call that serving threads, loop and canceller share.

    Attributes:
        deadline: When the message being served must have been answered.
        failure: First statement that failed; it dooms the call.
        inbox: What the event loop hands to the serving thread: errands, and jobs that are done.
    """

    def __init__(self, call_id: str, name: str, database: str, user: str) -> None:
        self.call_id = call_id
        self.name = name
        self.database = database
        self.user = user
        self.deadline = _NO_TIME
        self.failure: CypherError | None = None
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self._stopped: CallError | None = None
        self._serving: tuple[int, CallBack] | None = None

    def serve(self, call_back: CallBack, deadline: Deadline) -> None:
        """Begin a message: callbacks go through `call_back`, on the current thread only."""
        self.deadline = deadline
        self._serving = (threading.get_ident(), call_back)

    def rest(self) -> None:
        """End a message: no callback is possible until the next one."""
        self._serving = None
        if not self.inbox.empty():
            self._refuse_errands()

    def hand(self, errand: Errand) -> None:
        """Hand an errand of an async body to the serving thread, or refuse it if there is none."""
        self.inbox.put(errand)
        # Asked afterwards: whoever comes second, this or `rest`, sees what the other one did.
        if self._serving is None:
            self._refuse_errands()

    def _refuse_errands(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                item = self.inbox.get_nowait()
                if isinstance(item, Errand):
                    item.refuse(self._outside())

    def stop(self, reason: CallError) -> None:
        """Make `check` raise `reason` from now on."""
        self._stopped = self._stopped or reason

    def check(self) -> None:
        """Raise if the call was cancelled, doomed, or has used up its time."""
        if self._stopped is not None:
            raise self._stopped
        if self.failure is not None:
            raise self.failure
        if self.deadline.expired():
            raise deadline_exceeded(self.name)

    def call_back(self, method: str, request: bytes) -> bytes:
        """Send one callback from the thread that serves the call; return its reply.

        Raises:
            ContextExpired: This is another thread, or no message is being served.
        """
        if self._serving is None or self._serving[0] != threading.get_ident():
            raise self._outside()
        return self._serving[1](method, request)

    def _outside(self) -> ContextExpired:
        return ContextExpired(
            f"`ctx.run` was used outside of its call to `{self.name}`",
            hint="Use the context only in the body it was given to, on the body's own thread.",
        )

    @property
    def stopped(self) -> bool:
        """Whether the call was cancelled."""
        return self._stopped is not None

    @property
    def served(self) -> bool:
        """Whether a thread of the sidecar serves the call now."""
        return self._serving is not None
