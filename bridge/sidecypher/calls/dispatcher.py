"""Dispatcher of calls: admit, decode, run, encode. Every transport uses it."""

import contextlib
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from sidecypher.calls._open_calls import OpenCalls
from sidecypher.calls.executors._async import AsyncExecution
from sidecypher.calls.executors._pages import PAGE_ROWS, Rows, joined
from sidecypher.calls.executors._process import ProcessExecution, Workers
from sidecypher.calls.executors._thread import StreamExecution, ThreadExecution
from sidecypher.calls.executors.execution import Execution
from sidecypher.calls.executors.loop import EventLoop
from sidecypher.calls.executors.pool import ProcessWorkers
from sidecypher.calls.executors.ray.cluster import ClusterState, RayCluster
from sidecypher.calls.reservation import Reservation
from sidecypher.errors import (
    CallError,
    CatalogueMismatch,
    ClusterUnavailable,
    MessageTooLarge,
    ProtocolError,
    SidecarBusy,
    SidecarStopping,
    SidecypherError,
)
from sidecypher.host.epochs import Epochs
from sidecypher.host.limits import Limits
from sidecypher.host.threads import SpareThreads
from sidecypher.protocol import envelope
from sidecypher.protocol.deadline import Deadline
from sidecypher.sdk.call import cancelled, deadline_exceeded, procedure_failed
from sidecypher.sdk.interruption import CallInterrupted
from sidecypher.sdk.registry import Procedure, Registry
from sidecypher.sdk.resources import Resources
from sidecypher.sdk.signature.model import ReturnKind
from sidecypher.telemetry import tracing
from sidecypher.telemetry.calls import Telemetry, log_unexpected

_NO_ROWS: Final = b"[]"

_FRAME_BYTES: Final = len(
    envelope.write(envelope.PageReply("", msgspec.Raw(_NO_ROWS), more=False))
) - len(_NO_ROWS)
"""Bytes of a page besides its rows and the call's id."""

_LONGEST_CACHE_SECONDS: Final = 86_400.0

_REFUSED: Final[dict[type[SidecypherError], envelope.Refused]] = {
    SidecarStopping: "stopping",
    SidecarBusy: "busy",
    ClusterUnavailable: "lacking",
}
"""Errors of admission after which another sidecar may start the call."""


@dataclass(slots=True)
class Session:
    """One connection, as the dispatcher sees it.

    Attributes:
        call_back: Sends the requests of a function to the caller's transaction.
        jvm: Identity of the JVM that connected, set by `hello`.
        is_control: Whether its end means that the JVM has ended.
        is_surplus: Whether it exceeds the limit of connections for calls.
    """

    call_back: envelope.CallBack
    jvm: str = ""
    is_control: bool = False
    is_surplus: bool = False


