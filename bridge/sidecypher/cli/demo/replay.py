"""A small mock of GitHub's REST API that serves given objects, on this machine only.

It serves ``GET /repos/OWNER/REPO``, ``.../issues/NUMBER``, ``.../pulls/NUMBER``, ``/rate_limit``,
and the lists ``.../issues``, ``.../pulls`` and ``.../issues/NUMBER/comments``. Responses have the
headers that clients of GitHub need: ETag, rate limit, caching, Link. Run as a script, it serves
the samples next to it. It imports nothing of sidecypher, so that it starts at once.
"""

import argparse
import hashlib
import itertools
import re
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import msgspec

_HOST: Final = "127.0.0.1"
_LIMIT: Final = 5000
_LIMIT_SECONDS: Final = 3600
_PAGE_SIZE: Final = 30
_DOCUMENTATION: Final = "https://docs.github.com/rest"
_SAMPLES: Final = Path(__file__).with_name("samples.json")
_URL: Final = re.compile(
    r"https://api\.github\.com"
    r"(?P<path>/repos/(?P<owner>[^/]+)/(?P<repo>[^/]+)"
    r"(?:/(?:issues|pulls)/(?P<number>[0-9]+)|/issues/comments/[0-9]+)?)"
)

Object = Mapping[str, Any]


class Objects:
    """Repositories, issues, pull requests and comments by their REST path, ignoring case.

    The `url` of each contains its path.

    Example:
        >>> samples().get("/repos/sidecypher-demo/lighthouse/issues/1")["title"]
        'The lamp flickers in fog'
    """

    def __init__(self, objects: Iterable[Object]) -> None:
        self.by_path = {place(found)["path"].lower(): found for found in objects}

    def get(self, path: str) -> Object | None:
        """Return the object at a REST path such as ``/repos/octocat/Hello-World``, or None."""
        return self.by_path.get(path.lower())

    def list(self, path: str) -> Sequence[Object] | None:
        """Return the objects of a list such as ``/repos/o/r/issues``, or None if there is no list.

        Issues and pull requests are sorted with the newest first, comments with the oldest first.
        """
        owner, _, things = path.lower().rpartition("/")
        if owner not in self.by_path:
            return None
        if things == "comments":
            found = [each for each in self.by_path.values() if _is_comment_of(each, owner)]
            return sorted(found, key=lambda each: each["id"])
        start = f"{owner}/{things}/"
        found = [each for key, each in self.by_path.items() if key.startswith(start)]
        return sorted((each for each in found if "number" in each), key=_number, reverse=True)


def samples() -> Objects:
    """Return the objects of the demo: invented, in the shape of GitHub's responses."""
    return Objects(msgspec.json.decode(_SAMPLES.read_bytes()))


def find_place(url: object) -> re.Match[str] | None:
    """Match `path`, `owner`, `repo` and `number` in a URL of GitHub's REST API, or return None."""
    return _URL.fullmatch(url) if isinstance(url, str) else None


def place(found: Object) -> re.Match[str]:
    """Match `path`, `owner`, `repo` and `number` in the `url` of an object.

    Raises:
        ValueError: Its `url` is not one of the REST API.
    """
    where = find_place(found["url"])
    if where is None:
        raise ValueError("not an object of the REST API")
    return where


def _is_comment_of(entity: Object, issue: str) -> bool:
    # A pull request has an `issue_url` too, which names itself.
    whose = str(entity.get("issue_url")).lower()
    return "number" not in entity and whose == f"https://api.github.com{issue}"


def _number(entity: Object) -> int:
    number: int = entity["number"]
    return number


