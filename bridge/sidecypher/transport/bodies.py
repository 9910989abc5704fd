"""Bodies of requests: read with a bound of size and of time."""

import asyncio
from http import HTTPStatus
from typing import Final

from starlette.requests import ClientDisconnect, Request

from sidecypher.transport.problems import RequestRefused

READ_SECONDS: Final = 10.0
"""How long a request's body may take to come."""


async def read_body(request: Request, limit: int, *, hint: str = "") -> bytes:
    """Return the body, but read no more than `limit` bytes.

    Args:
        request: Whose body it is.
        limit: Most bytes it may have.
        hint: What to do about a body that is too large.

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
    body = bytearray()
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_large
    except (TimeoutError, ClientDisconnect):
        raise RequestRefused(
            "The request's body did not come in time", status=HTTPStatus.REQUEST_TIMEOUT
        ) from None
    return bytes(body)
