"""Logs and metrics: what happened in which call, never what was in it."""

import logging
import sys
import traceback
from pathlib import Path
from typing import Any, Final, Literal

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from structlog.typing import FilteringBoundLogger

from sidecypher.errors import SidecypherError

LogFormat = Literal["json", "console"]

_SECONDS: Final = (0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)


def configure_logging(level: str, log_format: LogFormat) -> None:
    """Send structured logs to standard error.

    Args:
        level: `DEBUG`, `INFO`, `WARNING` or `ERROR`. Pages served are logged at `DEBUG`.
        log_format: `json` for machines, `console` for people.
    """
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def logger() -> FilteringBoundLogger:
    """Return the sidecar's logger."""
    return structlog.get_logger()  # type: ignore[no-any-return]


def call_logger(call_id: str, procedure: str) -> FilteringBoundLogger:
    """Return a logger whose lines carry the call's id and procedure."""
    # Bound lazily: a body that never logs pays nothing.
    return structlog.get_logger(call=call_id, procedure=procedure)  # type: ignore[no-any-return]


class Telemetry:
    """Counts and logs calls.

    Attributes:
        metrics: What `/metrics` shows.
    """

    def __init__(self) -> None:
        self.metrics: Final = CollectorRegistry()
        self._log = logger()
        # Asked once: even a log call that prints nothing costs as much as decoding a small call.
        self._is_debug = self._log.is_enabled_for(logging.DEBUG)
        self._calls = Counter(
            "sidecypher_calls",
            "Calls and pages served, by procedure and outcome (`ok` or an error code)",
            ["procedure", "outcome"],
            registry=self.metrics,
        )
        self._rows = Counter("sidecypher_rows", "Rows sent", ["procedure"], registry=self.metrics)
        self._seconds = Histogram(
            "sidecypher_call_seconds",
            "Seconds a call or page took in Python, callbacks included",
            ["procedure"],
            buckets=_SECONDS,
            registry=self.metrics,
        )
        self.connections: Final = Gauge(
            "sidecypher_connections", "Open connections of JVMs", registry=self.metrics
        )
        self.open_calls: Final = Gauge(
            "sidecypher_open_calls", "Calls served or with rows left", registry=self.metrics
        )
        self.load_failures: Final = Gauge(
            "sidecypher_load_failures", "Modules that could not be loaded", registry=self.metrics
        )
        # `labels()` takes a lock and builds a key; a call must not pay for that each time.
        self._served: dict[str, tuple[Counter, Counter, Histogram]] = {}

    def connected(self, *, same: bool) -> None:
        """Log that a JVM has come, and whether its plugin has the catalogue that is loaded."""
        if same:
            self._log.info("plugin connected")
        else:
            self._log.warning(
                "plugin connected",
                reason="it was built for other procedures; those that differ will be refused",
            )

    def served(self, procedure: str, call_id: str, rows: int, seconds: float) -> None:
        """Count a page that was produced, and log it at `DEBUG`."""
        if self._is_debug:
            self._log.debug(
                "page served", procedure=procedure, call=call_id, rows=rows, seconds=seconds
            )
        series = self._served.get(procedure)
        if series is None:
            series = self._served[procedure] = (
                self._calls.labels(procedure, "ok"),
                self._rows.labels(procedure),
                self._seconds.labels(procedure),
            )
        series[0].inc()
        series[1].inc(rows)
        series[2].observe(seconds)

    def failed(self, procedure: str, call_id: str, error: SidecypherError, seconds: float) -> None:
        """Count and log a call that ended in an error."""
        self._calls.labels(procedure, _label(error)).inc()
        self._seconds.labels(procedure).observe(seconds)
        self._log.warning(
            "call failed",
            procedure=procedure,
            call=call_id,
            code=error.code,
            seconds=round(seconds, 4),
        )

    def refused(self, procedure: str, error: SidecypherError) -> None:
        """Count a call that was not started; an unknown name is no label of its own."""
        known = "unknown" if error.code == "SC-203" else procedure
        self._calls.labels(known, _label(error)).inc()
        self._log.warning("call refused", procedure=known, code=error.code)

    def unexpected(self, procedure: str, call_id: str, error: BaseException) -> None:
        """Log where a body failed; an exception's text may hold data, so it is left out."""
        frames = traceback.extract_tb(error.__traceback__)
        self._log.error(
            "unexpected exception",
            procedure=procedure,
            call=call_id,
            type=type(error).__name__,
            frames=[
                f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-12:]
            ],
        )


def _label(error: SidecypherError) -> str:
    """Return a label from a bounded set: an author's own codes are counted as one."""
    return error.code if error.code.startswith("SC-") else "SC-201"