class ReplayServer(ThreadingHTTPServer):
    """Server of `objects` on a loopback port; 0 picks a free one.

    Example:
        >>> with serving(samples()) as server:  # doctest: +SKIP
        ...     httpx.get(f"{server.url}/repos/sidecypher-demo/lighthouse").json()["full_name"]
        'sidecypher-demo/lighthouse'
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, objects: Objects, port: int = 0) -> None:
        self.objects = objects
        self.started = int(time.time())
        self.uses = itertools.count(1)
        super().__init__((_HOST, port), _Handler)

    @property
    def url(self) -> str:
        """Base URL for ``SIDECYPHER_GITHUB_BASE_URL``."""
        return f"http://{_HOST}:{self.server_port}"


@contextmanager
def serving(objects: Objects) -> Iterator[ReplayServer]:
    """Serve in a thread until the block ends."""
    with ReplayServer(objects) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: ReplayServer
    protocol_version = "HTTP/1.1"
    server_version = "sidecypher-replay"
    sys_version = ""
    # Without these the delayed acknowledgement of a second small packet costs 40 ms an answer.
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_GET(self) -> None:
        """Answer from the objects, or with 304 if the client has the same version."""
        if self.path == "/rate_limit":
            self._answer(HTTPStatus.OK, self._limits())
            return
        url = urlsplit(self.path)
        path, link = unquote(url.path), None
        found: object = self.server.objects.get(path)
        if found is None:
            listed = self.server.objects.list(path)
            if listed is None:
                self._answer(HTTPStatus.NOT_FOUND, _message("Not Found", HTTPStatus.NOT_FOUND))
                return
            found, following = _page(listed, dict(parse_qsl(url.query)))
            link = following and f'<{self.server.url}{url.path}?{following}>; rel="next"'
        body = msgspec.json.encode(found)
        etag = f'"{hashlib.sha256(body).hexdigest()}"'
        if _matches(self.headers.get("If-None-Match", ""), etag):
            self._answer(HTTPStatus.NOT_MODIFIED, b"", etag)
        else:
            self._answer(HTTPStatus.OK, body, etag, link)

    def _refuse(self) -> None:
        # The body of the request stays unread, so the connection cannot be reused.
        self.close_connection = True
        status = HTTPStatus.METHOD_NOT_ALLOWED
        self._answer(status, _message("The replay only answers GET", status))

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _refuse  # noqa: N815 - names of http.server

    def _answer(
        self, status: HTTPStatus, body: bytes, etag: str | None = None, link: str | None = None
    ) -> None:
        used = 0 if status is HTTPStatus.NOT_MODIFIED else next(self.server.uses)
        self.send_response(status)
        self.send_header("X-GitHub-Media-Type", "github.v3; format=json")
        self.send_header("X-RateLimit-Resource", "core")
        self.send_header("X-RateLimit-Limit", str(_LIMIT))
        self.send_header("X-RateLimit-Remaining", str(max(1, _LIMIT - used)))
        self.send_header("X-RateLimit-Used", str(used))
        self.send_header("X-RateLimit-Reset", str(self._reset()))
        if etag is not None:
            self.send_header("Cache-Control", "public, max-age=60, s-maxage=60")
            self.send_header("ETag", f"W/{etag}")
        if link is not None:
            self.send_header("Link", link)
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET")
            self.send_header("Connection", "close")
        if status is not HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def _limits(self) -> bytes:
        limits = {"limit": _LIMIT, "used": 0, "remaining": _LIMIT, "reset": self._reset()}
        resources = dict.fromkeys(("core", "graphql", "search"), limits)
        return msgspec.json.encode({"resources": resources, "rate": limits})

    def _reset(self) -> int:
        """Return the end of the current hour, counted from the start."""
        passed = int(time.time()) - self.server.started
        return self.server.started + (passed // _LIMIT_SECONDS + 1) * _LIMIT_SECONDS

    def log_message(self, format: str, *_arguments: object) -> None:  # noqa: A002 - the name is http.server's
        """Log nothing: a line per request would only distract."""


def _page(listed: Sequence[Object], query: dict[str, str]) -> tuple[list[Object], str | None]:
    """Return a page of a list, filtered only by state, and the query of the next page."""
    state = query.get("state", "open")
    kept = [each for each in listed if state == "all" or each.get("state", state) == state]
    size, number = int(query.get("per_page", _PAGE_SIZE)), int(query.get("page", 1))
    page = kept[size * (number - 1) : size * number]
    is_last = size * number >= len(kept)
    return page, None if is_last else urlencode({**query, "page": number + 1})


def _matches(header: str, etag: str) -> bool:
    """Compare weakly, as RFC 9110 requires for If-None-Match."""
    given = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return etag in given or given == ["*"]


def _message(text: str, status: HTTPStatus) -> bytes:
    return msgspec.json.encode(
        {"message": text, "documentation_url": _DOCUMENTATION, "status": str(status.value)}
    )


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def main(arguments: list[str] | None = None) -> int:
    """Serve made-up GitHub data until a signal ends it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 picks a free one")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _stop)
    try:
        server = ReplayServer(samples(), given.port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "no such port"
        sys.stderr.write(f"error: the replay cannot listen on port {given.port}: {reason}\n")
        return 1
    with server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
