"""One call over HTTP, from its arguments to its last row.

The server's loop must never wait for a function, so a thread answers each message of the call,
page by page. It asks for the next page when the client has read the one before. A client that
disconnects ends the call.
"""

import asyncio
import math
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

import msgspec
from starlette.types import Receive, Send

from sidecypher.calls.dispatcher import Dispatcher, Session
from sidecypher.calls.executors.loop import STOP_SECONDS
from sidecypher.errors import MessageTooLarge, SidecarBusy, SidecypherError
from sidecypher.host.threads import in_thread
from sidecypher.protocol import envelope
from sidecypher.sdk.call import deadline_exceeded, no_transaction
from sidecypher.sdk.registry import Procedure
from sidecypher.transport.http.openapi import STREAM_TYPE
from sidecypher.transport.http.problems import RequestRefused, problem

GRACE_SECONDS: Final = STOP_SECONDS + 0.1
"""Extra time for a call to report its own timeout, and again after it is cancelled."""

# The slots of `HttpApi` limit their number.
_THREAD: Final = "sidecypher-http-call"

_UNICODE_ENDS: Final = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)

Rows = tuple[list[bytes], bool]
"""Rows of a page, each as JSON, and whether there may be more."""

_rows: Final = msgspec.json.Decoder(list[list[msgspec.Raw]]).decode


class HttpCall:
    """Sender of the messages of one call, as a plugin sends them; its methods may block."""

    def __init__(self, dispatcher: Dispatcher, procedure: Procedure, traceparent: str) -> None:
        self.procedure: Final = procedure
        self._dispatcher = dispatcher
        self._id = "http-" + secrets.token_hex(8)
        self._session = Session(no_transaction, jvm=self._id)
        self._traceparent = traceparent
        self._columns = [column.name for column in procedure.signature.columns]

    def first(self, body: bytes, seconds: float) -> Rows:
        """Start the call with the arguments in `body`.

        Raises:
            SidecypherError: The error to send to the client.
        """
        try:
            reservation = self._dispatcher.calls.reserve(len(body))
        except SidecarBusy as error:
            self._dispatcher.refuse(envelope.CallHead(self._id, self.procedure.name, "", ""), error)
            raise
        with reservation:
            request = envelope.CallRequest(
                id=self._id,
                name=self.procedure.name,
                signature=self.procedure.entry.signature,
                args=arguments(self.procedure, body),
                remaining_ms=_milliseconds(seconds),
                mode=getattr(self.procedure.entry, "mode", "READ"),
                database="",
                user="",
                kind=self.procedure.kind,
                traceparent=self._traceparent,
            )
            return self._rows(self._dispatcher.call(request, self._session, reservation))

    def next(self, seconds: float) -> Rows:
        """Request the next page.

        Raises:
            SidecypherError: The error to send to the client.
        """
        request = envelope.PageRequest(self._id, _milliseconds(seconds))
        return self._rows(self._dispatcher.page(request, self._session))

    def close(self) -> None:
        """End the call between two pages."""
        self._dispatcher.close(envelope.CloseRequest(self._id), self._session)

    def cancel(self, *, late: bool) -> None:
        """Stop the call while a page is being made; does not block."""
        request = envelope.CancelRequest(self._id, "deadline" if late else "terminated")
        self._dispatcher.cancel(request, self._session)

    def _rows(self, reply: envelope.CallReply) -> Rows:
        if isinstance(reply, envelope.ErrorReply):
            raise reply.error.error()
        return list(map(self._row, _rows(reply.rows))), reply.more

    def _row(self, values: list[msgspec.Raw]) -> bytes:
        if self.procedure.kind == "function":
            return bytes(values[0])
        return envelope.write(dict(zip(self._columns, values, strict=True)))


def _milliseconds(seconds: float) -> int:
    return max(0, math.ceil(seconds * 1000))


def arguments(procedure: Procedure, body: bytes) -> list[Any]:
    """Return a call's arguments by position, from a JSON list or a JSON object by name.

    Raises:
        RequestRefused: It is not JSON, or neither list nor object.
        ArgumentError: A name is not one of the parameters, or a parameter has no value.
    """
    try:
        sent = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise RequestRefused("The request's body is not JSON") from None
    if isinstance(sent, list):
        return sent
    if not isinstance(sent, dict):
        raise RequestRefused(
            "The request's body is neither a list nor an object",
            hint="Send the arguments as `[...]`, or as an object by their names.",
        )
    return procedure.by_position(sent)


class _ClientGone(Exception):
    """The client has stopped waiting."""


