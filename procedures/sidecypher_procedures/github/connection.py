"""Requests to one origin, and to no other, whatever a redirect says."""

import asyncio
import logging
import zlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Final

import httpx
import msgspec
from cachetools import TTLCache

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.auth import REFUSED_SECONDS, authentication
from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.model import Target
from sidecypher_procedures.github.rate_limits import (
    GRAPHQL,
    REST,
    UNCOUNTED,
    Budgets,
    Limits,
    told_by,
)
from sidecypher_procedures.github.responses import Reply
from sidecypher_procedures.github.settings import Credential, GithubSettings, is_loopback

_PERMANENT: Final = frozenset({301, 308})
_TEMPORARY: Final = frozenset({302, 303, 307})
_MAX_REDIRECTS: Final = 5
# GitHub dislikes more than 100, and others may use the same credential.
_MAX_REQUESTS: Final = 20
# A connection that nobody used for so long is closed; whoever is at its other end does so too.
_IDLE_SECONDS: Final = 5.0
# The one content coding that is asked for, and taken: of several, each could be a bomb.
_CODING: Final = "gzip"
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_MAX_BODY_BYTES: Final = 8 * 1024 * 1024
# An old name may be given to a new repository, so that a move is not believed for ever.
_MOVE_SECONDS: Final = 3600.0
_MAX_MOVES: Final = 4096
# On GitHub Enterprise Server REST is below a version and GraphQL beside it.
_ENTERPRISE_REST: Final = "/v3"
_JSON: Final = {"Content-Type": "application/json"}
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# They log every URL, and with it the arguments of a call.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class _Validator:
    """The ETag of an answer, and whose answer that is; it means nothing to another credential."""

    etag: str
    credential_key: str


