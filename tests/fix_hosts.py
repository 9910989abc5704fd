"""Hosts of this machine that answer as a test wants."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Answer:
    """What a host says. An endless one repeats its body until the other end hangs up."""

    status: int = 200
    headers: dict = field(default_factory=dict)
    body: bytes = b""
    is_endless: bool = False
    is_cut_off: bool = False

    @classmethod
    def of(cls, value, status=200, **headers):
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        return cls(
            status, {"Content-Type": "application/json", **named}, json.dumps(value).encode()
        )


@dataclass
class Request:
    """What a host was asked."""

    method: str
    path: str
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Host(ThreadingHTTPServer):
    """A host of its own port that gives its answers one after the other, the last one again.

    Attributes:
        requests: What it was asked.
        sent: How many bytes of an endless answer went out before the other end hung up.
    """

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = [Answer()]
        self.requests = []
        self.sent = 0
        self.hung_up = threading.Event()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def says(self, *answers):
        self.answers = list(answers)

    def next_answer(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    def handle_error(self, request, client_address):
        """Stay silent when a client hangs up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        self.server.requests.append(Request(self.command, self.path, headers, body))
        answer = self.server.next_answer()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.is_endless:
            self.send_endless(answer.body)
            return
        length = len(answer.body) + 10 * answer.is_cut_off
        if answer.status not in {204, 304}:
            self.send_header("Content-Length", str(length))
        self.close_connection = answer.is_cut_off
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def send_endless(self, body):
        self.close_connection = True
        self.end_headers()
        try:
            while self.server.sent < 2**30:
                self.wfile.write(body)
                self.server.sent += len(body)
        finally:
            self.server.hung_up.set()

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815 - as it wants

    def log_message(self, *_arguments):
        """Log nothing."""


@pytest.fixture
def make_host():
    """What starts hosts."""
    hosts = []

    def make():
        host = Host()
        hosts.append(host)
        threading.Thread(target=host.serve_forever, args=(0.01,), daemon=True).start()
        return host

    yield make
    for host in hosts:
        host.shutdown()
        host.server_close()


@pytest.fixture
def host(make_host):
    """A host."""
    return make_host()