class Exchange:
    """One request on the server's loop, and its answer.

    Args:
        timeout: Seconds the call may spend in Python.
        stall_seconds: Longest time that the client may leave rows unread.
        limit: Bytes of an answer in one piece.
    """

    def __init__(
        self, call: HttpCall, send: Send, timeout: float, stall_seconds: float, limit: int
    ) -> None:
        self._call = call
        self._send = send
        self._left = timeout
        self._stall_seconds = stall_seconds
        self._limit = limit
        self._work: Future[Any] | None = None
        self._watch: asyncio.Task[None]

    async def run(self, body: bytes, receive: Receive, *, streams: bool) -> None:
        """Call, and send the answer: rows line by line, or all in one piece.

        Raises:
            SidecypherError: The error to send to the client; nothing has been sent yet.
        """
        self._watch = asyncio.create_task(_until_gone(receive))
        try:
            rows, more = await self._page(lambda: self._call.first(body, self._left))
            if streams and self._call.procedure.kind == "procedure":
                await self._stream(rows, more=more)
            else:
                await self._whole(rows, more=more)
        except _ClientGone:
            pass
        finally:
            self._watch.cancel()

    def when_idle(self, then: Callable[[], None]) -> None:
        """Call `then` when no thread works for this request."""
        if self._work is None:
            then()
        else:
            self._work.add_done_callback(lambda _work: then())

    async def _whole(self, rows: list[bytes], *, more: bool) -> None:
        size = sum(map(len, rows))
        while more:
            page, more = await self._page(lambda: self._call.next(self._left))
            rows += page
            size += sum(map(len, page))
            if size > self._limit:
                self._end(open_=more)
                raise MessageTooLarge(
                    f"The rows of `{self._call.procedure.name}` have more than {self._limit} bytes",
                    hint=f"Accept `{STREAM_TYPE}`: rows then come line by line.",
                )
        if self._call.procedure.kind == "function":
            answer = b'{"value":' + rows[0] + b"}"
        else:
            answer = b'{"rows":[' + b",".join(rows) + b"]}"
        await self._begin("application/json", len(answer))
        await self._write(answer, more=False)

    async def _stream(self, rows: list[bytes], *, more: bool) -> None:
        count = 0
        try:
            await self._begin(STREAM_TYPE)
            while True:
                count += len(rows)
                await self._write(_one_a_line(b"".join(b'{"row":' + row + b"}\n" for row in rows)))
                if not more:
                    break
                rows, more = await self._page(lambda: self._call.next(self._left))
        except SidecypherError as error:
            last = {"error": problem(error)}
        except _ClientGone:
            self._end(open_=more)
            raise
        else:
            last = {"end": {"rows": count}}
        await self._write(_one_a_line(envelope.write(last) + b"\n"), more=False)

    async def _page(self, work: Callable[[], Rows]) -> Rows:
        """Make a page on a thread, within the call's time and while the client waits."""
        begun = time.monotonic()
        self._work = in_thread(work, _THREAD)
        page: asyncio.Future[Rows] = asyncio.wrap_future(self._work)
        either: set[asyncio.Future[Any]] = {page, self._watch}
        longest = self._left + GRACE_SECONDS
        await asyncio.wait(either, timeout=longest, return_when="FIRST_COMPLETED")
        if not page.done():
            self._call.cancel(late=not self._watch.done())
            await asyncio.wait({page}, timeout=GRACE_SECONDS)
        self._left -= time.monotonic() - begun
        if page.done():
            return page.result()
        # The thread's later result or exception is not used.
        page.add_done_callback(lambda late: late.cancelled() or late.exception())
        if self._watch.done():
            raise _ClientGone
        raise deadline_exceeded(self._call.procedure.name)

    def _end(self, *, open_: bool) -> None:
        """Close the call if it has rows left, on a thread: the function's `finally` may be slow."""
        if open_:
            self._work = in_thread(self._call.close, _THREAD)

    async def _begin(self, kind: str, length: int | None = None) -> None:
        headers = [(b"content-type", kind.encode())]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})

    async def _write(self, chunk: bytes, *, more: bool = True) -> None:
        """Send a part of the answer, and wait until the client can receive the next."""
        message = {"type": "http.response.body", "body": chunk, "more_body": more}
        try:
            async with asyncio.timeout(self._stall_seconds):
                await self._send(message)
        except TimeoutError:
            raise _ClientGone from None
        if self._watch.done():
            raise _ClientGone


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _one_a_line(text: bytes) -> bytes:
    """Escape the line ends that Unicode has and JSON has not, since some clients split at them."""
    for end, escaped in _UNICODE_ENDS:
        text = text.replace(end, escaped)
    return text
