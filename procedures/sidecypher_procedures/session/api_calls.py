"""`api` steps: HTTP requests to hosts that a setting allows."""

import logging
from collections.abc import Mapping
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpx

from sidecypher_procedures.session.answers import response_key
from sidecypher_procedures.session.errors import StepFailed
from sidecypher_procedures.session.functions import required
from sidecypher_procedures.session.outcomes import Done, Failed, Outcome
from sidecypher_procedures.session.references import from_json, inserted
from sidecypher_procedures.session.settings import PREFIX

MOST_BYTES: Final = 512 * 1024
"""The largest body of an answer."""

MOST_REDIRECTS: Final = 5

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_TRY_AGAIN: Final = frozenset({408, 425, 429})
_SERVER_ERROR: Final = 500
_UNUSABLE: Final = "An `api` step has a `url`, `params` or `headers` that cannot be used"
_PORTS: Final = {"http": 80, "https": 443}
_CHARSETS: Final = frozenset({"utf-8", "us-ascii", "iso-8859-1", "windows-1252", "utf-16"})
# They say where a request goes and where it ends, which only the client may.
_FORBIDDEN: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})

# They log addresses, and so the data of sessions.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class ApiCalls:
    """Runs `api` steps.

    Args:
        hosts: The allowed hosts, in lower case; one without a port allows the usual ones.
    """

    def __init__(self, hosts: frozenset[str]) -> None:
        self._hosts = hosts
        # No session gets the cookies of another.
        cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
        self._http = httpx.AsyncClient(cookies=cookies, timeout=None)  # noqa: S113 - steps have one

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
        except httpx.LocalProtocolError:
            # A header has what no header may have.
            raise StepFailed(_UNUSABLE) from None
        except httpx.HTTPError as error:
            return Failed(f"The host cannot be reached: {type(error).__name__}")

    def _request(self, given: Mapping[str, Any], key: str) -> httpx.Request:
        method = str(given.get("method") or "GET").upper()
        if method not in _METHODS:
            raise StepFailed(f"An `api` step has none of the methods {', '.join(sorted(_METHODS))}")
        try:
            url = httpx.URL(inserted(required("api", given)))
            if given.get("params"):
                url = url.copy_merge_params(_texts(given["params"]))
            headers = httpx.Headers({"Idempotency-Key": key})
            headers.update(_texts(given.get("headers") or {}))
            headers["Accept-Encoding"] = "identity"
            request = self._http.build_request(method, url, headers=headers, json=given.get("json"))
        except (httpx.InvalidURL, TypeError, ValueError, AttributeError):
            raise StepFailed(_UNUSABLE) from None
        self._check(request.url)
        if _FORBIDDEN.intersection(name.lower() for name in given.get("headers") or {}):
            raise StepFailed(
                f"An `api` step has one of the headers {', '.join(sorted(_FORBIDDEN))}"
            )
        return request

    def _check(self, url: httpx.URL) -> None:
        host = url.raw_host.decode("ascii").lower()
        host = f"[{host}]" if ":" in host else host
        names = {f"{host}:{url.port or _PORTS.get(url.scheme)}"}
        if url.port is None:
            names.add(host)
        if url.scheme not in _PORTS or url.userinfo or not names & self._hosts:
            raise StepFailed(
                "An `api` step names a host that is not allowed, or a user: "
                f"{PREFIX}API_HOSTS at the sidecar lists the hosts"
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
            if _is_elsewhere(following.url, request.url):
                return Failed("The host redirects to another one", is_final=True)
            self._check(following.url)
            request = following
        return Failed(f"The host redirects more than {MOST_REDIRECTS} times", is_final=True)

    async def stop(self) -> None:
        """Close its connections."""
        await self._http.aclose()


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: inserted(value) for name, value in values.items() if value is not None}


def _is_elsewhere(url: httpx.URL, origin: httpx.URL) -> bool:
    is_open = (url.scheme, origin.scheme) == ("http", "https")
    return is_open or url.netloc != origin.netloc


def refusal(response: httpx.Response, who: str) -> Failed | None:
    """Return what an answer that is no success comes to; None if it is one."""
    code = response.status_code
    if response.is_success:
        return None
    is_final = code < _SERVER_ERROR and code not in _TRY_AGAIN
    return Failed(f"{who} answered with the status {code}", is_final=is_final)


async def read_body(response: httpx.Response, most: int, who: str) -> bytes | Failed:
    """Return the body of an answer, of which no more than `most` bytes are read."""
    # What is compressed may be a thousand times as large as what is read.
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        return Failed(f"{who} answered in an encoding that was not asked for", is_final=True)
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > most:
            return Failed(f"{who} answered with over {most} bytes", is_final=True)
    return bytes(body)


async def _outcome(response: httpx.Response, given: Mapping[str, Any]) -> Outcome:
    who = "The host"
    refused = refusal(response, who)
    if refused is not None:
        return refused
    body = await read_body(response, MOST_BYTES, who)
    if isinstance(body, Failed):
        return body
    charset = (response.charset_encoding or "utf-8").lower()
    try:
        text = body.decode(charset if charset in _CHARSETS else "utf-8")
        value = from_json(text) if text and _is_json(response) else text
    except ValueError:
        return Failed("The host answered with what is neither JSON nor text", is_final=True)
    return Done({"status": response.status_code, response_key(given): value})


def _is_json(response: httpx.Response) -> bool:
    kind: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")
