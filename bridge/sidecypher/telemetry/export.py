"""Export of the spans of calls and of authors' functions to a collector.

Only `sidecypher.telemetry._otlp` imports OpenTelemetry's SDK, and only when traces are kept. Other
sidecars do not need it, and do not load it.
"""

from typing import TYPE_CHECKING

from sidecypher.errors import SettingsError

if TYPE_CHECKING:
    from sidecypher.telemetry._otlp import SpanExport


def export_spans() -> "SpanExport":
    """Start to send spans to the address in the variables `OTEL_*`.

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
