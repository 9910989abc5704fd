"""With `traces` on, each call is a span at the collector, in its caller's trace."""

import secrets
import socket
import time

import httpx
import pytest
from fix_http import HttpClient
from fix_waiting import wait_until
from neo4j.exceptions import ClientError

from sidecypher.app import END_SECONDS

pytestmark = pytest.mark.slow

TRACE = secrets.token_hex(16)
SPAN = "b7ad6b7169203331"
CALLER = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
PAYLOAD = f"payload {secrets.token_hex(12)}"


@pytest.fixture(scope="module")
def alone(server):
    """Keep the supervised sidecar down while these tests run."""
    server.await_sidecar()
    with server.sidecar_down():
        yield


@pytest.fixture
def call(driver):
    """Call a procedure inside the caller's trace."""

    def run(name, *arguments):
        given = {f"argument{index}": value for index, value in enumerate(arguments)}
        called = f"CALL {name}({', '.join('$' + each for each in given)})"
        with driver.session() as own, own.begin_transaction(metadata=CALLER) as tx:
            return tx.run(called, given).values()

    return run


@pytest.fixture
def traced(alone, another_sidecar):
    """Start the one sidecar that serves, with variables that turn traces on."""
    return another_sidecar


def test_a_call_is_a_span_of_its_callers_trace(traced, collector, call):
    """The span has the caller's as its parent, knows the call, and holds nothing of its data."""
    sidecar = traced(**collector.variables, OTEL_EXPORTER_OTLP_HEADERS="x-tenant=people")

    assert call("test.echo", PAYLOAD) == [[PAYLOAD]]

    span = collector.span("test.echo")
    assert (span.trace_id, span.parent_id, span.is_error) == (TRACE, SPAN, False)
    assert len(span.facts.pop("sidecypher.call")) > 10
    assert span.facts == {
        "sidecypher.kind": "procedure",
        "sidecypher.outcome": "ok",
        "sidecypher.rows": 1,
        "db.system.name": "neo4j",
        "db.namespace": "neo4j",
        "user.name": "neo4j",
    }
    assert (span.resource["service.name"], span.resource["process.pid"]) == (
        "sidecypher",
        sidecar.process.pid,
    )
    assert collector.headers[-1]["x-tenant"] == "people"
    assert PAYLOAD not in span.whole


def test_a_failed_call_is_a_span_with_its_code(traced, collector, call):
    """The status is an error with the code, and no text of it."""
    traced(**collector.variables, OTEL_SERVICE_NAME="another name")

    with pytest.raises(ClientError, match="SC-202"):
        call("test.fail", "value", PAYLOAD)

    span = collector.span("test.fail")
    assert (span.parent_id, span.is_error, span.error) == (SPAN, True, "SC-202")
    assert span.facts["sidecypher.outcome"] == "SC-202"
    assert span.resource["service.name"] == "another name"
    assert PAYLOAD not in span.whole


def test_a_request_over_http_continues_its_callers_trace(traced, collector, server):
    """The header `traceparent` is the parent, as the metadata of a transaction is."""
    sidecar = traced(**collector.variables)
    token = (server.home / "run" / "http-token").read_bytes().strip()
    client = HttpClient(sidecar.announcement.http, token)

    client.post("/v1/call/test.echo", [PAYLOAD], headers=CALLER).raise_for_status()

    client.close()
    span = collector.span("test.echo")
    assert (span.trace_id, span.parent_id, span.is_error) == (TRACE, SPAN, False)
    assert PAYLOAD not in span.whole


@pytest.mark.parametrize("name", ["test.spanned", "test.spannedInAWorker"])
def test_a_bodys_own_spans_are_children_of_its_call(traced, collector, call, name):
    """What a body tells by OpenTelemetry's API goes along, from a worker process too."""
    sidecar = traced(**collector.variables)

    assert call(name, PAYLOAD) == [[PAYLOAD]]

    outer, inner = collector.span(name), collector.span("inner")
    assert (inner.trace_id, inner.parent_id) == (TRACE, outer.span_id)
    is_in_worker = inner.resource["process.pid"] != sidecar.process.pid
    assert is_in_worker is (name == "test.spannedInAWorker")


def test_the_last_spans_are_sent_at_the_end(traced, collector, call):
    """What ended just before the sidecar stops is not lost, from a worker process either."""
    sidecar = traced(**collector.variables | {"OTEL_BSP_SCHEDULE_DELAY": "3600000"})
    call("test.spannedInAWorker", PAYLOAD)

    sidecar.stop()

    assert collector.span("test.spannedInAWorker").span_id == collector.span("inner").parent_id


@pytest.fixture(params=["nobody listens", "nobody answers"])
def lost_collector(request):
    """The address of a collector that takes nothing."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        if request.param == "nobody listens":
            deaf.close()
        yield f"http://127.0.0.1:{port}"


def test_a_lost_collector_concerns_no_call(traced, collector, call, lost_collector, tmp_path):
    """Calls go on as fast, a metric and the log tell what is lost, and the sidecar ends in time."""
    sidecar = traced(
        **collector.variables
        | {"OTEL_EXPORTER_OTLP_ENDPOINT": lost_collector, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    )
    url = f"http://127.0.0.1:{sidecar.announcement.http}/metrics"

    begun = time.monotonic()
    for _ in range(100):
        assert call("test.echo", PAYLOAD) == [[PAYLOAD]]
    assert time.monotonic() - begun < 30

    wait_until(lambda: "sidecypher_lost_spans 0.0" not in httpx.get(url, trust_env=False).text)
    begun = time.monotonic()
    sidecar.stop()
    assert time.monotonic() - begun < 5 + END_SECONDS
    log = (tmp_path / "sidecar.log").read_text()
    assert '"event": "spans lost"' in log
    assert all(line.startswith("{") for line in log.splitlines())
    assert lost_collector.removeprefix("http://") not in log
