"""What sessions call outside of Neo4j: one HTTP server, whose answers tests decide."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Outside:
    """An HTTP server of this machine.

    Attributes:
        requests: Method, path, headers and decoded body of each request so far.
        answer: Function of such a request; it returns status and body, a MAP or a text.
    """

    def __init__(self):
        outside = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                request = {
                    "method": self.command,
                    "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": json.loads(body) if body else None,
                }
                outside.requests.append(request)
                status, found, *headers = outside.answer(request)
                sent = (found if isinstance(found, str) else json.dumps(found)).encode()
                kind = "text/plain" if isinstance(found, str) else "application/json"
                # Whoever asked may be gone: tests kill them.
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    for name, value in {"Content-Type": kind, **dict(*headers)}.items():
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(len(sent)))
                    self.end_headers()
                    self.wfile.write(sent)

            def log_message(self, *_):
                pass

        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            setattr(Handler, f"do_{method}", Handler._serve)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.reset()
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def reset(self):
        """Forget the requests; answer each with its own body."""
        self.requests = []
        self.answer = lambda request: (200, {"echo": request["body"]})

    def says(self, *texts):
        """Answer as a model's API: the first text first, the last one from then on."""
        left = [*texts]

        def answer(_request):
            text = left.pop(0) if len(left) > 1 else left[0]
            return 200, {"choices": [{"message": {"role": "assistant", "content": text}}]}

        self.answer = answer

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="session")
def outside_server():
    """The server, for the whole run."""
    server = Outside()
    yield server
    server.stop()


@pytest.fixture
def outside(outside_server):
    """The server without requests, for one test."""
    outside_server.reset()
    return outside_server
