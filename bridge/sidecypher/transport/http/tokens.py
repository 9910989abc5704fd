"""Authorization of requests by the run folder's token for HTTP."""

import hmac
from typing import Final

from starlette.requests import Request

from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http.problems import TokenRefused


class TokenCheck:
    """Check of the token in requests."""

    def __init__(self, token: bytes, telemetry: Telemetry) -> None:
        self._token: Final = token
        self._telemetry = telemetry

    def __call__(self, request: Request) -> None:
        """Check the token of a request.

        Raises:
            TokenRefused: The request does not carry the token.
        """
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        token = credentials.strip().encode("latin-1")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token, self._token):
            self._telemetry.rejected("request refused", "wrong token")
            raise TokenRefused("The request does not have the sidecar's token for HTTP")
