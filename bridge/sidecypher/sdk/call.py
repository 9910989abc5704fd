"""`Call`: the state of one call that its serving threads, event loop and canceller share."""

import contextlib
import re
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
from sidecypher.sdk.caching import check_tags
from sidecypher.sdk.interruption import InterruptibleSection
from sidecypher.sdk.work_item import WorkItem

_NO_TIME: Final = Deadline(0.0)
_NO_WORD: Final = re.compile(r"\W")


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
    """Refuse `ctx.run` in a Cypher function, which has no part in the caller's transaction.

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
    """Return the error that Cypher sees for an unexpected exception: its type, never its text."""
    # A class may have any text as its name.
    kind = _NO_WORD.sub("_", type(error).__name__)[:100]
    return ProcedureFailed(f"`{name}` failed with {kind} in call {call_id}")


def deadline_exceeded(name: str) -> DeadlineExceeded:
    """Return the error of a call whose time is used up."""
    return DeadlineExceeded(
        f"`{name}` did not answer within its time",
        hint="Do less per call, or raise the procedure's `timeout`.",
    )


def cancelled(name: str) -> CallCancelled:
    """Return the error of a call whose caller has stopped waiting."""
    return CallCancelled(f"The call to `{name}` was cancelled")


class Call:
    """One call, shared by the threads that serve, run and cancel it.

    Attributes:
        deadline: Time by which the message being served must have been answered.
        failure: First statement that failed; it dooms the call.
        inbox: Work for the serving thread from a function that runs elsewhere, and its results.
        function_thread: The thread of a function that runs elsewhere: the event loop or a stream.
        section: The part of a plain function in which its thread may be interrupted.
        done: Progress of the function, if it reports any.
        total: The value of `done` at the function's end, if it knows that.
        cache_seconds: How long its rows may be kept, as its function says; None if it does not.
        cache_tags: The tags with which they may be kept.
        projection: The table that its function gets; None if it gets none.
        has_run: Whether its function used `ctx.run`.
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
        self.function_thread: int | None = None
        self.section: InterruptibleSection | None = None
        self.done: float | None = None
        self.total: float | None = None
        self.cache_seconds: float | None = None
        self.cache_tags: tuple[str, ...] = ()
        self.projection: Any = None
        self.has_run = False
        self.is_over = False
        self._cancelled: CallError | None = None
        self._serving: tuple[int, CallBack] | None = None

    def serve(self, call_back: CallBack, deadline: Deadline) -> None:
        """Start to serve a message: callbacks use `call_back`, on the current thread only."""
        self.deadline = deadline
        self._serving = (get_ident(), call_back)

    def suspend(self, deadline: Deadline = _NO_TIME) -> None:
        """End a message: a callback waits for the next one, which must come by `deadline`."""
        self._serving = None
        self.deadline = deadline

    def end(self) -> None:
        """End the call, and its context with it."""
        self.is_over = True
        if self.inbox is not None:
            self._refuse_work(self.inbox)

    def submit(self, item: WorkItem) -> None:
        """Send work to the thread that serves this message or the next; refuse it after both.

        Raises:
            ContextExpired: The function runs on another thread.
        """
        if self.inbox is None or get_ident() != self.function_thread:
            raise self.expired()
        self.inbox.put(item)
        # Checked after `put`: this thread sees that the call is over, or `end` sees the item.
        if self.is_over:
            self._refuse_work(self.inbox)

    def _refuse_work(self, inbox: SimpleQueue[Any]) -> None:
        with contextlib.suppress(Empty):
            while True:
                item = inbox.get_nowait()
                if isinstance(item, WorkItem):
                    item.refuse(self._cancelled or self.expired())

    def cancel(self, reason: CallError) -> None:
        """Make `check` raise `reason` from now on; does not wait."""
        self._cancelled = self._cancelled or reason

    def check(self) -> None:
        """Raise if the call was cancelled or doomed, or its time is used up."""
        if self._cancelled is not None:
            raise self._cancelled
        if self.failure is not None:
            raise self.failure
        if self.is_over:
            raise self.expired()
        if self.deadline.expired():
            raise deadline_exceeded(self.name)

    def progress(self, done: float, total: float | None) -> None:
        """Set the progress of the function."""
        if self.is_over:
            raise self.expired()
        # Lists of calls cannot show other numbers, such as those of numpy.
        self.done, self.total = float(done), None if total is None else float(total)

    def cache(self, seconds: float, tags: tuple[str, ...]) -> None:
        """Let the rows be kept; of several requests the shortest time and all tags count."""
        if self.is_over:
            raise self.expired()
        check_tags(tags)
        seconds = float(seconds)
        if not seconds >= 0:
            raise ValueError("Rows can be kept for 0 seconds or longer")
        before = self.cache_seconds
        self.cache_seconds = seconds if before is None else min(before, seconds)
        self.cache_tags += tags

    def call_back(self, method: str, request: CallBackRequest) -> RunReply:
        """Send one callback from the thread that serves the call; return its reply.

        The function of a stream waits until that thread has sent it.

        Raises:
            ContextExpired: This is another thread.
        """
        serving = self._serving
        if serving is not None and serving[0] == get_ident():
            send = serving[1]
        elif self.section is not None and self.function_thread == get_ident():
            send = self._send_by_serving_thread
        else:
            raise self.expired()
        if self.section is None:
            return send(method, request)
        # An exception in the middle of a message would leave half of it on the wire.
        self.section.leave()
        try:
            return send(method, request)
        finally:
            self.section.enter()

    def _send_by_serving_thread(self, method: str, request: CallBackRequest) -> RunReply:
        item = WorkItem(partial(self.send, method, request))
        self.submit(item)
        reply: RunReply = item.result.result()
        return reply

    def send(self, method: str, request: CallBackRequest) -> RunReply:
        """Send one callback on the thread that serves the call, outside of its function.

        Raises:
            ContextExpired: No message is served.
        """
        if self._serving is None:
            raise self.expired()
        return self._serving[1](method, request)

    def expired(self) -> ContextExpired:
        """Return the error of a context that is used after its call or on another thread."""
        return ContextExpired(
            f"The context was used outside of its call to `{self.name}`",
            hint="Use the context only in the function that received it, and on its thread.",
        )

    @property
    def is_cancelled(self) -> bool:
        """Whether the call was cancelled."""
        return self._cancelled is not None

    @property
    def reason(self) -> CallError:
        """Reason of the cancellation."""
        return self._cancelled or cancelled(self.name)

    @property
    def is_served(self) -> bool:
        """Whether a thread of the sidecar is serving the call."""
        return self._serving is not None
