"""What who runs a sidecar asks it over HTTP: calls, how one is ended, and modules."""

from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecypher.calls import RunningCall
from sidecypher.failed_calls import FailedCall
from sidecypher.introspection.inspector import Inspector
from sidecypher.loading import Unit
from sidecypher.telemetry import Telemetry
from sidecypher.transport.problems import UnknownCall
from sidecypher.transport.server import CALLS
from sidecypher.transport.tokens import TokenCheck


class OperatorApi:
    """The routes under `/v1/calls`, and `/v1/modules`; whoever asks has to show the token.

    Args:
        inspector: Knows what is loaded, and who has the calls.
        token: What a client must show.
        telemetry: Told of what is refused; knows which calls failed.
    """

    def __init__(self, inspector: Inspector, *, token: bytes, telemetry: Telemetry) -> None:
        self._inspector = inspector
        self._dispatcher = inspector.dispatcher
        self._authorize = TokenCheck(token, telemetry)
        self._failed_calls = telemetry.failed_calls

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/v1/calls", self._list, methods=["GET"]),
            Route(CALLS + "{call_id}/cancel", self._cancel, methods=["POST"]),
            Route("/v1/modules", self._modules, methods=["GET"]),
        ]

    async def _list(self, request: Request) -> Response:
        self._authorize(request)
        return _json(
            {
                "running": [_running(each) for each in self._dispatcher.running()],
                "failed": [_failed(each) for each in self._failed_calls.latest()],
            }
        )

    async def _cancel(self, request: Request) -> Response:
        self._authorize(request)
        if not self._dispatcher.cancel(request.path_params["call_id"]):
            raise UnknownCall("No call of this id is open")
        return Response(status_code=HTTPStatus.ACCEPTED)

    async def _modules(self, request: Request) -> Response:
        # What an import raised may hold anything; it is in no page that every user can read.
        self._authorize(request)
        return _json({"modules": [_told(unit) for unit in self._inspector.loaded.units]})


def _json(told: dict[str, Any]) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(msgspec.json.encode(told), headers=headers, media_type="application/json")


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


def _told(unit: Unit) -> dict[str, Any]:
    failure = [] if unit.failure is None else [unit.failure]
    return {
        "module": unit.name,
        "procedures": len(unit.procedures),
        "problems": [*failure, *unit.warnings],
    }
