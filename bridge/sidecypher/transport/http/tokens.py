"""Who may ask: only requests that show the token for HTTP of the run folder."""

import hmac
from typing import Final

from starlette.requests import Request

from sidecypher.telemetry.calls import Telemetry
from sidecypher.transport.http.problems import TokenRefused


class TokenCheck:
    """Compares what requests show with the token."""

    def __init__(self, token: bytes, telemetry: Telemetry) -> None:
        self._token: Final = token
        self._telemetry = telemetry

    def __call__(self, request: Request) -> None:
        """Let a request pass.

        Raises:
            TokenRefused: It does not show the token.
        """
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        given = shown.strip().encode("latin-1")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._token):
            self._telemetry.rejected("request refused", "wrong token")
            raise TokenRefused("The request does not have the sidecar's token for HTTP")
