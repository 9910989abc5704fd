"""Whatever Cypher passes or GitHub answers, no request leaves its path or its origin."""

import asyncio
import itertools
import json
import string
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sidecypher import SidecypherError
from sidecypher.errors import ArgumentError
from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.client import GithubClient
from sidecypher_procedures.github.connection import Connection
from sidecypher_procedures.github.errors import (
    GithubError,
    GithubSettingsError,
    InvalidName,
)
from sidecypher_procedures.github.lists import ISSUES as LISTED_ISSUES
from sidecypher_procedures.github.lists import Page, listed
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.options import FetchOptions
from sidecypher_procedures.github.responses import Reply
from sidecypher_procedures.github.settings import GithubSettings

T = TypeVar("T")

BASES = [
    "https://api.github.com",
    "https://ghes.example.com/api/v3",
    "https://ghes.example.com:8443/api/v3/",
    "http://127.0.0.1:8000/",
    "http://[::1]:8000/api/v3",
]
INJECTIONS = [
    "",
    ".",
    "..",
    "...",
    "../..",
    "..%2f",
    "%2e%2e",
    "%252e",
    "%00",
    "\0",
    "r\r\nHost: evil.example",
    "r\nX: y",
    "r\tx",
    "r x",
    "r/../../x",
    "r\\..\\x",
    "r?x=1",
    "r#x",
    "r;x",
    "r@evil.example",
    "//evil.example",
    "https://evil.example",
    "r:443",
    "\u2024\u2024",
    "\uff0e\uff0e",
    "\u2215x",
    "\uff52",
    "\u202er",
    "r\ufeff",
    "e\u0301",
    "\ud800",
    "{owner}",
    "${jndi:x}",
    "' OR 1=1",
    "<script>",
    "r" * 101,
    "r" * 100_000,
]
NUMBERS = [0, -1, -(2**63), 2**63, 2**64, 10**30, True, False, None, 1.0, float("nan"), "1", "1/x"]

# Words that URLs are made of, so that chance finds what matters.
_PIECES = st.lists(
    st.sampled_from(
        ["/", "//", "..", ".", "%2e", "%2f", "?", "#", "@", ":", "\\", "\r\n", "\0", "a", "é"]
    )
    | st.text(max_size=3),
    max_size=8,
).map("".join)
_NAMES = st.text(string.ascii_letters + string.digits + "-._", min_size=1, max_size=30)
_TEXTS = _PIECES | _NAMES | st.text(max_size=20) | st.sampled_from(INJECTIONS)
_NUMBERS = st.integers() | st.sampled_from(NUMBERS)


def outcome_of(work: Callable[[], T]) -> T | SidecypherError:
    """Return what the work gives, or the error it raises."""
    try:
        return work()
    except SidecypherError as error:
        return error


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    """A connection to GitHub, over which nothing is sent."""
    made = Connection(GithubSettings(base_url="https://api.github.com"), Clock())
    yield made
    asyncio.run(made.close())


def path_asked_for(base: str, target: Target) -> str:
    """Return the path that httpx sends for a target, having checked where it goes."""
    settings = GithubSettings(base_url=base)
    url = httpx.URL(settings.base_url + target.path)
    own = httpx.URL(settings.base_url)
    assert (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port)
    assert not url.userinfo
    assert not url.query
    assert not url.fragment
    path = url.raw_path.decode()
    assert path.startswith(own.raw_path.decode().rstrip("/") + "/repos/")
    return path.removeprefix(own.raw_path.decode().rstrip("/"))


@given(
    base=st.sampled_from(BASES),
    kind=st.sampled_from(Kind),
    owner=_TEXTS,
    repo=_TEXTS,
    number=_NUMBERS,
)
def test_no_argument_reaches_another_path_or_host(
    base: str, kind: Kind, owner: str, repo: str, number: object
) -> None:
    """What is not refused is exactly one segment each, below the base URL."""
    try:
        target = Target(kind, owner, repo, number)  # type: ignore[arg-type]
    except InvalidName:
        return

    rest = {Kind.REPOSITORY: [], Kind.ISSUE: ["issues"], Kind.PULL_REQUEST: ["pulls"]}[kind]
    rest += [str(number)] if rest else []
    assert path_asked_for(base, target).split("/")[1:] == ["repos", owner, repo, *rest]
    assert repo not in {".", ".."}


