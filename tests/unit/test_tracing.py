"""Each call is one span: the child of its caller's, the parent of what its body does."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from sidecypher.errors import ProcedureError
from sidecypher.sdk.call import Call
from sidecypher.telemetry import tracing
from sidecypher.telemetry.calls import Telemetry

SECRET = "hunter2-payload"
CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
STATE = Call("call-1", "kg.a", "people", "ann")


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("test")
    provider.shutdown()


@pytest.fixture
def telemetry(tracer):
    return Telemetry(tracer)


def test_without_a_tracer_there_are_no_spans():
    """Who keeps no traces pays for none."""
    observed = Telemetry().call(STATE, "procedure", CALLER)

    assert observed.span is None
    with tracing.current(observed.span):
        assert tracing.traceparent() == ""


def test_a_call_is_a_span_with_its_facts(telemetry, exporter):
    """The span is named after the procedure and knows call, caller, outcome and rows."""
    telemetry.call(STATE, "procedure").page(3, 0.1, 1, 1, last=True)

    [span] = exporter.get_finished_spans()
    assert (span.name, span.kind, span.parent) == ("kg.a", SpanKind.SERVER, None)
    assert dict(span.attributes) == {
        "sidecypher.kind": "procedure",
        "sidecypher.call": "call-1",
        "sidecypher.outcome": "ok",
        "sidecypher.rows": 3,
        "db.system.name": "neo4j",
        "db.namespace": "people",
        "user.name": "ann",
    }
    assert span.status.status_code is StatusCode.UNSET


def test_a_call_continues_its_callers_trace(telemetry, exporter):
    """With a `traceparent` the span is a child of the caller's."""
    telemetry.call(STATE, "procedure", CALLER).closed()

    [span] = exporter.get_finished_spans()
    assert trace.format_trace_id(span.context.trace_id) == CALLER.split("-")[1]
    assert trace.format_span_id(span.parent.span_id) == CALLER.split("-")[2]


@pytest.mark.parametrize("traceparent", ["", "nonsense", "00-0-0-00", "ff" * 40, "\x00\n"])
def test_a_traceparent_that_is_none_begins_a_new_trace(telemetry, exporter, traceparent):
    """What is not a `traceparent` is as good as none."""
    telemetry.call(STATE, "procedure", traceparent).closed()

    assert [span.parent for span in exporter.get_finished_spans()] == [None]


def test_a_trace_of_the_serving_thread_is_not_mixed_in(telemetry, exporter, tracer):
    """The parent is the caller's span alone, whatever the serving thread is in."""
    with tracer.start_as_current_span("other"):
        telemetry.call(STATE, "procedure").closed()

    assert [span.parent for span in exporter.get_finished_spans()] == [None, None]


def test_a_failure_is_told_by_its_code_alone(telemetry, exporter):
    """A span that failed has the error's code; no text of it."""
    telemetry.call(STATE, "procedure").failed(ProcedureError(SECRET, code="kg.secret"))

    [span] = exporter.get_finished_spans()
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "SC-201")
    assert SECRET not in span.to_json()


def test_an_exception_inside_the_span_leaves_no_text(telemetry, exporter):
    """What passes through the current span is not recorded: it may hold data."""
    observed = telemetry.call(STATE, "procedure")
    with pytest.raises(ValueError, match=SECRET), tracing.current(observed.span):
        raise ValueError(SECRET)
    observed.closed()

    [span] = exporter.get_finished_spans()
    assert SECRET not in span.to_json()


def test_a_body_carries_its_span_on(telemetry, exporter):
    """Inside the span, `traceparent` tells it to others; a worker continues it and lets go."""
    observed = telemetry.call(STATE, "procedure", CALLER)
    with tracing.current(observed.span):
        carried = tracing.traceparent()
    observed.closed()

    [span] = exporter.get_finished_spans()
    assert carried.split("-")[1:3] == [
        CALLER.split("-")[1],
        trace.format_span_id(span.context.span_id),
    ]
    with tracing.continued(carried):
        assert tracing.traceparent() == carried
    assert tracing.traceparent() == ""


def test_without_a_trace_there_is_nothing_to_continue():
    """A worker that is given no trace is in none."""
    with tracing.continued(""):
        assert tracing.traceparent() == ""
