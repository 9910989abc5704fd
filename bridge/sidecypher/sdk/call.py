"""`Call`: what serving threads, event loop and canceller share of one call."""

import contextlib
from functools import partial
from queue import Empty, SimpleQueue
from threading import get_ident
from typing import Any, Final

from sidecypher.errors import (
    CallCancelled,
    CallError,
    ContextExpired,
    CypherError,
    DeadlineExceeded,
    NoTransaction,
    ProcedureFailed,
)
from sidecypher.protocol.deadline import Deadline
from sidecypher.protocol.envelope import CallBack, CallBackRequest, RunReply
from sidecypher.sdk.interruption import InterruptibleSection
from sidecypher.sdk.work import WorkItem

_NO_TIME: Final = Deadline(0.0)


def no_transaction(_method: str, _request: CallBackRequest) -> RunReply:
    """Refuse `ctx.run` where the transport has no transaction.

    Raises:
        NoTransaction: Always.
    """
    raise NoTransaction(
        "There is no transaction for `ctx.run` on this transport",
        hint="Call the procedure from Cypher, or give the test environment a `run`.",
    )


def no_transaction_in_function(_method: str, _request: CallBackRequest) -> RunReply:
    """Refuse `ctx.run` in a function: Cypher calls it for values, not in its own transaction.

    Raises:
        NoTransaction: Always.
    """
    raise NoTransaction(
        "A function has no transaction for `ctx.run`",
        hint="Make it a procedure, or pass what it needs as arguments.",
    )


def no_transaction_in_worker(_method: str, _request: CallBackRequest) -> RunReply:
    """Refuse `ctx.run` in a worker process, which has no part in the caller's transaction.

    Raises:
        ContextExpired: Always.
    """
    raise ContextExpired(
        "`ctx.run` was used in a worker process, which has no part in the caller's transaction",
        hint="Pass what the statement gives as an argument, or run the procedure on a thread.",
    )


def procedure_failed(name: str, error: BaseException, call_id: str) -> ProcedureFailed:
    """Return what Cypher may see of an unexpected exception: its type, never its text."""
    return ProcedureFailed(f"`{name}` failed with {type(error).__name__} in call {call_id}")


def deadline_exceeded(name: str) -> DeadlineExceeded:
    """Return the error of a call that has used up its time."""
    return DeadlineExceeded(
        f"`{name}` did not answer within its time",
        hint="Do less per call, or raise the procedure's `timeout`.",
    )


def cancelled(name: str) -> CallCancelled:
    """Return the error of a call whose caller does not wait any more."""
    return CallCancelled(f"The call to `{name}` was cancelled")


class Call:
    """One call, as the threads that serve, run and cancel it share it.

    Attributes:
        deadline: When the message being served must have been answered.
        failure: First statement that failed; it dooms the call.
        inbox: Work for the serving thread from a function that runs elsewhere, and its results.
        home: The thread of a function that runs elsewhere: the event loop's, or that of a stream.
        section: Of a plain function, where its thread may be interrupted.
        done: How far the function has come, if it reports progress.
        total: What it will have done at its end, if it knows.
        is_over: Whether the call has ended, and its context with it.
    """

    def __init__(self, call_id: str, name: str, database: str, user: str) -> None:
        self.call_id = call_id
        self.name = name
        self.database = database
        self.user = user
        self.deadline = _NO_TIME
        self.failure: CypherError | None = None
        self.inbox: SimpleQueue[Any] | None = None
        self.home: int | None = None
        self.section: InterruptibleSection | None = None
        self.done: float | None = None
        self.total: float | None = None
        self.is_over = False
        self._cancelled: CallError | None = None
        self._serving: tuple[int, CallBack] | None = None

    def serve(self, call_back: CallBack, deadline: Deadline) -> None:
        """Begin a message: callbacks go through `call_back`, on the current thread only."""
        self.deadline = deadline
        self._serving = (get_ident(), call_back)

    def rest(self, deadline: Deadline = _NO_TIME) -> None:
        """End a message: a callback waits for the next one, which is to come by `deadline`."""
        self._serving = None
        self.deadline = deadline

    def end(self) -> None:
        """End the call, and its context with it."""
        self.is_over = True
        if self.inbox is not None:
            self._refuse_work(self.inbox)

    def hand(self, item: WorkItem) -> None:
        """Hand work to the thread that serves this message or the next; refuse it after both.

        Raises:
            ContextExpired: This is not the thread the function runs on.
        """
        if self.inbox is None or get_ident() != self.home:
            raise self.outside()
        self.inbox.put(item)
        # Checked after `put`: this thread sees that the call is over, or `end` sees the item.
        if self.is_over:
            self._refuse_work(self.inbox)

    def _refuse_work(self, inbox: SimpleQueue[Any]) -> None:
        with contextlib.suppress(Empty):
            while True:
                item = inbox.get_nowait()
                if isinstance(item, WorkItem):
                    item.refuse(self._cancelled or self.outside())

    def cancel(self, reason: CallError) -> None:
        """Make `check` raise `reason` from now on; return at once."""
        self._cancelled = self._cancelled or reason

    def check(self) -> None:
        """Raise if the call was cancelled, doomed, or has used up its time."""
        if self._cancelled is not None:
            raise self._cancelled
        if self.failure is not None:
            raise self.failure
        if self.is_over:
            raise self.outside()
        if self.deadline.expired():
            raise deadline_exceeded(self.name)

    def progress(self, done: float, total: float | None) -> None:
        """Note how far the function has come."""
        if self.is_over:
            raise self.outside()
        # Lists of calls cannot show other numbers, such as those of numpy.
        self.done, self.total = float(done), None if total is None else float(total)

    def call_back(self, method: str, request: CallBackRequest) -> RunReply:
        """Send one callback from the thread that serves the call; return its reply.

        The function of a stream waits until that thread has done so.

        Raises:
            ContextExpired: This is another thread.
        """
        serving = self._serving
        if serving is not None and serving[0] == get_ident():
            send = serving[1]
        elif self.section is not None and self.home == get_ident():
            send = self._send_elsewhere
        else:
            raise self.outside()
        if self.section is None:
            return send(method, request)
        # An exception in the middle of a message would leave half of it on the wire.
        self.section.leave()
        try:
            return send(method, request)
        finally:
            self.section.enter()

    def _send_elsewhere(self, method: str, request: CallBackRequest) -> RunReply:
        item = WorkItem(partial(self._send, method, request))
        self.hand(item)
        reply: RunReply = item.result.result()
        return reply

    def _send(self, method: str, request: CallBackRequest) -> RunReply:
        if self._serving is None:
            raise self.outside()
        return self._serving[1](method, request)

    def outside(self) -> ContextExpired:
        """Return the error of a context that is used where its call is not."""
        return ContextExpired(
            f"The context was used outside of its call to `{self.name}`",
            hint="Use the context only in the body it was given to, on the body's own thread.",
        )

    @property
    def is_cancelled(self) -> bool:
        """Whether the call was cancelled."""
        return self._cancelled is not None

    @property
    def reason(self) -> CallError:
        """Why the call was cancelled."""
        return self._cancelled or cancelled(self.name)

    @property
    def is_served(self) -> bool:
        """Whether a thread of the sidecar serves the call now."""
        return self._serving is not None