@pytest.mark.parametrize("text", INJECTIONS)
def test_every_injection_is_refused_by_name(text: str) -> None:
    """Dots, separators, encodings, controls and look-alikes are refused, and are not shown."""
    with pytest.raises(InvalidName) as owner:
        Target(Kind.REPOSITORY, text, "r")
    assert len(text) < 4 or text not in str(owner.value)
    if text != "...":
        with pytest.raises(InvalidName) as repo:
            Target(Kind.REPOSITORY, "o", text)
        assert len(text) < 4 or text not in str(repo.value)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", [Kind.ISSUE, Kind.PULL_REQUEST])
def test_numbers_out_of_range_are_refused(kind: Kind, number: object) -> None:
    """Only an INTEGER from 1 up, and one that Neo4j can hold, is a number."""
    with pytest.raises(InvalidName, match="`number`"):
        Target(kind, "o", "r", number)  # type: ignore[arg-type]


@given(
    st.dictionaries(
        st.sampled_from(["maxAge", "onError", "timeout", "api"]) | _TEXTS,
        st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS | st.lists(_TEXTS),
        max_size=3,
    )
)
def test_options_are_understood_or_refused(options: dict[str, object]) -> None:
    """Any MAP gives options within their bounds, or an error that shows no odd name."""
    found = outcome_of(lambda: FetchOptions.from_map(options))
    if isinstance(found, ArgumentError):
        assert found.message.isprintable()
        assert len(found.message) < 200
        return

    assert found.max_age >= 0
    assert found.timeout is None or found.timeout > 0
    assert found.on_error in {"fail", "null", "skip"}


_LOCATIONS = (
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(
            [
                "",
                "/",
                "//",
                "///",
                "https:",
                "https://",
                "http://",
                "HTTPS://",
                "\\\\",
                "javascript:",
            ]
        ),
        st.sampled_from(
            [
                "",
                "api.github.com",
                "API.GitHub.com",
                "api.github.com.evil.example",
                "api.github.com@evil.example",
                "evil.example",
                "api.github.com:443",
                "api.github.com:444",
                "api.github.com:80",
                "api.github.com\\@evil.example",
                "api\u3002github\u3002com",
                "127.0.0.1",
                "[::1]",
            ]
        ),
        st.sampled_from(["", "/", "?", "#", "@evil.example/", ":x"]),
        _PIECES,
    )
    | _TEXTS
)


@given(_LOCATIONS)
@example("https://api.github.com\\@evil.example/x")
@example("//evil.example/x")
@example("https:evil.example")
def test_no_redirect_leaves_the_origin(connection: Connection, location: str) -> None:
    """A redirect that is followed has the scheme, host and port of the base URL, and no user."""
    target = Target(Kind.REPOSITORY, "o", "r")
    start = httpx.URL("https://api.github.com/repos/o/r")
    header = location.encode("utf-8", "surrogatepass")
    reply = Reply(301, httpx.Headers([(b"location", header)]), b"")

    url = outcome_of(lambda: connection._redirect(target, start, reply))
    if isinstance(url, GithubError):
        assert url.code in {"SC-511", "SC-512"}
        assert len(location) < 10 or location not in str(url)
        return

    request = httpx.Request("GET", url)
    assert (url.scheme, url.host, url.port) == ("https", "api.github.com", None)
    assert not url.userinfo
    assert request.headers["host"] == "api.github.com"


_RELATIONS = st.just('; rel="next"') | st.sampled_from(
    [
        "; rel=next",
        '; rel="prev"',
        '; rel="prev next"',
        '; rel="next',
        "; REL=next; rel",
        '; url="https://evil.example/"; rel="next"',
        '; title="a, <b>"; rel="next"',
        "",
    ]
)
_BELOW = st.builds("{}{}".format, st.sampled_from(["BASE/", "BASE", "/", "//", ""]), _PIECES)
_LINK = st.builds("<{}>{}".format, _BELOW | _LOCATIONS, _RELATIONS)
_LINK_HEADERS = (
    st.lists(_LINK | _TEXTS, min_size=1, max_size=2)
    .map(", ".join)
    .map(lambda header: header.encode("utf-8", "surrogatepass"))
) | st.binary(max_size=9)


