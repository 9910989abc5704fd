"""HTTP requests to GitHub, which never leave the configured origin."""

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
from typing import TYPE_CHECKING, Any, Final

import httpx
import msgspec
from cachetools import TTLCache

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.auth import REFUSED_SECONDS, authentication
from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.model import Resource, Target
from sidecypher_procedures.github.rate_limits import (
    CODE_SEARCH,
    GRAPHQL,
    REST,
    SEARCH,
    UNCOUNTED,
    Budgets,
    Limits,
    budget_in,
    read_limit,
    used_up,
)
from sidecypher_procedures.github.responses import Reply
from sidecypher_procedures.github.settings import Credential, GithubSettings, is_loopback

if TYPE_CHECKING:
    from sidecypher_procedures.github.sharing.shared import SharedCache

_PERMANENT: Final = frozenset({301, 308})
_TEMPORARY: Final = frozenset({302, 303, 307})
_MAX_REDIRECTS: Final = 5
# GitHub allows 100 concurrent requests, and other clients may use the same credential.
_MAX_REQUESTS: Final = 20
# Idle connections are closed after this time; servers close them too.
_IDLE_SECONDS: Final = 5.0
# The only accepted content coding: each of several nested ones could be a decompression bomb.
_CODING: Final = "gzip"
_GZIP_BITS: Final = 16 + zlib.MAX_WBITS
_MAX_BODY_BYTES: Final = 8 * 1024 * 1024
# The name that the header `Location` of an answer gets. httpx parses that header even if it does
# not follow redirects, and raises for texts such as `http:x`.
_LOCATION: Final = "x-sidecypher-location"
# A former name may be given to a new repository, so known redirects expire.
_MOVE_SECONDS: Final = 3600.0
_MAX_MOVES: Final = 4096
# On GitHub Enterprise Server the path of REST ends with a version, and GraphQL is next to it.
_ENTERPRISE_REST: Final = "/v3"
_JSON: Final = {"Content-Type": "application/json"}
_SEARCHES: Final = {"/search/code": CODE_SEARCH, "/search/": SEARCH}
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# Both log every URL, and so the arguments of a call.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class _Validator:
    """The ETag of an answer, which is valid only for the credential that received the answer."""

    etag: str
    credential_key: str


@dataclass(frozen=True, slots=True)
class _Request:
    """A request without authentication; `what` describes it in errors."""

    what: str
    method: str
    url: httpx.URL
    headers: Mapping[str, str]
    content: bytes | None = None
    validator: _Validator | None = None

    def condition(self, credential_key: str) -> dict[str, str]:
        """Return the conditional header if the validator belongs to the credential."""
        if self.validator is None or self.validator.credential_key != credential_key:
            return {}
        return {"If-None-Match": self.validator.etag}


@dataclass(frozen=True, slots=True)
class _Refusal:
    """The outcome for a credential that GitHub refused, reused for all requests until it ends.

    Attributes:
        outcome: GitHub's answer, or the error of replacing the credential.
        ends: End of the refusal, in monotonic seconds.
    """

    credential: Credential
    outcome: Reply | errors.GithubError
    ends: float


