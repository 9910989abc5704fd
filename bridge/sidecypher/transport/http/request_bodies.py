"""Request bodies, read within limits of size, of time, and of the memory of all together."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

from starlette.requests import ClientDisconnect, Request

from sidecypher.transport.http.problems import HttpBusy, RequestRefused

READ_SECONDS: Final = 10.0
"""Longest time to receive a request's body."""

FIRST_SECONDS: Final = 3.0
"""Longest time for a small body; a larger one has a second more for each `SLOWEST_BYTES`."""

SLOWEST_BYTES: Final = 100_000


class BodyMemory:
    """Memory for bodies of unknown senders, each from its first byte until it is answered.

    If the memory is full, the largest unfinished body is evicted. So senders of large bodies do
    not block those of small ones. All methods are called on one event loop.

    Args:
        size: Bytes that all bodies may have together.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._unfinished: set[_Body] = set()

    @contextlib.asynccontextmanager
    async def read(self, request: Request, limit: int) -> AsyncIterator[bytes]:
        """Read a body as `read_body` does, and hold its memory.

        Raises:
            HttpBusy: The body was evicted.
            RequestRefused: As `read_body`.
        """
        unfinished = _Body(self)
        self._unfinished.add(unfinished)
        try:
            body = await read_body(request, limit, unfinished=unfinished)
            self._unfinished.discard(unfinished)
            yield body
        finally:
            self._unfinished.discard(unfinished)
            self._left += unfinished.size

    def allocate(self, size: int) -> None:
        """Allocate memory for further bytes of one of the bodies."""
        self._left -= size
        if self._left < 0 and self._unfinished:
            largest = max(self._unfinished, key=lambda each: each.size)
            self._unfinished.discard(largest)
            self._left += largest.size
            largest.evict()


class _Body:
    """A body that is being read: its size so far and its time limit."""

    def __init__(self, memory: BodyMemory | None = None) -> None:
        self.size = 0
        self._memory = memory
        self._is_evicted = False
        self._timeout: asyncio.Timeout | None = None
        self._begun = asyncio.get_running_loop().time()

    def timeout(self) -> asyncio.Timeout:
        """Return the time limit for reading it."""
        self._timeout = asyncio.timeout_at(self._end())
        return self._timeout

    def grow(self, size: int) -> None:
        """Add the size of a received part, and extend the time limit."""
        self.size += size
        if self._memory is not None:
            self._memory.allocate(size)
        if self._timeout is not None and not self._is_evicted:
            self._timeout.reschedule(self._end())

    def evict(self) -> None:
        """Stop reading it, to free its memory for other bodies."""
        self.size = 0
        self._is_evicted = True
        if self._timeout is not None:
            self._timeout.reschedule(self._begun)

    def error(self) -> HttpBusy | RequestRefused:
        """Return the error for its sender."""
        if self._is_evicted:
            return HttpBusy(
                "As many bodies are being read as there is room for",
                hint="Send it again.",
                retryable=True,
            )
        return RequestRefused(
            "The request's body did not come in time", status=HTTPStatus.REQUEST_TIMEOUT
        )

    def _end(self) -> float:
        return self._begun + min(READ_SECONDS, FIRST_SECONDS + self.size / SLOWEST_BYTES)


def check_content(request: Request) -> None:
    """Refuse forms and plain text, which a web page can send without a CORS preflight.

    Raises:
        RequestRefused: The body is not said to be plain JSON.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" or "content-encoding" in request.headers:
        raise RequestRefused(
            "The request's body is not said to be plain JSON",
            status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            hint="Send `Content-Type: application/json`.",
        )


async def read_body(
    request: Request, limit: int, *, hint: str = "", unfinished: _Body | None = None
) -> bytes:
    """Return the body, but read no more than `limit` bytes.

    Raises:
        RequestRefused: It is too large, or did not arrive in time.
    """
    too_large = RequestRefused(
        f"The request's body has more than {limit} bytes",
        status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        hint=hint,
    )
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > limit:
        raise too_large
    unfinished = unfinished or _Body()
    body = bytearray()
    try:
        async with unfinished.timeout():
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_large
                unfinished.grow(len(chunk))
    except (TimeoutError, ClientDisconnect):
        raise unfinished.error() from None
    return bytes(body)
