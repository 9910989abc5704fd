"""Spans of calls, and of what bodies do, on their way to a collector.

Only `sidecypher.telemetry._otlp` imports OpenTelemetry's SDK, and only when traces are kept. A
sidecar that keeps none does not need it and does not have it in memory.
"""

from typing import TYPE_CHECKING

from sidecypher.errors import SettingsError

if TYPE_CHECKING:
    from sidecypher.telemetry._otlp import SpanExport


def export_spans() -> "SpanExport":
    """Begin to send spans to where the variables `OTEL_*` say.

    Raises:
        SettingsError: The SDK is not installed, or a variable has a value that cannot be used.
    """
    try:
        from sidecypher.telemetry._otlp import SpanExport  # noqa: PLC0415 - see above
    except ModuleNotFoundError:
        raise SettingsError(
            "The setting `traces` needs OpenTelemetry's SDK, which is not installed",
            hint="Install `sidecypher[otel]`, or leave `traces` off.",
        ) from None
    return SpanExport()