class _ClientPool:
    """Pool of HTTP clients for the origin, each with one connection.

    One client with many connections would check all of them twice per request, which takes longer
    than everything else. The most recently used client is used next, so that unneeded ones become
    idle and are closed.
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
            event_hooks={"response": [_rename_location]},
            follow_redirects=False,
            trust_env=trust_env,
            verify=httpx.create_ssl_context(trust_env=trust_env),
        )
        self._clock = clock
        self._all: set[httpx.AsyncClient] = set()
        self._idle: deque[tuple[float, httpx.AsyncClient]] = deque()
        self._closed = False

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[httpx.AsyncClient]:
        """Lend a client to one request; after an error it is closed.

        Raises:
            Unreachable: The pool is closed.
        """
        await self._close_idle()
        if self._closed:
            raise errors.Unreachable(
                "The connections to GitHub are closed, as the sidecar stops or reloads",
                hint="Call again.",
            )
        client = self._idle.pop()[1] if self._idle else self._make()
        self._all.add(client)
        try:
            yield client
        except BaseException:
            await self._close_client(client)
            raise
        if _has_unread_data(client, self._base):
            await self._close_client(client)
        else:
            self._idle.append((self._clock.monotonic(), client))

    async def close(self) -> None:
        """Close all clients permanently."""
        self._closed = True
        for client in list(self._all):
            await self._close_client(client)

    async def _close_idle(self) -> None:
        latest = self._clock.monotonic() - _IDLE_SECONDS
        while self._idle and self._idle[0][0] < latest:
            await self._close_client(self._idle.popleft()[1])

    async def _close_client(self, client: httpx.AsyncClient) -> None:
        self._all.discard(client)
        await client.aclose()


class Connection:
    """Connection to the configured origin that sends the token and follows redirects of GETs."""

    def __init__(
        self, settings: GithubSettings, clock: Clock, shared: "SharedCache | None" = None
    ) -> None:
        self._base = settings.base_url
        self._shared = shared
        self._graphql = httpx.URL(self._base.removesuffix(_ENTERPRISE_REST) + "/graphql")
        self._origin = _origin(httpx.URL(settings.base_url))
        self._rate_limit = httpx.URL(self._base + "/rate_limit")
        self._resources = {self._graphql: GRAPHQL, self._rate_limit: UNCOUNTED}
        self._authentication = authentication(settings, clock, self._post)
        self._accepted: Credential | None = None
        self._refusal: _Refusal | None = None
        self._clock = clock
        # A limit for the whole response: httpx only limits the time between two reads.
        self._seconds = settings.connect_timeout + settings.read_timeout
        # Waiting for a slot does not count towards the seconds above.
        self._slots = asyncio.Semaphore(_MAX_REQUESTS)
        self._limits = Limits(clock)
        # Limits of the App's own requests for tokens, which GitHub counts separately.
        self._app_limits = Limits(clock)
        self.budgets = Budgets(clock)
        self._moves: TTLCache[str, httpx.URL] = TTLCache(
            _MAX_MOVES, _MOVE_SECONDS, timer=clock.monotonic
        )
        self._pool = _ClientPool(settings, clock)
        self.sent = 0
        """Number of requests, those for tokens of an App included."""
        self.unchanged = 0
        """Number of answers 304."""

    @property
    def credential_key(self) -> str:
        """Key of the credential: answers must never be served to another one."""
        return self._authentication.key

    @property
    def has_token(self) -> bool:
        """Whether there is a credential."""
        return self.credential_key != Credential(None).key

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def get(
        self, target: Target | Resource, remembers: Callable[[], bool], etag: str | None = None
    ) -> Reply:
        """Fetch the target, following redirects on the same origin.

        A permanent redirect is remembered if `remembers` returns true, which is false after the
        target was invalidated. `etag` is that of the caller's answer from the current credential;
        with it the reply may be a 304.

        Raises:
            RateLimited: An earlier answer was a rate limit that has not ended.
            RedirectRefused: A redirect points to another origin, or there are more than five.
            TimedOut: The answer was not complete in time.
            Unreachable: There is no connection, or it broke.
            UnusableAnswer: The answer is too large, or a redirect has no usable location.
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

    async def query(
        self, document: str, variables: Mapping[str, Any], operation: str | None = None
    ) -> Reply:
        """Send a GraphQL document to ``/graphql``; redirects are not followed.

        Raises:
            RateLimited: An earlier answer was a rate limit that has not ended.
            TimedOut: The answer was not complete in time.
            Unreachable: There is no connection, or it broke.
            UnusableAnswer: The answer is too large.
        """
        named = {} if operation is None else {"operationName": operation}
        content = msgspec.json.encode({"query": document, "variables": variables, **named})
        return await self._send(_Request("a GraphQL query", "POST", self._graphql, _JSON, content))

    async def rate_limit(self) -> Reply:
        """Fetch the rate limits; GitHub does not count this request.

        Raises:
            RateLimited: GitHub accepts no requests at all for now.
            TimedOut: The answer was not complete in time.
            Unreachable: There is no connection, or it broke.
            UnusableAnswer: The answer is too large.
        """
        return await self._send(_Request("the rate limit", "GET", self._rate_limit, {}))

    def forget_moves(self, key: str, *, below: bool = False) -> None:
        """Drop known redirects of a target, and with `below` of all targets below it."""
        for known in list(self._moves):
            if known == key or (below and known.startswith(f"{key}/")):
                self._moves.pop(known, None)

    def next_page(self, target: Target | Resource, reply: Reply) -> str | None:
        """Return path and query, below the base URL, of the next page in the header ``Link``.

        Raises:
            RedirectRefused: The page is on another origin or outside of the base URL.
            UnusableAnswer: The header has no valid URL.
        """
        link = httpx.Response(reply.status, headers=reply.headers).links.get("next", {})
        # httpx lists a link without a relation under its URL, which may be `next`.
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
        target: Target | Resource,
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

    def _redirect(self, target: Target | Resource, url: httpx.URL, reply: Reply) -> httpx.URL:
        try:
            location = url.join(reply.headers[_LOCATION])
        except (KeyError, httpx.InvalidURL):
            raise errors.UnusableAnswer(f"The redirect of `{target}` says not where to") from None
        if not self._is_own(location):
            raise errors.RedirectRefused(f"`{target}` was redirected to another origin")
        return location

    def _is_own(self, url: httpx.URL) -> bool:
        return _origin(url) == self._origin and not url.userinfo

    def _resource(self, url: httpx.URL) -> str:
        """Return the resource whose rate limit a request counts towards."""
        path = str(url).removeprefix(self._base)
        for start, resource in _SEARCHES.items():
            if path.startswith(start):
                return resource
        return self._resources.get(url, REST)

    async def _send(self, request: _Request) -> Reply:
        async with self._slots:
            self._limits.check(self._resource(request.url), request.what)
            return await self._authorised(request)

    async def _authorised(self, request: _Request) -> Reply:
        credential = await self._authentication.credential()
        reply = self._refused(credential)
        if reply is None:
            credential, reply = await self._send_with(credential, request)
        self._check_revoked(request.what, credential, reply)
        return reply

    async def _send_with(
        self, credential: Credential, request: _Request
    ) -> tuple[Credential, Reply]:
        """Send with the credential, or its replacement if refused; return the one that was used."""
        reply = await self._send_as(credential, request)
        if reply.status == httpx.codes.UNAUTHORIZED:
            known = self._refused(credential)
            if known is not None:
                # A concurrent request has found no replacement.
                return credential, known
            other = await self._replacement(credential)
            if other is not None:
                credential = other
                # A concurrent request may have been refused with it meanwhile.
                known = self._refused(other)
                if known is not None:
                    return other, known
                reply = await self._send_as(other, replace(request, validator=None))
        if reply.status == httpx.codes.UNAUTHORIZED:
            self._store_refusal(credential, reply)
        return credential, reply

    def _refused(self, credential: Credential) -> Reply | None:
        """Return the stored answer for a credential that GitHub has refused recently.

        Raises:
            GithubError: Replacing the credential failed.
        """
        known = self._refusal
        if known is None or known.credential != credential:
            return None
        if self._clock.monotonic() >= known.ends:
            return None
        if isinstance(known.outcome, errors.GithubError):
            # A copy, since the error is raised many times, and each raise changes its traceback.
            raise copy(known.outcome)
        return known.outcome

    def _store_refusal(self, credential: Credential, outcome: Reply | errors.GithubError) -> None:
        if credential.token is not None:
            ends = self._clock.monotonic() + REFUSED_SECONDS
            self._refusal = _Refusal(credential, outcome, ends)

    async def _send_as(self, credential: Credential, request: _Request) -> Reply:
        # Bound before the request, since the credential may be replaced before the answer arrives.
        limits, budgets, key = self._limits, self.budgets, self.credential_key
        resource = self._resource(request.url)
        async with self._reserved(request.what, key, resource) as settled:
            reply = await self._exchange(
                request, {**credential.headers(), **request.condition(key)}
            )
            settled.append(reply)
        until = limits.note(resource, reply.status, reply.headers, reply.content)
        budget = budget_in(reply.headers)
        budgets.note([] if budget is None else [budget])
        return replace(reply, credential_key=key, stops_until=until)

    @asynccontextmanager
    async def _reserved(self, what: str, key: str, resource: str) -> AsyncIterator[list[Reply]]:
        """Count a request in what all sidecars have left together; its reply is to be added.

        Raises:
            RateLimited: Another sidecar has met a limit, or requests under way use the last of it.
        """
        replies: list[Reply] = []
        shared = self._shared
        if shared is None or shared.is_away:
            yield replies
            return
        id_, ends = await shared.reserve(key, resource)
        if ends is not None:
            raise used_up(what, ends)
        try:
            yield replies
        finally:
            budget = limit = None
            for reply in replies:
                budget = budget_in(reply.headers)
                now = self._clock.now()
                limit = read_limit(resource, reply.status, reply.headers, reply.content, now)
            shared.settle(key, resource, id_, budget=budget, limit=limit)

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
                self._store_refusal(refused, error)
            raise
        if self.credential_key != before:
            # Limits of one credential do not apply to another.
            self._limits = Limits(self._clock)
            self.budgets = Budgets(self._clock)
        return other

    def _check_revoked(self, what: str, credential: Credential, reply: Reply) -> None:
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
        self.sent += 1
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._pool.lend() as client,
                client.stream(
                    request.method, request.url, headers=headers, content=request.content
                ) as response,
            ):
                self.unchanged += response.status_code == httpx.codes.NOT_MODIFIED
                return Reply(response.status_code, response.headers, await _read(response, what))
        except (httpx.TimeoutException, TimeoutError) as error:
            raise errors.TimedOut(f"GitHub did not answer in time for {what}") from error
        except httpx.TransportError as error:
            raise errors.Unreachable(
                f"GitHub cannot be reached for {what}: {type(error).__name__}"
            ) from error