class Network(httpx.AsyncBaseTransport):
    """Keeps what is sent, and answers with a page of one issue and the next of the headers.

    Attributes:
        sent: The requests, as they would leave this machine.
        links: The `Link` headers of the answers.
    """

    def begin(self, links: Iterator[bytes]) -> None:
        self.sent: list[httpx.Request] = []
        self.links = links

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        things = [{"id": len(self.sent), "number": len(self.sent)}]
        # A stream, as a network gives it: the client reads bodies as they come.
        body = httpx.ByteStream(json.dumps(things).encode())
        return httpx.Response(200, headers=[(b"link", next(self.links))], stream=body)


@pytest.fixture(scope="module")
def network() -> Network:
    """What every client of these tests sends its requests to."""
    return Network()


@pytest.fixture(scope="module")
def clients(network: Network) -> Iterator[dict[str, GithubClient]]:
    """A client with a token for each base URL."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx, "AsyncClient", partial(httpx.AsyncClient, transport=network))
        made = {base: GithubClient(GithubSettings(base_url=base, token="secret")) for base in BASES}
    yield made
    for client in made.values():
        asyncio.run(client.stop())


@given(st.sampled_from(BASES), st.lists(_LINK_HEADERS, min_size=1, max_size=3))
@example(BASES[0], [b"<next>"])
@example(BASES[0], ['</é>; rel="next"'.encode()])
@example(BASES[1], [b'</api/v3/%2e%2e/%2e%2e/x>; rel="next"'])
@example(BASES[1], [b'</api/v3/..%2fx>; rel="next"'])
@example(BASES[1], [b'<BASE/x?page=2>; rel="next"', b'<BASE/x?page=3>; rel="next"'])
def test_no_list_leaves_the_base_url(
    clients: dict[str, GithubClient], network: Network, base: str, links: list[bytes]
) -> None:
    """Whatever `Link` says, the token goes below the base URL only, and the list ends.

    An unusable header means that there is no next page, or is an error with a code.
    """
    own = httpx.URL(base.rstrip("/"))
    network.begin(itertools.cycle(link.replace(b"BASE", str(own).encode()) for link in links))

    async def read() -> None:
        first = Page.first(Target(Kind.REPOSITORY, "o", "r"), "issues", "state=all")
        async for _ in listed(clients[base], first, LISTED_ISSUES, lambda: 30.0):
            pass

    error = outcome_of(lambda: asyncio.run(read()))

    assert error is None or error.code in {"SC-511", "SC-512"}
    assert 1 <= len(network.sent) <= len(links) + 1
    for request in network.sent:
        url = request.url
        assert (url.scheme, url.host, url.port) == (own.scheme, own.host, own.port)
        assert request.headers["host"] == own.netloc.decode()
        assert request.headers["authorization"] == "Bearer secret"
        assert url.path.startswith(own.path.rstrip("/") + "/")
        assert not {".", ".."} & set(url.path.split("/"))
        assert not url.userinfo


@pytest.mark.parametrize(
    "header",
    [
        "",
        "next",
        "<next>",
        "</x>",
        "</x>; next",
        '</x>; rel="previous"',
        '</x>; rel="next"="next"',
    ],
)
def test_without_a_relation_there_is_no_next_page(connection: Connection, header: str) -> None:
    """A header that does not say which page is next names none."""
    reply = Reply(200, httpx.Headers({"Link": header}), b"[]")
    repository = Target(Kind.REPOSITORY, "o", "r")

    found = outcome_of(lambda: connection.next_page(repository, reply))

    assert found is None


@given(
    st.builds(
        "{}{}{}".format,
        st.sampled_from(["https://", "http://", "HTTPS://", "ftp://", "//", "https:/", ""]),
        st.sampled_from(
            ["api.github.com", "127.0.0.1", "[::1]", "localhost", "a@b", "évil", "x:y"]
        ),
        _PIECES,
    )
)
def test_a_base_url_is_safe_or_refused(base: str) -> None:
    """A base URL that is taken is https or loopback, without user, query, fragment or dots."""
    try:
        kept = GithubSettings(base_url=base).base_url
    except ValueError:
        return

    url = httpx.URL(kept)
    assert url.scheme == "https" or url.host in {"127.0.0.1", "localhost", "::1"}
    assert not url.userinfo
    assert not url.query
    assert not url.fragment
    assert not {".", ".."} & set(url.path.split("/"))
    assert GithubSettings(base_url=kept + "/").base_url == kept


def test_bad_settings_are_githubs_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same refusals, from the environment, are SC-514."""
    for value in ("http://example.com", "https://user@api.github.com", "https://api.github.com/?x"):
        monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", value)
        with pytest.raises(GithubSettingsError):
            GithubSettings.load()
