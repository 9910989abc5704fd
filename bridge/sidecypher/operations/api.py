"""Operators' requests over HTTP: list calls, cancel one, and list modules."""

from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sidecypher.calls.executors.execution import RunningCall
from sidecypher.loading.loader import Unit
from sidecypher.operations.control import Inspector
from sidecypher.sdk.signature.reader import read_columns
from sidecypher.telemetry.calls import Telemetry
from sidecypher.telemetry.failed_calls import FailedCall
from sidecypher.transport.http.problems import UnknownCall
from sidecypher.transport.http.server import CALLS
from sidecypher.transport.http.tokens import TokenCheck

_COLUMNS: Final = read_columns(RunningCall)


class OperatorApi:
    """The routes under `/v1/calls`, and `/v1/modules`; each request must carry the token."""

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
                "running": [_running(each) for each in self._dispatcher.calls.running()],
                "failed": [_failed(each) for each in self._failed_calls.latest()],
            }
        )

    async def _cancel(self, request: Request) -> Response:
        self._authorize(request)
        if not self._dispatcher.calls.cancel_by_id(request.path_params["call_id"]):
            raise UnknownCall("No call of this id is open")
        return Response(status_code=HTTPStatus.ACCEPTED)

    async def _modules(self, request: Request) -> Response:
        # The text of an import error may hold anything, so only operators can read it.
        self._authorize(request)
        return _json({"modules": [_module(unit) for unit in self._inspector.loaded.units]})


def _json(content: dict[str, Any]) -> Response:
    headers = {"Cache-Control": "no-store"}
    return Response(msgspec.json.encode(content), headers=headers, media_type="application/json")


def _running(call: RunningCall) -> dict[str, Any]:
    return {column.name: getattr(call, column.attribute) for column in _COLUMNS}


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


def _module(unit: Unit) -> dict[str, Any]:
    failure = [] if unit.failure is None else [unit.failure]
    return {
        "module": unit.name,
        "procedures": len(unit.procedures),
        "problems": [*failure, *unit.warnings],
    }
