"""A collector: takes spans by OTLP over HTTP, as OpenTelemetry's own does."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fix_waiting import wait_until
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Span:
    """One span as it came."""

    def __init__(self, resource, span):
        self.resource = _facts(resource.attributes)
        self.name = span.name
        self.trace_id = span.trace_id.hex()
        self.span_id = span.span_id.hex()
        self.parent_id = span.parent_span_id.hex()
        self.facts = _facts(span.attributes)
        self.error = span.status.message
        self.is_error = span.status.code == span.status.STATUS_CODE_ERROR
        self.whole = str(span)


def _facts(attributes):
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


class Collector:
    """Listens on a port of its own.

    Attributes:
        variables: What sends a sidecar's spans here, soon after they have ended.
        headers: Those of the requests so far.
    """

    def __init__(self):
        self.headers = []
        self._spans = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.take(self.path, self.headers, body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.variables = {
            "SIDECYPHER_TRACES": "true",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self._server.server_port}",
            "OTEL_BSP_SCHEDULE_DELAY": "20",
        }
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def take(self, path, headers, body):
        assert path == "/v1/traces"
        self.headers.append(headers)
        self._spans += [
            Span(group.resource, span)
            for group in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in group.scope_spans
            for span in scope.spans
        ]

    def span(self, name):
        """Wait until there is a span of this name; return the latest."""
        return wait_until(
            lambda: next((each for each in reversed(self._spans) if each.name == name), None)
        )

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector():
    """A collector that takes what is sent."""
    made = Collector()
    yield made
    made.stop()
