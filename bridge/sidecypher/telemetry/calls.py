"""Logs, metrics and traces of calls, without the contents of calls."""

import contextlib
import io
import logging
import os
import re
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any, Final, Literal

import structlog
from opentelemetry.trace import Span, Tracer
from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from structlog.typing import EventDict, FilteringBoundLogger

from sidecypher.errors import SidecypherError, UnknownProcedure, sendable
from sidecypher.host.terminal import visible
from sidecypher.protocol.envelope import CallHead
from sidecypher.telemetry import tracing
from sidecypher.telemetry.failed_calls import FailedCall, FailedCalls
from sidecypher.telemetry.history import History
from sidecypher.telemetry.metrics import CallMetrics, PluginReports, Series

LogFormat = Literal["json", "console"]
Rejection = Literal["connection refused", "connection closed", "request refused"]

_TRANSPORTS: Final[dict[Rejection, str]] = {
    "connection refused": "py4j",
    "connection closed": "py4j",
    "request refused": "http",
}

_OUR_CODE: Final = re.compile(r"SC-\d{3}\Z")

_QUIET_SECONDS: Final = 1.0
"""Pause between two log lines about rejections for one reason: a stranger may connect thousands of
times a second, and must not fill the disk."""

_CODE_LENGTH: Final = 100
"""Characters that are kept of an author's own error code."""


class _StandardError(io.StringIO):
    """The current `sys.stderr` at each write; a lost line must not fail a call.

    A test runner sets a `sys.stderr` for each test and closes it afterwards, and the disk may be
    full.
    """

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.flush()


def configure_logging(level: str, log_format: LogFormat) -> None:
    """Send structured logs to standard error.

    Args:
        level: `DEBUG`, `INFO`, `WARNING` or `ERROR`. Successful calls are logged at `DEBUG`.
        log_format: `json` for machines, `console` for people.
    """
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        # A convention of many programs: https://no-color.org
        else structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        )
    )
    structlog.configure(
        processors=[
            # JSON escapes control characters by itself.
            *([] if log_format == "json" else [_visible_values]),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(file=_StandardError()),
        cache_logger_on_first_use=True,
    )


def _visible_values(_logger: object, _method: str, values: EventDict) -> EventDict:
    return {
        name: visible(value) if isinstance(value, str) else value for name, value in values.items()
    }


def logger() -> FilteringBoundLogger:
    """Return the sidecar's logger."""
    return structlog.get_logger()  # type: ignore[no-any-return]


def call_logger(call_id: str, procedure: str) -> FilteringBoundLogger:
    """Return a logger whose lines carry the call's id and procedure."""
    # Bound lazily: a function that never logs pays nothing.
    return structlog.get_logger(call=call_id, procedure=procedure)  # type: ignore[no-any-return]


def log_unexpected(error: BaseException, **named: str) -> None:
    """Log the place where a function failed, without the exception's text, which may hold data."""
    frames = traceback.extract_tb(error.__traceback__)
    logger().error(
        "unexpected exception",
        **named,
        type=type(error).__name__,
        frames=[
            f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-12:]
        ],
    )


class Observation:
    """Counts, log lines and span of one call, from its admission to its end.

    A call is counted once, when it is over, by its outcome: `ok`, `closed` (the caller wanted no
    more rows) or an error's code.

    Attributes:
        rows: Rows sent so far.
        seconds: Time spent in Python so far, callbacks included.
        span: The call's span, if traces are kept; it must be the current one in the function.
    """

    __slots__ = ("_facts", "_is_over", "_series", "_telemetry", "rows", "seconds", "span")

    def __init__(
        self, telemetry: "Telemetry", series: Series, facts: CallHead, span: Span | None
    ) -> None:
        self.rows = 0
        self.seconds = 0.0
        self.span = span
        self._telemetry = telemetry
        self._series = series
        self._facts = facts
        self._is_over = False

    def queued(self, seconds: float) -> None:
        """Count the time that the call waited before its function could start."""
        with self._series.lock:
            self._series.queued.observe(seconds)

    def page(self, rows: int, seconds: float, received: int, sent: int, *, last: bool) -> None:
        """Count a page that was produced; with the last one the call is over.

        Args:
            rows: Rows of this page.
            seconds: Seconds that producing it took.
            received: Bytes of the request.
            sent: Bytes of the reply.
            last: Whether no further page follows.
        """
        self.rows += rows
        self.seconds += seconds
        series = self._series
        with series.lock:
            series.page(rows, received, sent)
            if last:
                series.end("ok", self.seconds)
        if last:
            self._finish("ok", None)

    def failed(self, error: SidecypherError, seconds: float = 0.0) -> None:
        """Count and log a call that ended in an error after `seconds` more."""
        self.seconds += seconds
        self._end(_label(error), error)

    def closed(self) -> None:
        """Count a call whose caller wanted no more rows."""
        self._end("closed", None)

    def unexpected(self, error: BaseException) -> None:
        """Log the place where a function failed."""
        log_unexpected(error, **self._named())

    def _end(self, outcome: str, error: SidecypherError | None) -> None:
        if self._is_over:
            return
        with self._series.lock:
            self._series.end(outcome, self.seconds)
        self._finish(outcome, error)

    def _finish(self, outcome: str, error: SidecypherError | None) -> None:
        self._is_over = True
        if self.span is not None:
            tracing.end(self.span, outcome, self.rows)
        if error is not None:
            self._telemetry.log.warning(
                "call failed", code=error.code, **self._numbers(), **self._named()
            )
            self._telemetry.remember(self._facts, self._facts.name, error, self.seconds)
        elif self._telemetry.is_debug:
            event = "call served" if outcome == "ok" else "call closed"
            self._telemetry.log.debug(event, **self._numbers(), **self._named())

    def _numbers(self) -> dict[str, float]:
        return {"rows": self.rows, "seconds": round(self.seconds, 6)}

    def _named(self) -> dict[str, str]:
        facts = self._facts
        return {
            "procedure": facts.name,
            "call": facts.call_id,
            "user": facts.user,
            "database": facts.database,
        }


