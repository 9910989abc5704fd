"""`/livez`, `/readyz` and `/metrics`, asked over real HTTP."""

import socket
import threading
import time

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from sidecypher.errors import SidecypherError
from sidecypher.sdk.call import Call
from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http.health import health_routes
from sidecypher.transport.http.server import HttpServer


@pytest.fixture
def wrong():
    """What fails now: one line by name of the check."""
    return {}


@pytest.fixture
def telemetry():
    return Telemetry()


def routes(telemetry, checks=None):
    """The routes as a sidecar has them."""
    return health_routes(checks or {}, telemetry.metrics)


@pytest.fixture
def get(wrong, telemetry):
    """Ask a health endpoint that has the checks `one` and `two`."""
    checks = {name: lambda name=name: wrong.get(name) for name in ("one", "two")}
    server = HttpServer(routes(telemetry, checks), 0, telemetry)
    server.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False) as client:
        yield client.get
    server.stop()


def test_live_means_that_the_process_answers(get, wrong):
    """`/livez` is 200 whatever the checks say."""
    wrong["one"] = "it broke"

    answer = get("/livez")

    assert (answer.status_code, answer.text) == (200, "ok\n")


def test_ready_when_every_check_holds(get):
    """`/readyz` is 200 when nothing is wrong, and lists the checks when asked."""
    assert (get("/readyz").status_code, get("/readyz").text) == (200, "ok\n")
    assert get("/readyz?verbose").text == "[+]one ok\n[+]two ok\nok\n"


def test_not_ready_when_one_check_fails(get, wrong):
    """One failed check makes `/readyz` 503; `?verbose` names it and its reason."""
    wrong["two"] = "it broke"

    short, verbose = get("/readyz"), get("/readyz?verbose")

    assert (short.status_code, short.text) == (503, "not ready\n")
    assert (verbose.status_code, verbose.text) == (
        503,
        "[+]one ok\n[-]two failed: it broke\nnot ready\n",
    )
    wrong.clear()
    assert get("/readyz").status_code == 200


def test_metrics_are_what_prometheus_reads(get, telemetry):
    """`/metrics` parses as Prometheus text and has the numbers of the telemetry."""
    observed = telemetry.call(Call("call-1", "kg.a", "neo4j", "neo4j"), "procedure")
    observed.page(3, 0.1, 10, 10, last=True)
    telemetry.load_failures.set(2)

    answer = get("/metrics")

    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    assert answer.headers["content-type"].startswith("text/plain")
    [calls] = [
        each for each in families["sidecypher_calls"].samples if each.name.endswith("_total")
    ]
    assert (calls.labels, calls.value) == ({"procedure": "kg.a", "outcome": "ok"}, 1.0)
    assert families["sidecypher_load_failures"].samples[0].value == 2
    assert families["process_resident_memory_bytes"].samples[0].value > 1e6


def test_a_header_does_not_say_who_asks(telemetry):
    """A proxy's `X-Forwarded-For` would have another connection than this one counted as busy."""

    async def who(request):
        return PlainTextResponse(f"{request.client.host}:{request.client.port}")

    server = HttpServer([Route("/who", who)], 0, telemetry)
    server.start()
    with socket.create_connection(("127.0.0.1", server.port), 5) as peer:
        peer.sendall(
            b"GET /who HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n"
            b"Connection: close\r\n\r\n"
        )
        own = peer.getsockname()
        answer = peer.makefile("rb").read().decode()
    server.stop()

    assert answer.endswith(f"{own[0]}:{own[1]}")


def test_no_part_of_an_answer_is_held_back(get):
    """On a connection that stays open an answer takes no 40 ms, which is what Nagle's costs."""
    times = []
    for _ in range(25):
        begun = time.perf_counter()
        get("/livez")
        times.append(time.perf_counter() - begun)

    assert min(times) < 0.03


@pytest.mark.parametrize("path", ["/", "/livez/", "/readyz/../secret", "/docs", "/openapi.json"])
def test_there_is_nothing_else(get, path):
    """Any other path is not there."""
    assert get(path, follow_redirects=True).status_code == (200 if path == "/livez/" else 404)


def test_a_port_in_use_is_told_with_the_way_out():
    """A taken port is an error that names it and the setting to change."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        told = f"listen on port {port} of 127.0.0.1: Address"
        with pytest.raises(SidecypherError, match=told) as caught:
            HttpServer([], port, Telemetry())

    assert caught.value.code == "SC-602"
    assert "`--http-port`" in caught.value.hint


def test_it_listens_before_it_is_started(telemetry):
    """Whoever connects early waits for the start and is not refused."""
    server = HttpServer(routes(telemetry), 0, telemetry)
    with socket.create_connection(("127.0.0.1", server.port), 5) as early:
        server.start()
        early.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = early.makefile("rb").read()
    server.stop()

    assert answer.startswith(b"HTTP/1.1 200 OK")


def test_stopping_ends_the_thread_and_frees_the_port(telemetry):
    """After `stop` nothing of the server is left: no thread, no socket."""
    threads = set(threading.enumerate())
    server = HttpServer(routes(telemetry), 0, telemetry)
    server.start()
    httpx.get(f"http://127.0.0.1:{server.port}/livez", trust_env=False)
    server.stop()

    assert set(threading.enumerate()) <= threads
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", server.port))
