"""Spans over OTLP, with OpenTelemetry's SDK."""

import logging
import os
import threading
from collections.abc import Sequence
from typing import Final

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Tracer

from sidecypher.errors import SettingsError
from sidecypher.telemetry.calls import logger

_NAME: Final = "sidecypher"


class SpanExport:
    """Exporter of ended spans, in batches and on its own thread, so that no call waits for it.

    It also exports spans that functions make with OpenTelemetry's API.
    """

    def __init__(self) -> None:
        """Start the exporter.

        Raises:
            SettingsError: A variable `OTEL_*` has a value that cannot be used.
        """
        _redirect_log()
        try:
            self._exporter = _Counting(OTLPSpanExporter())
            self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
            self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        except ValueError:
            raise SettingsError(
                "A variable `OTEL_*` has a value that cannot be used",
                hint="Compare them with OpenTelemetry's list of environment variables.",
            ) from None
        trace.set_tracer_provider(self._provider)
        self.tracer: Final[Tracer] = self._provider.get_tracer(_NAME)

    @property
    def lost(self) -> int:
        """Number of spans that could not be sent."""
        return self._exporter.lost

    def stop(self, seconds: float) -> None:
        """Send the remaining spans, and give up after so many seconds."""
        # On a daemon thread, since the SDK waits for a collector without a limit.
        sending = threading.Thread(
            target=self._provider.shutdown, name="sidecypher-spans", daemon=True
        )
        sending.start()
        sending.join(seconds)
        if sending.is_alive():
            logger().warning("spans lost", reason="the collector did not take them in time")


class _Counting(SpanExporter):
    """Exporter that counts and logs the spans that another exporter could not send."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.lost = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self.lost += len(spans)
            logger().warning("spans lost", spans=len(spans), reason="the collector took none")
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _resource() -> Resource:
    """Return the attributes of this process for all spans; the user's variables override them."""
    own = Resource({"service.name": _NAME, "process.pid": os.getpid()})
    return Resource.create(own.merge(OTELResourceDetector().detect()).attributes)


class _LogHandler(logging.Handler):
    """Handler that writes OpenTelemetry's warnings to the sidecar's log."""

    def emit(self, record: logging.LogRecord) -> None:
        # The text without its arguments, which may be a header or an address.
        logger().warning("tracing problem", problem=str(record.msg))


def _redirect_log() -> None:
    sdk_logger = logging.getLogger("opentelemetry")
    sdk_logger.handlers = [_LogHandler(logging.WARNING)]
    sdk_logger.propagate = False