@dataclass(frozen=True, slots=True)
class _Request:
    """What is sent, but not by whom; `what` is for the texts of errors."""

    what: str
    method: str
    url: httpx.URL
    headers: Mapping[str, str]
    content: bytes | None = None
    validator: _Validator | None = None

    def without_condition(self) -> "_Request":
        """Give it without the validator, which belongs to the credential that got it."""
        return replace(self, validator=None)

    def condition(self, credential_key: str) -> dict[str, str]:
        """Give the header that has the answer confirmed, if it is the credential's own."""
        if self.validator is None or self.validator.credential_key != credential_key:
            return {}
        return {"If-None-Match": self.validator.etag}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What became of a credential that GitHub does not accept, and until when it stands for all.

    Attributes:
        outcome: GitHub's answer, or why there is no other credential in its place.
        ends: The end of that, on the growing clock.
    """

    credential: Credential
    outcome: Reply | errors.GithubError
    ends: float


class _Lines:
    """Lines to the origin, each with one connection.

    Of one client with many connections each request would ask all of them twice whether they have
    ended, which takes longer than all the rest. The line that was used last is used next, so that
    those that are not needed any more can be closed.
    """

    def __init__(self, settings: GithubSettings, clock: Clock) -> None:
        # No proxy can reach what listens on this machine only.
        self._base = httpx.URL(settings.base_url)
        trust_env = not is_loopback(self._base.host)
        self._make = partial(
            httpx.AsyncClient,
            headers={
                "Accept": "application/vnd.github+json",
                "Accept-Encoding": _CODING,
                "User-Agent": f"sidecypher/{version('sidecypher')}",
                "X-GitHub-Api-Version": settings.api_version,
            },
            timeout=httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout),
            limits=httpx.Limits(max_connections=1, keepalive_expiry=_IDLE_SECONDS),
            follow_redirects=False,
            trust_env=trust_env,
            verify=httpx.create_ssl_context(trust_env=trust_env),
        )
        self._clock = clock
        self._all: set[httpx.AsyncClient] = set()
        self._idle: deque[tuple[float, httpx.AsyncClient]] = deque()
        self._closed = False

    @asynccontextmanager
    async def one(self) -> AsyncIterator[httpx.AsyncClient]:
        """Give a line to one request; where something goes wrong, none uses it again.

        Raises:
            Unreachable: The lines are closed.
        """
        await self._close_unneeded()
        if self._closed:
            raise errors.Unreachable(
                "The connections to GitHub are closed, as the sidecar stops or loads anew",
                hint="Call again.",
            )
        line = self._idle.pop()[1] if self._idle else self._make()
        self._all.add(line)
        try:
            yield line
        except BaseException:
            await self._end(line)
            raise
        if _has_left_over(line, self._base):
            await self._end(line)
        else:
            self._idle.append((self._clock.monotonic(), line))

    async def close(self) -> None:
        """Close all lines, for good."""
        self._closed = True
        for line in list(self._all):
            await self._end(line)

    async def _close_unneeded(self) -> None:
        latest = self._clock.monotonic() - _IDLE_SECONDS
        while self._idle and self._idle[0][0] < latest:
            await self._end(self._idle.popleft()[1])

    async def _end(self, line: httpx.AsyncClient) -> None:
        self._all.discard(line)
        await line.aclose()


class Connection:
    """Sends requests to the configured origin, with the token; follows the redirects of GETs."""

    def __init__(self, settings: GithubSettings, clock: Clock) -> None:
        self._base = settings.base_url
        self._graphql = httpx.URL(self._base.removesuffix(_ENTERPRISE_REST) + "/graphql")
        self._origin = _origin(httpx.URL(settings.base_url))
        self._rate_limit = httpx.URL(self._base + "/rate_limit")
        self._resources = {self._graphql: GRAPHQL, self._rate_limit: UNCOUNTED}
        self._authentication = authentication(settings, clock, self._post)
        self._accepted: Credential | None = None
        self._refusal: _Refusal | None = None
        self._clock = clock
        # A guard against a body that drips: httpx only limits the time between two reads.
        self._seconds = settings.connect_timeout + settings.read_timeout
        # Whoever waits for a slot is not yet waiting for GitHub: the seconds above begin after.
        self._slots = asyncio.Semaphore(_MAX_REQUESTS)
        self._limits = Limits(clock)
        # An App's own, as it asks for tokens: what its tokens may ask is counted apart.
        self._app_limits = Limits(clock)
        self.budgets = Budgets(clock)
        self._moves: TTLCache[str, httpx.URL] = TTLCache(
            _MAX_MOVES, _MOVE_SECONDS, timer=clock.monotonic
        )
        self._lines = _Lines(settings, clock)

    @property
    def credential_key(self) -> str:
        """Tell whose answers they are: what one token may see must never be given to another."""
        return self._authentication.key

    @property
    def has_token(self) -> bool:
        """Tell whether anybody proves who asks."""
        return self.credential_key != Credential(None).key

    async def close(self) -> None:
        """Close all connections."""
        await self._lines.close()

    async def get(
        self, target: Target, remembers: Callable[[], bool], etag: str | None = None
    ) -> Reply:
        """Fetch the target, wherever it has moved to on the same origin.

        A move that is found is not remembered where `remembers` returns false, as after the target
        was invalidated. The ETag is of the answer that the caller has from the credential of now;
        with it the reply may be a 304 to that credential.

        Raises:
            RateLimited: An earlier answer was a limit that has not ended.
            RedirectRefused: A redirect points elsewhere, or there are more than five.
            TimedOut: The answer was not complete in time.
            Unreachable: There is no connection, or it broke.
            UnusableAnswer: The answer is too large, or a redirect says not where to.
        """
        known = self._moves.get(target.key)
        start = httpx.URL(self._base + target.path)
        validator = None if etag is None else _Validator(etag, self.credential_key)
        reply = await self._follow(target, known or start, remembers, validator)
        if known is not None:
            reply = replace(reply, is_elsewhere=True)
        if reply.status == httpx.codes.NOT_FOUND and known is not None:
            self._moves.pop(target.key, None)
            reply = await self._follow(target, start, remembers, validator)
        return reply

    async def query(self, document: str, variables: Mapping[str, Any]) -> Reply:
        """Send a GraphQL document to ``/graphql``; a redirect of it is not followed.

        Raises:
            RateLimited: An earlier answer was a limit that has not ended.
            TimedOut: The answer was not complete in time.
            Unreachable: There is no connection, or it broke.
            UnusableAnswer: The answer is too large.
        """
        content = msgspec.json.encode({"query": document, "variables": variables})
        return await self._send(_Request("a GraphQL query", "POST", self._graphql, _JSON, content))

    async def rate_limit(self) -> Reply:
        """Fetch how many requests are left, which GitHub does not count as one.

        Raises:
            RateLimited: GitHub wants no request at all for now.
            TimedOut: The answer was not complete in time.
            Unreachable: There is no connection, or it broke.
            UnusableAnswer: The answer is too large.
        """
        return await self._send(_Request("the rate limit", "GET", self._rate_limit, {}))

    def forget_moves(self, key: str, *, below: bool = False) -> None:
        """Ask for a target, and with `below` for all below it, where its name says."""
        for known in list(self._moves):
            if known == key or (below and known.startswith(f"{key}/")):
                self._moves.pop(known, None)

    def next_page(self, target: Target, reply: Reply) -> str | None:
        """Give the path and query, below the base URL, of the page that ``Link`` names as next.

        Raises:
            RedirectRefused: The page is on another origin or outside of the base URL.
            UnusableAnswer: The header names no URL.
        """
        link = httpx.Response(reply.status, headers=reply.headers).links.get("next", {})
        # httpx gives a link without a relation by its own text, which may be this one.
        if link.get("rel") != "next":
            return None
        try:
            url = httpx.URL(self._base).join(link["url"])
        except httpx.InvalidURL:
            raise errors.UnusableAnswer(f"The next page for `{target}` has no usable URL") from None
        base = httpx.URL(self._base).raw_path.rstrip(b"/")
        if not self._is_own(url) or not _is_below(base, url):
            raise errors.RedirectRefused(f"The next page for `{target}` is outside of the base URL")
        return url.raw_path.removeprefix(base).decode("ascii")

    async def _follow(
        self,
        target: Target,
        url: httpx.URL,
        remembers: Callable[[], bool],
        validator: _Validator | None,
    ) -> Reply:
        permanent = True
        for followed in range(_MAX_REDIRECTS + 1):
            reply = await self._send(_Request(f"`{target}`", "GET", url, {}, validator=validator))
            if reply.status not in _PERMANENT | _TEMPORARY:
                return replace(reply, is_elsewhere=followed > 0)
            url = self._redirect(target, url, reply)
            permanent = permanent and reply.status in _PERMANENT
            if permanent and remembers():
                self._moves[target.key] = url
        self._moves.pop(target.key, None)
        raise errors.RedirectRefused(f"`{target}` was redirected more than {_MAX_REDIRECTS} times")

    def _redirect(self, target: Target, url: httpx.URL, reply: Reply) -> httpx.URL:
        try:
            location = url.join(reply.headers["location"])
        except (KeyError, httpx.InvalidURL):
            raise errors.UnusableAnswer(f"The redirect of `{target}` says not where to") from None
        if not self._is_own(location):
            raise errors.RedirectRefused(f"`{target}` was redirected to another origin")
        return location

    def _is_own(self, url: httpx.URL) -> bool:
        return _origin(url) == self._origin and not url.userinfo

    async def _send(self, request: _Request) -> Reply:
        async with self._slots:
            self._limits.check(self._resources.get(request.url, REST), request.what)
            return await self._authorised(request)

    async def _authorised(self, request: _Request) -> Reply:
        credential = await self._authentication.credential()
        reply = self._refused(credential)
        if reply is None:
            credential, reply = await self._proven(credential, request)
        self._judge(request.what, credential, reply)
        return reply

    async def _proven(self, credential: Credential, request: _Request) -> tuple[Credential, Reply]:
        """Send as the credential, or as its replacement if it is refused; tell as which."""
        reply = await self._ask_as(credential, request)
        if reply.status == httpx.codes.UNAUTHORIZED:
            known = self._refused(credential)
            if known is not None:
                # Another request, under way with this one, has found no replacement.
                return credential, known
            other = await self._replacement(credential)
            if other is not None:
                credential = other
                # That may have been refused to another request meanwhile.
                known = self._refused(other)
                if known is not None:
                    return other, known
                reply = await self._ask_as(other, request.without_condition())
        if reply.status == httpx.codes.UNAUTHORIZED:
            self._refuse(credential, reply)
        return credential, reply

    def _refused(self, credential: Credential) -> Reply | None:
        """Give what stands for every request of a credential, if GitHub has refused it just now.

        Raises:
            GithubError: Its replacement could not be had.
        """
        known = self._refusal
        if known is None or known.credential != credential:
            return None
        if self._clock.monotonic() >= known.ends:
            return None
        if isinstance(known.outcome, errors.GithubError):
            # It is told many times: what is done to one of them is nothing to the others.
            raise copy(known.outcome)
        return known.outcome

    def _refuse(self, credential: Credential, outcome: Reply | errors.GithubError) -> None:
        if credential.token is not None:
            ends = self._clock.monotonic() + REFUSED_SECONDS
            self._refusal = _Refusal(credential, outcome, ends)

    async def _ask_as(self, credential: Credential, request: _Request) -> Reply:
        # Those of now: they are the credential's, which may be replaced before the answer comes.
        limits, budgets, key = self._limits, self.budgets, self.credential_key
        reply = await self._exchange(request, {**credential.headers(), **request.condition(key)})
        resource = self._resources.get(request.url, REST)
        until = limits.note(resource, reply.status, reply.headers, reply.content)
        told = told_by(reply.headers)
        budgets.note([] if told is None else [told])
        return replace(reply, credential_key=key, stops_until=until)

    async def _post(self, what: str, url: httpx.URL, headers: Mapping[str, str]) -> Reply:
        self._app_limits.check(REST, what)
        reply = await self._exchange(_Request(what, "POST", url, {}), headers)
        until = self._app_limits.note(REST, reply.status, reply.headers, reply.content)
        return replace(reply, stops_until=until)

    async def _replacement(self, refused: Credential) -> Credential | None:
        before = self.credential_key
        try:
            other = await self._authentication.replacement(refused)
        except errors.GithubError as error:
            if not error.transient:
                self._refuse(refused, error)
            raise
        if self.credential_key != before:
            # What stopped one credential does not stop another.
            self._limits = Limits(self._clock)
            self.budgets = Budgets(self._clock)
        return other

    def _judge(self, what: str, credential: Credential, reply: Reply) -> None:
        if credential.token is None:
            return
        if not httpx.codes.is_error(reply.status):
            self._accepted = credential
        elif reply.status == httpx.codes.UNAUTHORIZED and self._accepted == credential:
            raise errors.CredentialRevoked(
                f"GitHub no longer accepts the token, for {what}", details={"status": reply.status}
            )

    async def _exchange(self, request: _Request, proof: Mapping[str, str]) -> Reply:
        what, headers = request.what, {**request.headers, **proof}
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._lines.one() as line,
                line.stream(
                    request.method, request.url, headers=headers, content=request.content
                ) as response,
            ):
                return Reply(response.status_code, response.headers, await _read(response, what))
        except (httpx.TimeoutException, TimeoutError) as error:
            raise errors.TimedOut(f"GitHub did not answer in time for {what}") from error
        except httpx.TransportError as error:
            raise errors.Unreachable(
                f"GitHub cannot be reached for {what}: {type(error).__name__}"
            ) from error


def _has_left_over(line: httpx.AsyncClient, base: httpx.URL) -> bool:
    """Tell whether more has come than the answer: whoever asks next would take it for his own.

    httpcore looks only at what the socket has, not at what it has read already, and shows that to
    nobody; hence the private names.
    """
    transport = line._transport_for_url(base)  # noqa: SLF001
    if not isinstance(transport, httpx.AsyncHTTPTransport):
        return False
    for opened in transport._pool.connections:  # noqa: SLF001
        innermost: Any = opened
        # Those to a proxy have one more around the one that speaks HTTP.
        while innermost is not None and not hasattr(innermost, "_h11_state"):
            innermost = getattr(innermost, "_connection", None)
        if innermost is not None and innermost._h11_state.trailing_data[0]:  # noqa: SLF001
            return True
    return False


def _is_below(base: bytes, url: httpx.URL) -> bool:
    # httpx resolves dots, but not those that are encoded, as a server may.
    dots = {".", ".."} & set(url.path.split("/"))
    return url.raw_path.startswith(base + b"/") and not dots


async def _read(response: httpx.Response, what: str) -> bytes:
    """Read a body as it was before it was packed, and never more of it than it may have."""
    unpack = _unpacking(response.headers.get("content-encoding", ""), what)
    content = bytearray()
    # Not `aiter_bytes`: that unpacks all that has come before anybody can look at its size.
    async for chunk in response.aiter_raw():
        content += unpack(chunk, _MAX_BODY_BYTES + 1 - len(content))
        if len(content) > _MAX_BODY_BYTES:
            raise errors.UnusableAnswer(
                f"GitHub's answer for {what} is larger than {_MAX_BODY_BYTES} bytes"
            )
    return bytes(content)


def _unpacking(coding: str, what: str) -> Callable[[bytes, int], bytes]:
    """Return what unpacks a chunk to at most so many bytes; what is beyond them does not matter."""
    coding = coding.strip().lower()
    if coding in {"", "identity"}:
        return lambda chunk, _most: chunk
    if coding != _CODING:
        raise errors.UnusableAnswer(
            f"GitHub's answer for {what} is packed in a way nobody asked for"
        )
    unpacking = zlib.decompressobj(_GZIP_BITS)

    def unpack(chunk: bytes, most: int) -> bytes:
        if unpacking.eof:
            return b""
        try:
            return unpacking.decompress(chunk, most)
        except zlib.error:
            raise errors.UnusableAnswer(f"GitHub's answer for {what} cannot be unpacked") from None

    return unpack


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _DEFAULT_PORTS.get(url.scheme)