class Telemetry:
    """Metrics, log and traces of all calls.

    Attributes:
        plugin_reports: Calls that did not reach the sidecar, as plugins report them.
        is_debug: Whether successful calls are logged.
    """

    def __init__(self, tracer: Tracer | None = None) -> None:
        """Start to count at zero.

        Args:
            tracer: Makes a span for each call; without it, calls have no spans, at no cost.
        """
        self.metrics: Final = CollectorRegistry()
        ProcessCollector(registry=self.metrics)
        self._tracer = tracer
        self.calls: Final = CallMetrics()
        self.history: Final = History(self.calls)
        self.metrics.register(self.calls)
        self.failed_calls: Final = FailedCalls()
        self.plugin_reports: Final = PluginReports()
        self.metrics.register(self.plugin_reports)
        self.log: Final = logger()
        # Read once: even a log call that prints nothing costs as much as decoding a small call.
        self.is_debug: Final[bool] = self.log.is_enabled_for(logging.DEBUG)
        self.connections: Final = self._gauge("connections", "Open connections of JVMs")
        self.open_calls: Final = self._gauge("open_calls", "Calls served or with rows left")
        self.stuck_calls: Final = self._gauge("stuck_calls", "Cancelled calls that do not stop")
        self.worker_restarts: Final = self._gauge(
            "worker_restarts", "Worker processes that took the place of a lost one"
        )
        self.crash_looping: Final = self._gauge(
            "workers_crash_looping", "1 when worker processes die one after the other"
        )
        self.ray_tasks: Final = self._gauge("ray_tasks", "Calls that a Ray cluster runs or queues")
        self.ray_nodes: Final = self._gauge("ray_nodes", "Nodes of the Ray cluster that are alive")
        self.ray_cpus: Final = self._gauge("ray_cpus", "CPUs of the nodes that are alive")
        self.load_failures: Final = self._gauge("load_failures", "Modules that could not be loaded")
        self.lost_spans: Final = self._gauge("lost_spans", "Spans that could not be sent")
        self._mismatches = Counter(
            "sidecypher_mismatched_plugins",
            "Connections of plugins that were built for other procedures",
            registry=self.metrics,
        )

        self._rejected = Counter(
            "sidecypher_rejected",
            "Connections and requests that were turned away, whatever call they were for",
            ["transport", "reason"],
            registry=self.metrics,
        )
        self._refusals: dict[tuple[str, str], tuple[float, int]] = {}
        self._refusals_lock = threading.Lock()

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(f"sidecypher_{name}", text, registry=self.metrics)

    def connected(self, *, same: bool) -> None:
        """Log that a JVM has connected, and whether its plugin has the loaded catalogue."""
        if same:
            self.log.info("plugin connected")
        else:
            self._mismatches.inc()
            self.log.warning(
                "plugin connected",
                reason="it was built for other procedures; those that differ will be refused",
            )

    def rejected(self, event: Rejection, reason: str, **facts: str) -> None:
        """Count a rejection before any call, and log one a second for each reason.

        Args:
            event: Kind of rejection.
            reason: One of a few texts, never one that a peer has sent.
            facts: Further fields of the log line.
        """
        self._rejected.labels(_TRANSPORTS[event], reason).inc()
        untold = self._count_unlogged((event, reason))
        if untold is not None:
            log = self.log.bind(untold=untold) if untold else self.log
            log.warning(event, reason=reason, **facts)

    def _count_unlogged(self, kind: tuple[str, str]) -> int | None:
        """Return the number of unlogged rejections of a kind before this one; None in a pause."""
        now = time.monotonic()
        with self._refusals_lock:
            quiet_until, unlogged = self._refusals.get(kind, (now, 0))
            is_logged = now >= quiet_until
            self._refusals[kind] = (
                (now + _QUIET_SECONDS, 0) if is_logged else (quiet_until, unlogged + 1)
            )
        return unlogged if is_logged else None

    def call(self, facts: CallHead, kind: str, traceparent: str = "") -> Observation:
        """Start to observe an admitted call.

        Args:
            facts: The call's id, name and caller; `name` is one of the registry.
            kind: `procedure` or `function`.
            traceparent: The caller's span, as W3C Trace Context writes it, or empty.
        """
        span = None
        if self._tracer is not None:
            span = tracing.start(self._tracer, facts, kind, traceparent)
        return Observation(self, self.calls.series(facts.name), facts, span)

    def refused(self, facts: CallHead, error: SidecypherError) -> None:
        """Count a call that was not started; an unknown name is not its own label."""
        known = "unknown" if isinstance(error, UnknownProcedure) else facts.name
        series = self.calls.series(known)
        with series.lock:
            series.count(_label(error))
        self.log.warning("call refused", procedure=known, code=error.code)
        self.remember(facts, known, error)

    def remember(
        self, facts: CallHead, name: str, error: SidecypherError, seconds: float = 0.0
    ) -> None:
        """Add a call to the latest failed ones."""
        code = sendable(error.code)[:_CODE_LENGTH]
        self.failed_calls.add(
            FailedCall(facts.call_id, name, code, facts.user, facts.database, seconds)
        )


def _label(error: SidecypherError) -> str:
    """Return a label from a bounded set: an author's own codes are counted as one."""
    code = str(error.code)
    return code if _OUR_CODE.match(code) else "SC-201"
