"""A stand-in for GitHub that answers as a test wants, and the recordings, installed once."""

import json
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from recorded import Recordings

from sidecypher.cli.demo.replay import ReplayServer, serving
from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.settings import GithubSettings


@dataclass
class Answer:
    """What the stand-in says; a `length` larger than the body cuts the answer off.

    With `held` the headers and the first byte of the body come at once, the rest when the stand-in
    opens.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    length: int | None = None
    held: bool = False

    @classmethod
    def of(cls, json_body: object, **headers: str) -> "Answer":
        """Answer 200 with JSON."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return cls(
            200, {"Content-Type": "application/json", **named}, json.dumps(json_body).encode()
        )


@dataclass
class Request:
    """What the stand-in was asked."""

    path: str
    headers: dict[str, str]
    method: str = "GET"
    body: bytes = b""
    port: int = 0
    """Of the connection's other end: which connection it is."""


class StandIn(ThreadingHTTPServer):
    """Answers every path by `answer`, keeps the requests, and can hold its answers back.

    All of them while it is not `open`; those that `hold` tells until it is `released`. Its
    `date` is the header of that name, the machine's own time if there is none. `most_at_a_time`
    is how many requests it had at most without having begun to answer them, `connections` how many
    connections it has.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer: Callable[[Request], Answer] = lambda _request: Answer(404, body=b"{}")
        self.requests: list[Request] = []
        self.most_at_a_time = 0
        self._at_a_time = 0
        self.connections = 0
        self._counting = threading.Lock()
        self.date: str | None = None
        self.arrived = threading.Event()
        self.open = threading.Event()
        self.open.set()
        self.released = threading.Event()
        self.hold: Callable[[Request], bool] = lambda _request: False

    def count(self, change: int) -> None:
        """Note that a request has come, or that its answer begins."""
        with self._counting:
            self._at_a_time += change
            self.most_at_a_time = max(self.most_at_a_time, self._at_a_time)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection until its other end closes it."""
        with self._counting:
            self.connections += 1
        try:
            super().finish_request(request, client_address)
        finally:
            with self._counting:
                self.connections -= 1

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    def handle_error(self, request: object, client_address: object) -> None:
        """Stay silent when a client hangs up, as tests of time limits do."""


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        request = Request(self.path, headers, self.command, body, self.client_address[1])
        self.server.count(+1)
        self.server.requests.append(request)
        answer = self.server.answer(request)
        self.server.arrived.set()
        if not answer.held:
            self.server.open.wait(30)
        if self.server.hold(request):
            self.server.released.wait(30)
        self.server.count(-1)
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.status != 304:
            self.send_header("Content-Length", str(answer.length or len(answer.body)))
        self.close_connection = answer.length is not None
        self.end_headers()
        if answer.held:
            self.wfile.write(answer.body[:1])
            self.wfile.flush()
            self.server.open.wait(30)
        self.wfile.write(answer.body[answer.held :])
        self.wfile.flush()

    do_POST = do_GET  # noqa: N815 - as http.server wants

    def date_time_string(self, timestamp: float | None = None) -> str:
        """Give the time that the stand-in believes it is."""
        return self.server.date or super().date_time_string(timestamp)

    def log_message(self, *_arguments: object) -> None:
        """Stay silent."""


@contextmanager
def standing_in() -> Iterator[StandIn]:
    """Run a stand-in in a thread."""
    with StandIn() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.open.set()
            server.released.set()
            server.shutdown()
            thread.join()


class Time:
    """Time that passes when a test says so."""

    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    passed = 0.0

    def clock(self) -> Clock:
        """Give a client this time."""
        return Clock(lambda: self.passed, self.now, self.sleep)

    def now(self) -> datetime:
        """Give the time people read."""
        return self.start + timedelta(seconds=self.passed)

    async def sleep(self, seconds: float) -> None:
        """Let time pass at once."""
        self.passed += seconds


@pytest.fixture
def time() -> Time:
    """Give the time that all clients of the test live by."""
    return Time()


@pytest.fixture
def client_of(time: Time) -> Callable[..., AbstractAsyncContextManager[GithubClient]]:
    """Give what runs a client of a base URL, with further settings by name."""

    @asynccontextmanager
    async def running(url: str, **settings: object) -> AsyncIterator[GithubClient]:
        client = GithubClient(GithubSettings(base_url=url, **settings), time.clock())
        try:
            yield client
        finally:
            await client.stop()

    return running


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the settings of whoever runs the tests."""
    for name in os.environ:
        if name.startswith("SIDECYPHER_GITHUB_") or name == "GITHUB_TOKEN":
            monkeypatch.delenv(name)


@pytest.fixture
def answering() -> type[Answer]:
    """Give the class of what a stand-in says."""
    return Answer


@pytest.fixture
def github() -> Iterator[StandIn]:
    """Give a stand-in for the configured origin."""
    with standing_in() as server:
        yield server


@pytest.fixture
def stranger() -> Iterator[StandIn]:
    """Give a second stand-in, which the client must never talk to."""
    with standing_in() as server:
        yield server


@pytest.fixture(scope="module")
def checked(prism_before) -> Iterator[tuple[StandIn, str]]:
    """Give a stand-in and where Prism is, which asks it for whoever asks Prism."""
    with standing_in() as server, prism_before(server.url) as url:
        yield server, url


@pytest.fixture(scope="session")
def recordings(payloads: Path) -> Recordings:
    """Give the recordings."""
    return Recordings.load(payloads)


@pytest.fixture(scope="session")
def replay(recordings: Recordings) -> Iterator[ReplayServer]:
    """Run the replay of the recordings."""
    with serving(recordings) as server:
        yield server