class Dispatcher:
    """Dispatcher of the messages of all transports.

    Attributes:
        generation: Identity of this start of the sidecar.
        calls: The calls that are served, have rows left, or will not stop.
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
        ray: RayCluster | None = None,
        epochs: Epochs | None = None,
    ) -> None:
        """Serve a registry.

        Without `workers`, functions with `executor="process"` run on threads, and those with
        `executor="ray"` without `ray`. Without `epochs`, plugins keep no rows.
        """
        self.registry = registry
        self._workers = workers
        self._ray = ray
        self._epochs = epochs
        self.generation: Final = secrets.token_hex(16)
        self._loop = loop
        self._resources = resources
        self._telemetry = telemetry
        self._limits = limits
        self.calls: Final = OpenCalls(limits.lease_seconds, limits.argument_bytes)
        self._threads: Final = SpareThreads("sidecypher-stream")
        self._stopping: CallError | None = None
        self._controls: dict[str, Session] = {}
        self.left_at: datetime | None = None
        """When a JVM has disconnected last."""

    @property
    def jvms(self) -> int:
        """Number of JVMs that are connected."""
        return len(self._controls)

    def cached_calls(self) -> dict[str, list[envelope.CachedCalls]]:
        """Return what plugins keep, by the identity of their JVM."""
        latest = self._telemetry.plugin_reports.latest()
        return {jvm: report.cache for jvm, report in latest.items()}

    def cluster_state(self) -> ClusterState:
        """Return the state of the Ray cluster."""
        return ClusterState() if self._ray is None else self._ray.state()

    def swap(self, registry: Registry) -> None:
        """Serve another registry from the next call on; running calls keep the one they have."""
        self.registry = registry

    def hello(self, hello: envelope.Hello, session: Session) -> envelope.HelloReply:
        """Start a session, or refuse it."""
        if hello.v != envelope.VERSION:
            self._telemetry.rejected("connection refused", "another version")
            mismatch = CatalogueMismatch(
                f"The plugin speaks version {hello.v} of the protocol, "
                f"the sidecar version {envelope.VERSION}"
            )
            return envelope.HelloReply(envelope.VERSION, error=envelope.ErrorBody.of(mismatch))
        if session.is_surplus and hello.role == "call":
            self._telemetry.rejected("connection refused", "too many connections")
            error = CallError(
                f"The sidecar has {self._limits.connections} connections for calls already",
                code="SC-211",
                retryable=True,
            )
            return envelope.HelloReply(
                envelope.VERSION, busy=True, error=envelope.ErrorBody.of(error)
            )
        session.jvm = hello.jvm
        session.is_control = hello.role == "control"
        if session.is_control:
            self._controls[session.jvm] = session
            self._telemetry.connected(same=hello.catalogue == self.registry.catalogue.hash)
        return envelope.HelloReply(
            envelope.VERSION,
            sidecar=self.generation,
            catalogue=self.registry.catalogue.hash,
            failures=True,
        )

    def call(
        self,
        request: envelope.CallRequest,
        session: Session,
        reservation: Reservation | None = None,
    ) -> envelope.CallReply:
        """Start a call, which keeps `reservation` until it ends, and return its first page."""
        deadline = Deadline.after(request.remaining_ms / 1000)
        try:
            call = self._admit(request, session, reservation or Reservation())
        except SidecypherError as error:
            return self.refuse(request, error)
        return self._serve(call, session, deadline, call.reservation.size)

    def refuse(self, request: envelope.CallHead, error: SidecypherError) -> envelope.ErrorReply:
        """Count a refused call, and return the reply to it."""
        self._telemetry.refused(request, error)
        return envelope.ErrorReply(
            request.id, envelope.ErrorBody.of(error), _REFUSED.get(type(error), "")
        )

    def _admit(
        self, request: envelope.CallRequest, session: Session, reservation: Reservation
    ) -> Execution:
        registry = self.registry
        found = registry.get(request.name, request.kind)
        if self._stopping is not None:
            raise self._stopping
        if request.signature != found.entry.signature:
            raise CatalogueMismatch(f"Plugin and sidecar disagree about `{request.name}`")
        if request.id in self.calls:
            raise ProtocolError("The peer used a call id twice")
        try:
            procedure, arguments = found.resolve(request.args, registry)
        except SidecypherError:
            raise
        except Exception as error:  # noqa: BLE001
            # An author's validator of options raised an unexpected error.
            log_unexpected(error, procedure=found.name, call=request.id)
            raise procedure_failed(found.name, error, request.id) from None
        if procedure.executor == "ray" and self._ray is not None:
            self._ray.check(procedure.name)
        # The observation gets no call: the two would refer to each other.
        head = envelope.CallHead(request.id, procedure.name, request.database, request.user)
        observed = self._telemetry.call(head, request.kind, request.traceparent)
        with tracing.current(observed.span):
            call = self._execution(request, procedure, arguments)
        if procedure.project:
            call.projected = procedure.parameters(arguments)
        call.observed = observed
        call.jvm = session.jvm
        call.reservation = reservation
        if self._epochs is not None and procedure is found and found.cache_seconds is not None:
            call.change = self._epochs.change
        if procedure is not found:
            # The caller's timeout is that of the procedure that resolved to this one.
            call.seconds_left = procedure.entry.timeout_ms / 1000
        reservation.keep()
        self.calls.add(call)
        return call

    def _execution(
        self, request: envelope.CallRequest, procedure: Procedure, arguments: list[Any]
    ) -> Execution:
        resources = self._resources
        is_stream = procedure.signature.returns is ReturnKind.ITERATOR
        workers = self._workers_of(procedure)
        if workers is not None:
            run = self._threads.run if is_stream else None
            return ProcessExecution(workers, run, request, procedure)
        if procedure.is_async:
            return AsyncExecution(self._loop, request, procedure, arguments, resources)
        if is_stream:
            return StreamExecution(self._threads.run, request, procedure, arguments, resources)
        return ThreadExecution(request, procedure, arguments, resources)

    def _workers_of(self, procedure: Procedure) -> Workers | None:
        """Return the processes that run a procedure; None if this one does."""
        if procedure.executor == "process":
            return self._workers
        if procedure.executor == "ray" and self._ray is not None:
            return self._ray.workers(procedure)
        return None

    def page(self, request: envelope.PageRequest, session: Session) -> envelope.CallReply:
        """Return the next page of an open call."""
        try:
            call = self.calls.find(request.id, session.jvm)
        except SidecypherError as error:
            return envelope.ErrorReply(request.id, envelope.ErrorBody.of(error))
        return self._serve(call, session, Deadline.after(request.remaining_ms / 1000))

    def _serve(
        self, call: Execution, session: Session, deadline: Deadline, received: int = 0
    ) -> envelope.CallReply:
        """Return one page, made on the current thread."""
        if not call.lock.acquire(blocking=False):
            if call.is_cancelled:
                return envelope.ErrorReply(call.call_id, envelope.ErrorBody.of(call.reason))
            raise ProtocolError("The peer requested two pages of one call at a time")
        started = time.perf_counter()
        deadline = deadline.at_most(call.seconds_left)
        # Only rows of one page can be kept, so that one is as large as any.
        pages_begun = len(PAGE_ROWS) if call.change is not None else call.pages_begun
        page_rows = PAGE_ROWS[min(pages_begun, len(PAGE_ROWS) - 1)]
        call.pages.begin(page_rows, self._limits.page_bytes)
        call.pages_begun += 1
        call.serve(call.refusal or session.call_back, deadline)
        try:
            rows, more = self._fill(call)
            page = joined(rows)
            sent = self._size(call, page.json)
            seconds = time.perf_counter() - started
            call.observed.page(page.count, seconds, received, sent, last=not more)
        except BaseException as error:  # noqa: BLE001 - a function may raise anything, SystemExit too
            return self._failed(call, error, time.perf_counter() - started)
        finally:
            # Before it is idle: `expire` runs on another thread, and would count this page's time.
            call.idle_since = time.monotonic()
            call.suspend(Deadline.after(self._limits.lease_seconds))
            call.seconds_left -= time.perf_counter() - started
            call.lock.release()
        if not more:
            self.calls.remove(call)
        elif call.is_cancelled:
            # Cancelled after the page was made: its caller will not request the next one.
            self.calls.cancel(call, call.reason)
        cache = None if more or call.change is None else self._validity(call)
        return envelope.PageReply(call.call_id, msgspec.Raw(page.json), more, cache)

    def _validity(self, call: Execution) -> envelope.Validity | None:
        """Return how long the plugin may keep the rows of a call that has ended."""
        seconds = call.cache_seconds
        if seconds is None:
            seconds = call.procedure.cache_seconds
        # What depends on the graph changes with it, and the plugin has only the first page.
        if self._epochs is None or not seconds or call.has_run or call.pages_begun > 1:
            return None
        epochs = self._epochs.of(call.cache_tags)
        # After any change since the call began its data may be older than these epochs.
        if self._epochs.change != call.change:
            return None
        milliseconds = int(min(seconds, _LONGEST_CACHE_SECONDS) * 1000)
        return envelope.Validity(self._epochs.identity, milliseconds, epochs)

    def _fill(self, call: Execution) -> tuple[list[Rows], bool]:
        """Return the rows of the page, and whether more may follow: rows or an error."""
        pages = call.pages
        # The call may have been cancelled before this thread acquired its lock.
        if call.is_cancelled:
            raise call.reason
        if pages.has_more and (call.pending_error is not None or pages.is_full):
            return pages.take(), True
        if call.pending_error is not None:
            raise call.pending_error
        call.project(self._limits.projection_bytes)
        try:
            more = call.fill()
        except BaseException as error:
            # A caller that reads no further must not commit the writes of the function.
            if not pages.has_more or not call.procedure.is_read:
                raise
            call.check()
            # A raised error keeps its frames and all their values, so a copy is stored.
            call.pending_error = envelope.ErrorBody.of(self._public_error(call, error)).error()
            return pages.take(), True
        rows = pages.take()
        return rows, more or pages.has_more

    def _size(self, call: Execution, rows: bytes) -> int:
        """Return the size of the page's message in bytes; raise if it may not be sent."""
        # Nobody reads a cancelled or late page; raising here closes its generator.
        call.check()
        size = _FRAME_BYTES + len(call.call_id) + len(rows)
        if size > self._limits.message_bytes:
            raise MessageTooLarge(
                f"A page of `{call.procedure.name}` has {size} bytes, "
                f"{self._limits.message_bytes} are allowed",
                hint="Return smaller rows.",
            )
        return size

    def _failed(self, call: Execution, error: BaseException, seconds: float) -> envelope.ErrorReply:
        known = self._public_error(call, error)
        # The error may be of rows that were to be sent while the function works on the next one.
        if call.is_still_running and not call.is_cancelled:
            call.cancel(cancelled(call.name))
        self.calls.remove(call)
        call.observed.failed(known, seconds)
        self.calls.clean_up(call)
        return envelope.ErrorReply(call.call_id, envelope.ErrorBody.of(known))

    def _public_error(self, call: Execution, error: BaseException) -> SidecypherError:
        """Return the error that Cypher may see; for an unexpected one, only its type."""
        if call.failure is not None:
            return call.failure
        if isinstance(error, SidecypherError):
            return error
        if isinstance(error, CallInterrupted):
            return call.reason
        call.observed.unexpected(error)
        return procedure_failed(call.name, error, call.call_id)

    def close(self, request: envelope.CloseRequest, session: Session) -> envelope.Done:
        """End a call whose caller reads no more rows; wait for its function to clean up."""
        with contextlib.suppress(CallError):
            self.calls.close_stream(self.calls.find(request.id, session.jvm))
        return envelope.Done(request.id)

    def cancel(self, request: envelope.CancelRequest, session: Session) -> envelope.Done:
        """End a call for its own caller, which requests no further page; do not wait."""
        ending = deadline_exceeded if request.reason == "deadline" else cancelled
        self.calls.cancel_for_caller(session.jvm, request.id, ending)
        return envelope.Done(request.id)

    def failures(self, request: envelope.FailuresRequest, session: Session) -> envelope.Noted:
        """Record the calls that a plugin has ended or answered by itself.

        Raises:
            ProtocolError: They arrived on a connection for calls.
        """
        if not session.is_control:
            raise ProtocolError("The peer sent its failures over a connection for calls")
        self._telemetry.plugin_reports.update(session, session.jvm, request)
        return envelope.Noted()

    def disconnected(self, session: Session) -> None:
        """Cancel the calls of a JVM whose control connection has ended, and forget its failures."""
        if not session.is_control:
            return
        self._telemetry.plugin_reports.forget(session)
        if self._controls.get(session.jvm) is not session:
            # The JVM connected again before this end was noticed.
            return
        del self._controls[session.jvm]
        self.left_at = datetime.now(UTC)
        for call in self.calls:
            if call.jvm == session.jvm:
                self.calls.cancel(call, cancelled(call.name))

    def refuse_new(self) -> None:
        """Answer every further call with an error: the sidecar is stopping."""
        self._stopping = SidecarStopping(
            "The sidecar is stopping", hint="Call again.", retryable=True
        )

    def cancel_all(self) -> None:
        """Cancel every open call."""
        for call in self.calls:
            self.calls.cancel(call, cancelled(call.name))
