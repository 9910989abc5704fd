"""Procedures whose bodies make spans of their own, by OpenTelemetry's API."""

from opentelemetry import trace

from sidecypher import Row, procedure

tracer = trace.get_tracer("bodies")


class Spanned(Row):
    value: str


def spanned(value: str) -> Spanned:
    with tracer.start_as_current_span("inner"):
        return Spanned(value=value)


@procedure("test.spanned")
def on_a_thread(value: str) -> Spanned:
    """Return the text from inside of a span."""
    return spanned(value)


@procedure("test.spannedInAWorker", executor="process")
def in_a_worker(value: str) -> Spanned:
    """Return the text from inside of a span in a worker process."""
    return spanned(value)
