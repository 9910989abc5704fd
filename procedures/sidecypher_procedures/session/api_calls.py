"""`api` steps: HTTP requests to hosts that a setting allows."""

import json
from collections.abc import Mapping
from typing import Any, Final

import httpx

from sidecypher_procedures.session.answers import response_key
from sidecypher_procedures.session.errors import StepFailed
from sidecypher_procedures.session.functions import required
from sidecypher_procedures.session.outcomes import Done, Failed, Outcome
from sidecypher_procedures.session.references import inserted
from sidecypher_procedures.session.settings import PREFIX

MOST_BYTES: Final = 512 * 1024
"""The largest body of an answer."""

MOST_REDIRECTS: Final = 5

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_TRY_AGAIN: Final = frozenset({408, 425, 429})
_SERVER_ERROR: Final = 500


class ApiCalls:
    """Runs `api` steps.

    Args:
        hosts: The allowed hosts, in lower case; one with a port allows only that.
    """

    def __init__(self, hosts: frozenset[str]) -> None:
        self._hosts = hosts
        self._http = httpx.AsyncClient(timeout=None)  # noqa: S113 - steps have one

    async def run(self, given: Mapping[str, Any], key: str) -> Outcome:
        """Return what a step of this input comes to.

        Args:
            given: `url`, and `method`, `params`, `headers`, `json` if they are needed.
            key: Sent as `Idempotency-Key`, since a step may be run again after a crash.

        Raises:
            StepFailed: The host is not allowed, or the input cannot be used.
        """
        request = self._request(given, key)
        try:
            return await self._answer(request, given)
        except httpx.HTTPError as error:
            return Failed(f"The host cannot be reached: {type(error).__name__}")

    def _request(self, given: Mapping[str, Any], key: str) -> httpx.Request:
        method = str(given.get("method") or "GET").upper()
        if method not in _METHODS:
            raise StepFailed(f"An `api` step has none of the methods {', '.join(sorted(_METHODS))}")
        try:
            url = httpx.URL(inserted(required("api", given)), params=given.get("params"))
            headers = {"Idempotency-Key": key, **(given.get("headers") or {})}
            request = self._http.build_request(method, url, headers=headers, json=given.get("json"))
        except (httpx.InvalidURL, TypeError, ValueError, AttributeError):
            raise StepFailed(
                "An `api` step has a `url`, `params` or `headers` that cannot be used"
            ) from None
        self._check(request.url)
        return request

    def _check(self, url: httpx.URL) -> None:
        host = url.host.lower()
        named = {f"{host}:{url.port}"} if url.port is not None else {host}
        if url.scheme not in {"http", "https"} or not ({host} | named) & self._hosts:
            raise StepFailed(
                "An `api` step names a host that is not allowed: "
                f"{PREFIX}API_HOSTS at the sidecar lists those that are"
            )

    async def _answer(self, request: httpx.Request, given: Mapping[str, Any]) -> Outcome:
        for _ in range(MOST_REDIRECTS + 1):
            response = await self._http.send(request, stream=True)
            try:
                following = response.next_request
                if following is None:
                    return await _outcome(response, given)
            finally:
                await response.aclose()
            if following.url.netloc != request.url.netloc:
                return Failed("The host redirects to another one", is_final=True)
            self._check(following.url)
            request = following
        return Failed(f"The host redirects more than {MOST_REDIRECTS} times", is_final=True)

    async def stop(self) -> None:
        """Close its connections."""
        await self._http.aclose()


async def _outcome(response: httpx.Response, given: Mapping[str, Any]) -> Outcome:
    if not response.is_success:
        code = response.status_code
        is_final = code < _SERVER_ERROR and code not in _TRY_AGAIN
        return Failed(f"The host answered with the status {code}", is_final=is_final)
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MOST_BYTES:
            return Failed(f"The host answered with over {MOST_BYTES} bytes", is_final=True)
    try:
        text = body.decode(response.encoding or "utf-8")
        value = json.loads(text) if _is_json(response) else text
    except (ValueError, LookupError, RecursionError):
        return Failed("The host answered with what is neither JSON nor text", is_final=True)
    return Done({"status": response.status_code, response_key(given): value})


def _is_json(response: httpx.Response) -> bool:
    kind: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")
