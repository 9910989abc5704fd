"""Authorization of requests by the run folder's token for HTTP."""

import base64
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
        self._compare(credentials if scheme.lower() == "bearer" else "")

    def check_reader(self, request: Request) -> None:
        """Check the token of a request that only reads: a browser sends it as a password.

        A browser adds a password by itself, so calls must not accept it.

        Raises:
            TokenRefused: The request does not carry the token.
        """
        scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "basic":
            self(request)
            return
        try:
            password = base64.b64decode(credentials.strip(), validate=True).partition(b":")[2]
        except ValueError:
            password = b""
        self._compare(password.decode("latin-1"))

    def _compare(self, token: str) -> None:
        if not hmac.compare_digest(token.strip().encode("latin-1"), self._token):
            self._telemetry.rejected("request refused", "wrong token")
            raise TokenRefused("The request does not have the sidecar's token for HTTP")
