"""The one path of a call: admit, decode, run, encode. Every transport ends here."""

import contextlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from sidecypher import envelope, tracing
from sidecypher.calls import Call, OpenCalls, RunningCall
from sidecypher.context import Context
from sidecypher.envelope import (
    CallHead,
    CallRequest,
    CancelRequest,
    CloseRequest,
    Done,
    ErrorBody,
    ErrorReply,
    FailuresRequest,
    Hello,
    HelloReply,
    Noted,
    PageReply,
    PageRequest,
    Refused,
)
from sidecypher.errors import (
    CallError,
    CatalogueMismatch,
    MessageTooLarge,
    ProtocolError,
    SidecarBusy,
    SidecarStopping,
    SidecypherError,
)
from sidecypher.executors import (
    PAGE_ROWS,
    AsyncRunning,
    EventLoop,
    Page,
    ProcessRunning,
    ProcessWorkers,
    Running,
    StreamRunning,
    ThreadRunning,
)
from sidecypher.interrupts import CallInterrupted
from sidecypher.registry import Procedure, Registry
from sidecypher.resources import Resources
from sidecypher.signature import Answer
from sidecypher.state import (
    CallBack,
    CallState,
    cancelled,
    deadline_exceeded,
    no_transaction_in_function,
    no_transaction_in_worker,
    procedure_failed,
)
from sidecypher.telemetry import Telemetry
from sidecypher.threads import SpareThreads
from sidecypher.types import Deadline, Limits

_SMALL_BYTES: Final = 64 * 1024

_REFUSED: Final[dict[type[SidecypherError], Refused]] = {
    SidecarStopping: "stopping",
    SidecarBusy: "busy",
}
"""Errors of admission after which another sidecar may begin the call."""


@dataclass(slots=True)
class Session:
    """One connection, as dispatch sees it.

    Attributes:
        call_back: How a body on this connection reaches the caller's transaction.
        jvm: Who is at the other end, from `hello` on.
        is_control: Whether its end means that the JVM has gone.
        is_surplus: Whether the sidecar has as many connections for calls as it takes.
    """

    call_back: CallBack
    jvm: str = ""
    is_control: bool = False
    is_surplus: bool = False


