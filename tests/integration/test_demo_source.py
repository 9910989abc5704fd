"""Where the demo gets its GitHub data from."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sidecypher.cli.demo import source
from sidecypher.cli.demo.source import choose_source, live_source
from sidecypher.cli.errors import NoLiveData


@pytest.fixture
def answering(monkeypatch):
    """Put an API in place of GitHub's that tells how many calls are left."""
    servers = []

    def start(body):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                assert self.path == "/rate_limit"
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        url = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", url)

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def left(calls):
    return json.dumps({"resources": {"core": {"remaining": calls}}}).encode()


def test_an_api_that_answers_is_used_live(answering):
    """GitHub answers and has calls left: the demo says `live` and runs no stand-in."""
    answering(left(60))

    chosen = choose_source()

    assert chosen.notice == "GitHub data: live, from 127.0.0.1"
    assert (chosen.environ, chosen.options) == ({}, ())


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (left(3), "the live API's rate limit is used up"),
        (b"<html>", "the live API returns no usable answer"),
        (b"[]", "the live API returns no usable answer"),
    ],
)
def test_an_api_that_cannot_serve_is_replaced(answering, body, reason):
    """GitHub has no calls left or says nonsense: samples are taken, and the reason told."""
    answering(body)

    chosen = choose_source()

    assert chosen.notice == f"GitHub data: made-up samples ({reason})"
    assert chosen.options[0] == "--replay-port"


@pytest.mark.parametrize("name", ["TOKEN", "TOKEN_FILE", "APP_ID"])
def test_a_repository_is_live_or_an_error(answering, monkeypatch, name):
    """Samples never stand in for a repository that was named; the sidecar's token has a limit."""
    monkeypatch.setenv(f"SIDECYPHER_GITHUB_{name}", "given")
    answering(left(0))
    chosen = live_source("octocat/Hello-World")
    assert chosen.notice == "GitHub data: live, from 127.0.0.1"
    assert chosen.parameters == {"owner": "octocat", "repoName": "Hello-World"}
    assert (chosen.environ, chosen.options) == ({}, ())

    answering(b"<html>")
    with pytest.raises(NoLiveData, match="no usable answer"):
        live_source("octocat/Hello-World")


def test_without_a_token_a_used_up_limit_is_an_error(answering, monkeypatch):
    """The sidecar would have the same limit as the demo, so nothing is started."""
    for name in ("TOKEN", "TOKEN_FILE", "APP_ID"):
        monkeypatch.delenv(f"SIDECYPHER_GITHUB_{name}", raising=False)
    answering(left(0))

    with pytest.raises(NoLiveData, match="rate limit is used up"):
        live_source("octocat/Hello-World")


def test_an_empty_address_is_that_of_github(monkeypatch):
    """Compose passes an unset variable as an empty one."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", "")

    assert source._base_url() == source.LIVE


def test_a_silent_api_is_given_up(monkeypatch):
    """An address that accepts and never answers has the time that the demo gives it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", address)
        monkeypatch.setattr(source, "_PATIENCE_SECONDS", 0.1)
        chosen = choose_source()

    assert "does not answer from here" in chosen.notice


def test_a_name_that_nobody_looks_up_is_given_up(monkeypatch):
    """The same time holds for what comes before a connection, and for several addresses."""
    found = threading.Event()

    def look_up(*_arguments, **_options):
        found.wait(60)
        raise OSError("nobody has looked it up")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", "http://github.example.com")

    monkeypatch.setattr(source, "_PATIENCE_SECONDS", 0.1)
    chosen = choose_source()

    assert not found.is_set()
    assert "does not answer from here" in chosen.notice
    found.set()


def test_a_token_is_never_sent_to_the_stand_in(monkeypatch):
    """The replay gets an empty token, whatever token the user has set."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", "secret")
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", "http://127.0.0.1:1")

    chosen = choose_source()

    assert chosen.environ["SIDECYPHER_GITHUB_TOKEN"] == ""
    assert chosen.environ["SIDECYPHER_GITHUB_TOKEN_FILE"] == ""
