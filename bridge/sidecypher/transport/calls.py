"""The calls under way and those that failed last, over HTTP, and how a person ends one."""

from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecypher.calls import RunningCall
from sidecypher.dispatch import Dispatcher
from sidecypher.failed_calls import FailedCall
from sidecypher.telemetry import Telemetry
from sidecypher.transport.problems import UnknownCall
from sidecypher.transport.tokens import TokenCheck

PREFIX: Final = "/v1/calls/"
"""Below this a page of the sidecar itself may post, see `transport.server`."""


class CallsApi:
    """The routes under `/v1/calls`; whoever asks has to show the token.

    Args:
        dispatcher: Who has the calls.
        token: What a client must show.
        telemetry: Told of what is refused; knows which calls failed.
    """

    def __init__(self, dispatcher: Dispatcher, *, token: bytes, telemetry: Telemetry) -> None:
        self._dispatcher = dispatcher
        self._authorize = TokenCheck(token, telemetry)
        self._failed_calls = telemetry.failed_calls

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/calls", self._list, methods=["GET"]),
            Route(PREFIX + "{call_id}/cancel", self._cancel, methods=["POST"]),
        ]

    async def _list(self, request: Request) -> Response:
        self._authorize(request)
        calls = {
            "running": [_running(each) for each in self._dispatcher.running()],
            "failed": [_failed(each) for each in self._failed_calls.latest()],
        }
        return Response(
            msgspec.json.encode(calls),
            headers={"Cache-Control": "no-store"},
            media_type="application/json",
        )

    async def _cancel(self, request: Request) -> Response:
        self._authorize(request)
        if not self._dispatcher.cancel(request.path_params["call_id"]):
            raise UnknownCall("No call of this id is open")
        return Response(status_code=HTTPStatus.ACCEPTED)


def _running(call: RunningCall) -> dict[str, Any]:
    return {
        "callId": call.call_id,
        "name": call.name,
        "user": call.user,
        "database": call.database,
        "seconds": call.seconds,
        "rows": call.rows,
        "done": call.done,
        "total": call.total,
        "state": call.state,
    }


def _failed(call: FailedCall) -> dict[str, Any]:
    return {
        "callId": call.call_id,
        "name": call.name,
        "user": call.user,
        "database": call.database,
        "seconds": call.seconds,
        "code": call.code,
        "at": call.at.isoformat(timespec="milliseconds"),
    }