class Dispatcher:
    """Answers the messages of all transports.

    Attributes:
        generation: Identity of this start of the sidecar.
    """

    def __init__(
        self,
        registry: Registry,
        loop: EventLoop,
        resources: Resources,
        telemetry: Telemetry,
        limits: Limits,
        *,
        workers: ProcessWorkers | None = None,
    ) -> None:
        """Serve a registry.

        Args:
            registry: The procedures and functions.
            loop: Where async bodies run.
            resources: What bodies share.
            telemetry: What is told of calls.
            limits: What is accepted.
            workers: Where bodies of `executor="process"` run; without them, on threads.
        """
        self.registry = registry
        self._workers = workers
        self.generation: Final = secrets.token_hex(16)
        self._loop = loop
        self._resources = resources
        self._telemetry = telemetry
        self._limits = limits
        self._calls = OpenCalls(limits.lease_seconds, limits.argument_bytes)
        self._threads: Final = SpareThreads("sidecypher-stream")
        self._stopping: CallError | None = None
        self._controls: dict[str, Session] = {}
        self._methods: Final[dict[str, Callable[[bytes, Session], bytes]]] = {
            "hello": self._hello,
            "call": self._call,
            "page": self._page,
            "close": self._close,
            "cancel": self._cancel,
            "failures": self._failures,
        }

    def handle(self, method: str, payload: bytes, session: Session) -> bytes:
        """Answer one message.

        Args:
            method: `hello`, `call`, `page`, `close`, `cancel` or `failures`.
            payload: The request's envelope.
            session: The connection it came by.

        Returns:
            The reply's envelope; an error of the call is in it.

        Raises:
            ProtocolError: The peer does not speak the protocol; close the connection.
        """
        try:
            answer = self._methods[method]
        except KeyError:
            raise ProtocolError("The peer asked for a method that does not exist") from None
        if not session.jvm and method != "hello":
            raise ProtocolError("The peer sent a message before its hello")
        return answer(payload, session)

    @property
    def open_calls(self) -> int:
        """Calls that are being served or have rows left."""
        return len(self._calls)

    @property
    def serving_calls(self) -> int:
        """Calls that a thread works on now."""
        return self._calls.busy

    @property
    def stuck(self) -> int:
        """Calls that do not stop though they were cancelled."""
        return self._calls.stuck

    def running(self) -> list[RunningCall]:
        """Return the calls that are open now, the oldest first."""
        return self._calls.running()

    def swap(self, registry: Registry) -> None:
        """Serve another registry from the next call on; calls in flight end with what they have."""
        self.registry = registry

    def expire(self) -> None:
        """End what nobody wants any more; to be called several times a second."""
        self._calls.expire()

    def _hello(self, payload: bytes, session: Session) -> bytes:
        hello = envelope.read(payload, Hello)
        if hello.v != envelope.VERSION:
            self._telemetry.rejected("connection refused", "another version")
            mismatch = CatalogueMismatch(
                f"The plugin speaks version {hello.v} of the protocol, "
                f"the sidecar version {envelope.VERSION}"
            )
            return envelope.write(HelloReply(envelope.VERSION, error=ErrorBody.of(mismatch)))
        if session.is_surplus and hello.role == "call":
            self._telemetry.rejected("connection refused", "too many connections")
            error = CallError(
                f"The sidecar has {self._limits.connections} connections for calls already",
                code="SC-211",
                retryable=True,
            )
            return envelope.write(
                HelloReply(envelope.VERSION, busy=True, error=ErrorBody.of(error))
            )
        session.jvm = hello.jvm
        session.is_control = hello.role == "control"
        if session.is_control:
            self._controls[session.jvm] = session
            self._telemetry.connected(same=hello.catalogue == self.registry.catalogue.hash)
        return envelope.write(
            HelloReply(
                envelope.VERSION,
                sidecar=self.generation,
                catalogue=self.registry.catalogue.hash,
                failures=True,
            )
        )

    def _call(self, payload: bytes, session: Session) -> bytes:
        # Small ones are bounded by how many connections there are.
        reserved = len(payload) if len(payload) > _SMALL_BYTES else 0
        if reserved and not self._calls.reserve(reserved):
            return self._refused(envelope.read(payload, CallHead), _busy())
        call: Call | None = None
        try:
            request = envelope.read(payload, CallRequest)
            deadline = Deadline.after(request.remaining_ms / 1000)
            try:
                call = self._admit(request, session)
            except SidecypherError as error:
                return self._refused(request, error)
            call.reserved = reserved
        finally:
            if call is None and reserved:
                self._calls.release(reserved)
        return self._serve(call, session, deadline, len(payload))

    def _admit(self, request: CallRequest, session: Session) -> Call:
        registry = self.registry
        found = registry.get(request.name, request.kind)
        if self._stopping is not None:
            raise self._stopping
        if request.signature != found.entry.signature:
            raise CatalogueMismatch(f"Plugin and sidecar disagree about `{request.name}`")
        if request.id in self._calls:
            raise ProtocolError("The peer used a call id twice")
        procedure, arguments = found.resolve(request.args, registry)
        state = CallState(request.id, procedure.name, request.database, request.user)
        observed = self._telemetry.call(state, request.kind, request.traceparent)
        with tracing.current(observed.span):
            if procedure.options.executor == "process" and self._workers is not None:
                is_stream = procedure.signature.answer is Answer.ITERATOR
                run = self._threads.run if is_stream else None
                running: Running = ProcessRunning(
                    self._workers, run, request, state, observed.queued
                )
            else:
                running = self._running(procedure, arguments, state)
        now = time.monotonic()
        call = Call(procedure, state, running, observed, session.jvm, _refusal(procedure), now, now)
        if procedure is not found:
            # The caller's time is that of the procedure by which it has called this one.
            call.seconds_left = procedure.entry.timeout_ms / 1000
        self._calls.add(call)
        return call

    def _running(self, procedure: Procedure, arguments: list[Any], state: CallState) -> Running:
        context = Context(state, self._resources, is_async=procedure.is_async)
        if procedure.is_async:
            return AsyncRunning(self._loop, procedure, arguments, context, state)
        if procedure.signature.answer is Answer.ITERATOR:
            return StreamRunning(self._threads.run, procedure, arguments, context, state)
        return ThreadRunning(procedure, arguments, context, state)

    def _refused(self, request: CallRequest | CallHead, error: SidecypherError) -> bytes:
        self._telemetry.refused(request, error)
        reply = ErrorReply(request.id, ErrorBody.of(error), _REFUSED.get(type(error), ""))
        return envelope.write(reply)

    def _page(self, payload: bytes, session: Session) -> bytes:
        request = envelope.read(payload, PageRequest)
        try:
            call = self._calls.find(request.id, session.jvm)
        except SidecypherError as error:
            return envelope.write(ErrorReply(request.id, ErrorBody.of(error)))
        deadline = Deadline.after(request.remaining_ms / 1000)
        return self._serve(call, session, deadline, len(payload))

    def _serve(self, call: Call, session: Session, deadline: Deadline, received: int) -> bytes:
        """Produce one page on the current thread."""
        if not call.lock.acquire(blocking=False):
            if call.state.stopped:
                return envelope.write(ErrorReply(call.call_id, ErrorBody.of(call.state.reason)))
            raise ProtocolError("The peer asked for two pages of one call at a time")
        begun = time.perf_counter()
        deadline = deadline.at_most(call.seconds_left)
        page = Page(
            call.procedure,
            PAGE_ROWS[min(call.pages, len(PAGE_ROWS) - 1)],
            self._limits.page_bytes,
        )
        call.pages += 1
        call.state.serve(call.refusal or session.call_back, deadline)
        try:
            more = self._fill(call, page)
            rows = page.take()
            reply = self._reply(call, rows, more=more)
            seconds = time.perf_counter() - begun
            call.observed.page(len(rows), seconds, received, len(reply), last=not more)
        except BaseException as error:  # noqa: BLE001 - a body may raise anything, SystemExit too
            return self._failed(call, error, time.perf_counter() - begun)
        finally:
            call.state.rest(Deadline.after(self._limits.lease_seconds))
            call.seconds_left -= time.perf_counter() - begun
            call.rested = time.monotonic()
            call.lock.release()
        if not more:
            self._calls.forget(call)
        elif call.state.stopped:
            # Cancelled after the page was made: nobody will ask for the next one.
            self._calls.abandon(call, call.state.reason)
        return reply

    def _fill(self, call: Call, page: Page) -> bool:
        """Have the body add rows; keep an error that comes after some of them for the next page."""
        if call.broken is not None:
            raise call.broken
        # Who wants no answer any more may have said so before this thread had the call's lock.
        if call.state.stopped:
            raise call.state.reason
        try:
            return call.running.fill(page)
        except BaseException as error:
            # What the body wrote must not be committed by a caller that reads no further.
            if not page.rows or not call.procedure.is_read:
                raise
            call.state.check()
            # An error that was raised holds frames, and all that is in them: it must not be kept.
            call.broken = ErrorBody.of(self._known(call, error)).error()
            return True

    def _reply(self, call: Call, rows: list[msgspec.Raw], *, more: bool) -> bytes:
        # Nobody waits for a page that was cancelled or comes too late; its generator must not stay.
        call.state.check()
        reply = envelope.write(PageReply(call.state.call_id, rows, more))
        if len(reply) > self._limits.message_bytes:
            raise MessageTooLarge(
                f"A page of `{call.procedure.name}` has {len(reply)} bytes, "
                f"{self._limits.message_bytes} are allowed",
                hint="Return smaller rows.",
            )
        return reply

    def _failed(self, call: Call, error: BaseException, seconds: float) -> bytes:
        self._calls.forget(call)
        known = self._known(call, error)
        call.observed.failed(known, seconds)
        self._calls.close(call)
        return envelope.write(ErrorReply(call.state.call_id, ErrorBody.of(known)))

    def _known(self, call: Call, error: BaseException) -> SidecypherError:
        """Return the error Cypher may see; of any other, only its type is told."""
        if call.state.failure is not None:
            return call.state.failure
        if isinstance(error, SidecypherError):
            return error
        if isinstance(error, CallInterrupted):
            return call.state.reason
        call.observed.unexpected(error)
        return procedure_failed(call.name, error, call.call_id)

    def _close(self, payload: bytes, session: Session) -> bytes:
        request = envelope.read(payload, CloseRequest)
        with contextlib.suppress(CallError):
            self._calls.enough(self._calls.find(request.id, session.jvm))
        return envelope.write(Done(request.id))

    def _cancel(self, payload: bytes, session: Session) -> bytes:
        """Answer the message by which a caller ends a call of its own: it asks for no more."""
        request = envelope.read(payload, CancelRequest)
        with contextlib.suppress(CallError):
            call = self._calls.find(request.id, session.jvm)
            late = request.reason == "deadline"
            self._calls.abandon(
                call, deadline_exceeded(call.name) if late else cancelled(call.name)
            )
        return envelope.write(Done(request.id))

    def _failures(self, payload: bytes, session: Session) -> bytes:
        request = envelope.read(payload, FailuresRequest)
        if not session.is_control:
            raise ProtocolError("The peer told its failures on a connection of calls")
        self._telemetry.plugin_failures.tell(session, session.jvm, request.failures)
        return envelope.write(Noted())

    def disconnected(self, session: Session) -> None:
        """Cancel the calls of a JVM whose control connection has ended, and forget its failures."""
        if not session.is_control:
            return
        self._telemetry.plugin_failures.forget(session)
        if self._controls.get(session.jvm) is not session:
            # The JVM has connected again before this end was noticed.
            return
        del self._controls[session.jvm]
        for call in self._calls:
            if call.jvm == session.jvm:
                self._calls.abandon(call, cancelled(call.name))

    def cancel(self, call_id: str) -> bool:
        """Cancel a call for a person, whoever made it; return at once.

        Unlike the message `cancel`, its caller knows nothing of it, and is told when it asks for
        the next page.

        Returns:
            Whether such a call is open or stuck.
        """
        return self._calls.cancel(call_id)

    def refuse_new(self) -> None:
        """Answer every further call with an error: the sidecar is stopping."""
        self._stopping = SidecarStopping(
            "The sidecar is stopping", hint="Call again.", retryable=True
        )

    def cancel_all(self) -> None:
        """Cancel every open call."""
        for call in self._calls:
            self._calls.abandon(call, cancelled(call.name))


def _busy() -> SidecarBusy:
    return SidecarBusy(
        "The sidecar works on as many bytes of arguments as it may",
        hint="Call again later, with less at once.",
        retryable=True,
    )


def _refusal(procedure: Procedure) -> CallBack | None:
    """Return what answers `ctx.run` where a body has no part in its caller's transaction."""
    if procedure.kind == "function":
        return no_transaction_in_function
    if procedure.options.executor == "process":
        return no_transaction_in_worker
    return None
