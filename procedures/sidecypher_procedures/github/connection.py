"""GET requests to one origin, and to no other, whatever a redirect says."""

import asyncio
import logging
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final

import httpx
from cachetools import TTLCache

from sidecypher_procedures.github.cache import Clock
from sidecypher_procedures.github.errors import (
    RedirectRefused,
    TimedOut,
    Unreachable,
    UnusableAnswer,
)
from sidecypher_procedures.github.names import Target
from sidecypher_procedures.github.settings import Credential, GithubSettings, is_loopback

_PERMANENT: Final = frozenset({301, 308})
_TEMPORARY: Final = frozenset({302, 303, 307})
_MAX_REDIRECTS: Final = 5
_MAX_CONNECTIONS: Final = 20
_MAX_BODY_BYTES: Final = 8 * 1024 * 1024
# An old name may be given to a new repository, so that a move is not believed for ever.
_MOVE_SECONDS: Final = 3600.0
_MAX_MOVES: Final = 4096
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# They log every URL, and with it the arguments of a call.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is no redirect, read to its end."""

    status: int
    headers: httpx.Headers
    content: bytes


class Connection:
    """Sends GET requests below the configured base URL, with the token, and follows redirects.

    Example:
        >>> connection = Connection(settings, settings.credential(), Clock())  # doctest: +SKIP
        >>> target = Target(Kind.REPOSITORY, "octocat", "Hello-World")  # doctest: +SKIP
        >>> reply = await connection.get(target)  # doctest: +SKIP
    """

    def __init__(self, settings: GithubSettings, credential: Credential, clock: Clock) -> None:
        self._base = settings.base_url
        self._origin = _origin(httpx.URL(settings.base_url))
        self._credential = credential
        # A guard against a body that drips: httpx only limits the time between two reads.
        self._seconds = settings.connect_timeout + settings.read_timeout
        self._moves: TTLCache[str, httpx.URL] = TTLCache(
            _MAX_MOVES, _MOVE_SECONDS, timer=clock.monotonic
        )
        self._http = httpx.AsyncClient(
            headers={
                "Accept": "application/vnd.github+json",
                "User-Agent": f"sidecypher/{version('sidecypher')}",
                "X-GitHub-Api-Version": settings.api_version,
            },
            timeout=httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout),
            limits=httpx.Limits(
                max_connections=_MAX_CONNECTIONS, max_keepalive_connections=_MAX_CONNECTIONS
            ),
            follow_redirects=False,
            # No proxy can reach what listens on this machine only.
            trust_env=not is_loopback(httpx.URL(settings.base_url).host),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def get(self, target: Target, etag: str | None = None) -> Reply:
        """Fetch the target, wherever it has moved to on the same origin.

        Args:
            target: What to fetch.
            etag: Validator of the answer the caller has; the reply may then be a 304.

        Raises:
            RedirectRefused: A redirect points elsewhere, or there are more than five.
            TimedOut: The answer was not complete in time.
            Unreachable: There is no connection, or it broke.
            UnusableAnswer: The answer is too large, or a redirect says not where to.
        """
        known = self._moves.get(target.key)
        start = httpx.URL(self._base + target.path)
        reply = await self._follow(target, known or start, etag)
        if reply.status == httpx.codes.NOT_FOUND and known is not None:
            self._moves.pop(target.key, None)
            reply = await self._follow(target, start, etag)
        return reply

    async def _follow(self, target: Target, url: httpx.URL, etag: str | None) -> Reply:
        permanent = True
        for _ in range(_MAX_REDIRECTS + 1):
            reply = await self._send(target, url, etag)
            if reply.status not in _PERMANENT | _TEMPORARY:
                return reply
            url = self._redirect(target, url, reply)
            permanent = permanent and reply.status in _PERMANENT
            if permanent:
                self._moves[target.key] = url
        self._moves.pop(target.key, None)
        raise RedirectRefused(f"`{target}` was redirected more than {_MAX_REDIRECTS} times")

    def _redirect(self, target: Target, url: httpx.URL, reply: Reply) -> httpx.URL:
        try:
            location = url.join(reply.headers["location"])
        except (KeyError, httpx.InvalidURL):
            raise UnusableAnswer(f"The redirect of `{target}` says not where to") from None
        if _origin(location) != self._origin or location.userinfo:
            raise RedirectRefused(f"`{target}` was redirected to another origin")
        return location

    async def _send(self, target: Target, url: httpx.URL, etag: str | None) -> Reply:
        headers = self._credential.headers()
        if etag is not None:
            headers["If-None-Match"] = etag
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._http.stream("GET", url, headers=headers) as response,
            ):
                return Reply(response.status_code, response.headers, await _read(response, target))
        except (httpx.TimeoutException, TimeoutError) as error:
            raise TimedOut(f"GitHub did not answer in time for `{target}`") from error
        except httpx.DecodingError as error:
            raise UnusableAnswer(f"GitHub's answer for `{target}` cannot be unpacked") from error
        except httpx.TransportError as error:
            raise Unreachable(
                f"GitHub cannot be reached for `{target}`: {type(error).__name__}"
            ) from error


async def _read(response: httpx.Response, target: Target) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > _MAX_BODY_BYTES:
            raise UnusableAnswer(
                f"GitHub's answer for `{target}` is larger than {_MAX_BODY_BYTES} bytes"
            )
    return bytes(content)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or _DEFAULT_PORTS.get(url.scheme)
