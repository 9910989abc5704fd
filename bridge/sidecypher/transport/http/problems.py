"""Errors over HTTP: a status, and a body of `application/problem+json` (RFC 9457)."""

from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.responses import Response

from sidecypher.errors import SidecypherError
from sidecypher.protocol.envelope import ErrorBody

PROBLEM_TYPE: Final = "application/problem+json"

STATUSES: Final = {
    "SC-203": HTTPStatus.NOT_FOUND,
    "SC-204": HTTPStatus.BAD_REQUEST,
    "SC-209": HTTPStatus.NOT_IMPLEMENTED,
    "SC-213": HTTPStatus.GATEWAY_TIMEOUT,
    "SC-651": HTTPStatus.UNAUTHORIZED,
    "SC-652": HTTPStatus.FORBIDDEN,
    "SC-653": HTTPStatus.BAD_REQUEST,
    "SC-654": HTTPStatus.SERVICE_UNAVAILABLE,
    "SC-655": HTTPStatus.NOT_FOUND,
}
"""Statuses of codes; `status_of` derives those of other codes."""


class TokenRefused(SidecypherError):
    """A request over HTTP came without the sidecar's token for HTTP."""

    code = "SC-651"
    default_hint = "Send `Authorization: Bearer` and the content of `http-token` in the run folder."


class OriginRefused(SidecypherError):
    """A request over HTTP comes from a web page, or names a host that is not this machine."""

    code = "SC-652"
    default_hint = (
        "Call from a program, by 127.0.0.1 or localhost, or by the address of `http_host`."
    )


class RequestRefused(SidecypherError):
    """A request over HTTP is not one that the sidecar understands."""

    code = "SC-653"

    def __init__(
        self, message: str, *, status: HTTPStatus = HTTPStatus.BAD_REQUEST, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class HttpBusy(SidecypherError):
    """The limit of calls over HTTP is reached."""

    code = "SC-654"
    default_hint = "Call again, or raise `http_calls`."


class UnknownCall(SidecypherError):
    """No open call has the id that a request over HTTP names."""

    code = "SC-655"
    default_hint = "It may have ended meanwhile; `GET /v1/calls` lists those that are open."


def status_of(error: SidecypherError) -> HTTPStatus:
    """Return the status of an error.

    Example:
        >>> status_of(SidecypherError("No index", code="kg.no-such-index")).value
        422
    """
    if isinstance(error, RequestRefused):
        return error.status
    # An author's own code may be anything.
    code = str(error.code)
    if code in STATUSES:
        return STATUSES[code]
    if error.retryable:
        return HTTPStatus.SERVICE_UNAVAILABLE
    is_ours = code.startswith("SC-") and code != "SC-201"
    return HTTPStatus.INTERNAL_SERVER_ERROR if is_ours else HTTPStatus.UNPROCESSABLE_ENTITY


def problem(error: SidecypherError) -> dict[str, Any]:
    """Return the body that describes an error."""
    status, fields = status_of(error), ErrorBody.of(error)
    return {
        "title": status.phrase,
        "status": status.value,
        "detail": fields.message,
        "code": fields.code,
        "hint": fields.hint,
        "retryable": fields.retryable,
        "details": fields.details,
    }


def problem_response(error: SidecypherError) -> Response:
    """Return the response that describes an error."""
    body = problem(error)
    headers = {}
    if body["status"] == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if body["status"] == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = "1"
    return Response(msgspec.json.encode(body), body["status"], headers, media_type=PROBLEM_TYPE)