async def _rename_location(response: httpx.Response) -> None:
    location = response.headers.pop("location", None)
    if location is not None:
        response.headers[_LOCATION] = location


def _has_unread_data(client: httpx.AsyncClient, base: httpx.URL) -> bool:
    """Return whether data after the answer has arrived, which the next request would misread.

    httpcore checks only the socket, not the data that it has read already, and has no public API
    for that; hence the private names.
    """
    transport = client._transport_for_url(base)  # noqa: SLF001
    if not isinstance(transport, httpx.AsyncHTTPTransport):
        return False
    for opened in transport._pool.connections:  # noqa: SLF001
        innermost: Any = opened
        # A connection through a proxy wraps the one that speaks HTTP.
        while innermost is not None and not hasattr(innermost, "_h11_state"):
            innermost = getattr(innermost, "_connection", None)
        if innermost is not None and innermost._h11_state.trailing_data[0]:  # noqa: SLF001
            return True
    return False


def _is_below(base: bytes, url: httpx.URL) -> bool:
    # httpx resolves dots, but not encoded ones, which a server may resolve.
    dots = {".", ".."} & set(url.path.split("/"))
    return url.raw_path.startswith(base + b"/") and not dots


async def _read(response: httpx.Response, what: str) -> bytes:
    """Return the decompressed body; stop reading when it exceeds the limit."""
    decompress = _decompressor(response.headers.get("content-encoding", ""), what)
    content = bytearray()
    # Not `aiter_bytes`, which decompresses a whole chunk before its size can be checked.
    async for chunk in response.aiter_raw():
        content += decompress(chunk, _MAX_BODY_BYTES + 1 - len(content))
        if len(content) > _MAX_BODY_BYTES:
            raise errors.UnusableAnswer(
                f"GitHub's answer for {what} is larger than {_MAX_BODY_BYTES} bytes"
            )
    return bytes(content)


def _decompressor(coding: str, what: str) -> Callable[[bytes, int], bytes]:
    """Return a function that decompresses a chunk to at most a number of bytes."""
    coding = coding.strip().lower()
    if coding in {"", "identity"}:
        return lambda chunk, _most: chunk
    if coding != _CODING:
        raise errors.UnusableAnswer(
            f"GitHub's answer for {what} has a compression that was not requested"
        )
    decompressor = zlib.decompressobj(_GZIP_BITS)

    def decompress(chunk: bytes, most: int) -> bytes:
        if decompressor.eof:
            return b""
        try:
            return decompressor.decompress(chunk, most)
        except zlib.error:
            raise errors.UnusableAnswer(f"GitHub's answer for {what} cannot be unpacked") from None

    return decompress


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _DEFAULT_PORTS.get(url.scheme)
