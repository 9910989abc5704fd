"""Bodies of requests: read with a bound of size, of time, and of what all take together."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Final

from starlette.requests import ClientDisconnect, Request

from sidecypher.transport.http.problems import HttpBusy, RequestRefused

READ_SECONDS: Final = 10.0
"""How long a request's body may take to come."""

FIRST_SECONDS: Final = 3.0
"""How long a small body may take; a larger one has a second more for each `SLOWEST_BYTES`."""

SLOWEST_BYTES: Final = 100_000


class Room:
    """Memory for the bodies of strangers, each from its first byte until it is answered.

    When it is full, the largest of those that still come gives way: who sends little, as honest
    senders do, is not kept out by who sends much. All methods are called on one event loop.

    Args:
        size: Bytes that all bodies may have together.
    """

    def __init__(self, size: int) -> None:
        self._left = size
        self._coming: set[_Coming] = set()

    @contextlib.asynccontextmanager
    async def read(self, request: Request, limit: int) -> AsyncIterator[bytes]:
        """Read a body as `read_body` does, and keep the room for it.

        Raises:
            HttpBusy: It had to give way.
            RequestRefused: As `read_body`.
        """
        coming = _Coming(self)
        self._coming.add(coming)
        try:
            body = await read_body(request, limit, coming=coming)
            self._coming.discard(coming)
            yield body
        finally:
            self._coming.discard(coming)
            self._left += coming.size

    def take(self, size: int) -> None:
        """Take room for further bytes of one of the bodies."""
        self._left -= size
        if self._left < 0 and self._coming:
            largest = max(self._coming, key=lambda each: each.size)
            self._coming.discard(largest)
            self._left += largest.size
            largest.give_way()


class _Coming:
    """A body that is being read: how much of it is there, and when it is given up."""

    def __init__(self, room: Room | None = None) -> None:
        self.size = 0
        self._room = room
        self._gave_way = False
        self._patience: asyncio.Timeout | None = None
        self._begun = asyncio.get_running_loop().time()

    def patience(self) -> asyncio.Timeout:
        """Return the time limit to read it in."""
        self._patience = asyncio.timeout_at(self._end())
        return self._patience

    def grow(self, size: int) -> None:
        """Note that more of it has come."""
        self.size += size
        if self._room is not None:
            self._room.take(size)
        if self._patience is not None and not self._gave_way:
            self._patience.reschedule(self._end())

    def give_way(self) -> None:
        """Give it up for the others' sake."""
        self.size = 0
        self._gave_way = True
        if self._patience is not None:
            self._patience.reschedule(self._begun)

    def error(self) -> HttpBusy | RequestRefused:
        """Return what its sender is told."""
        if self._gave_way:
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


async def read_body(
    request: Request, limit: int, *, hint: str = "", coming: _Coming | None = None
) -> bytes:
    """Return the body, but read no more than `limit` bytes.

    Raises:
        RequestRefused: It is too large, or did not come in time.
    """
    too_large = RequestRefused(
        f"The request's body has more than {limit} bytes",
        status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        hint=hint,
    )
    told = request.headers.get("content-length", "")
    if told.isdigit() and int(told) > limit:
        raise too_large
    coming = coming or _Coming()
    body = bytearray()
    try:
        async with coming.patience():
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_large
                coming.grow(len(chunk))
    except (TimeoutError, ClientDisconnect):
        raise coming.error() from None
    return bytes(body)
