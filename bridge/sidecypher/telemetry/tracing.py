"""OpenTelemetry: one span per call, child of the caller's span, parent of the function's spans."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from opentelemetry import context, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sidecypher.protocol.envelope import CallHead

_propagator: Final = TraceContextTextMapPropagator()


def start(tracer: Tracer, facts: CallHead, kind: str, traceparent: str) -> Span:
    """Start the span of a call, the child of `traceparent` (W3C Trace Context) if there is one."""
    return tracer.start_span(
        facts.name,
        _propagator.extract({"traceparent": traceparent}, context.Context()),
        SpanKind.SERVER,
        {
            "sidecypher.kind": kind,
            "sidecypher.call": facts.call_id,
            "db.system.name": "neo4j",
            "db.namespace": facts.database,
            "user.name": facts.user,
        },
    )


def end(span: Span, outcome: str, rows: int) -> None:
    """End the span of a call: `ok`, `closed`, or an error's code."""
    span.set_attributes({"sidecypher.outcome": outcome, "sidecypher.rows": rows})
    if outcome not in {"ok", "closed"}:
        span.set_status(Status(StatusCode.ERROR, outcome))
    span.end()


def current(span: Span | None) -> AbstractContextManager[object]:
    """Make a span the current one, so that spans inside become its children."""
    if span is None:
        return nullcontext()
    # An exception's text may hold data. `end` sets the error by its code alone.
    return trace.use_span(span, record_exception=False, set_status_on_exception=False)


def traceparent() -> str:
    """Return the current span in the format of W3C Trace Context, or `""` without a span.

    Example:
        >>> traceparent()
        ''
    """
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return carrier.get("traceparent", "")


@contextmanager
def continued(traceparent: str) -> Iterator[None]:
    """Make a span of another process the current one, around a function in a worker."""
    if not traceparent:
        yield
        return
    token = context.attach(_propagator.extract({"traceparent": traceparent}))
    try:
        yield
    finally:
        context.detach(token)
