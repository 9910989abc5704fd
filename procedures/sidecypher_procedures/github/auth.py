"""Authentication with a token or a GitHub App, and GitHub's report on the credential."""

import re
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import httpx
import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pydantic import SecretStr

from sidecypher_procedures.github.cache import Clock, SingleFlight
from sidecypher_procedures.github.errors import (
    AppRefused,
    GithubError,
    ServerFailed,
    UnusableAnswer,
)
from sidecypher_procedures.github.rate_limits import read_date, used_up
from sidecypher_procedures.github.responses import Reply
from sidecypher_procedures.github.rows import Credentials
from sidecypher_procedures.github.settings import (
    PREFIX,
    App,
    Credential,
    GithubSettings,
    is_token,
    unusable_file,
)

_EXPIRES: Final = "github-authentication-token-expiration"
_EXPIRES_FORMAT: Final = "%Y-%m-%d %H:%M:%S %z"
_SCOPE: Final = re.compile(r"[a-z_:.]{1,40}")


def read_credentials(source: str | None, headers: httpx.Headers, now: datetime) -> Credentials:
    """Return the properties of an accepted credential from the headers of a response.

    Example:
        >>> headers = httpx.Headers({"x-oauth-scopes": "repo, gist"})
        >>> read_credentials("GITHUB_TOKEN", headers, datetime.now(UTC)).scopes
        ['repo', 'gist']
    """
    return Credentials(
        source=source,
        accepted=True,
        scopes=_scopes(headers),
        expires_at=_expires_at(headers),
        clock_offset=_clock_offset(headers, now),
    )


def _scopes(headers: httpx.Headers) -> list[str] | None:
    told = headers.get("x-oauth-scopes")
    if told is None:
        return None
    return [scope for scope in map(str.strip, told.split(",")) if _SCOPE.fullmatch(scope)]


def _expires_at(headers: httpx.Headers) -> datetime | None:
    # GitHub writes the offset as a number for some tokens, and as a name for others.
    told = headers.get(_EXPIRES, "").replace("UTC", "+0000")
    try:
        return datetime.strptime(told, _EXPIRES_FORMAT).astimezone(UTC)
    except ValueError:
        return None


def _clock_offset(headers: httpx.Headers, now: datetime) -> float | None:
    """Return the seconds that our clock is ahead of GitHub's; None if GitHub sends no time."""
    theirs = read_date(headers.get("date", ""))
    return None if theirs is None else (now - theirs).total_seconds()


REFUSED_SECONDS: Final = 10.0
"""Seconds for which a refused credential without a replacement is not tried again."""

_WHAT: Final = "the token of the App's installation"
# GitHub's clock may be behind ours, and it refuses a validity of more than ten minutes.
_BACK: Final = timedelta(seconds=60)
_AHEAD: Final = timedelta(minutes=9)
_RENEWED_BEFORE: Final = timedelta(minutes=5)
# If a token is refused so soon after its creation, a new one would be refused too.
_TRUSTED: Final = timedelta(minutes=1)
_SKEW_SECONDS: Final = 60.0

Post = Callable[[str, httpx.URL, Mapping[str, str]], Awaitable[Reply]]
"""Function that sends a POST without body: its name for errors, its URL and its headers."""


def authentication(
    settings: GithubSettings, clock: Clock, post: Post
) -> "TokenAuthentication | AppAuthentication":
    """Return the authentication from the settings.

    Raises:
        GithubSettingsError: A file cannot be read, or has no token or key.
    """
    app = settings.app()
    if app is None:
        return TokenAuthentication(settings)
    return AppAuthentication(app, settings.base_url, clock, post)


class TokenAuthentication:
    """Authentication with a token from the settings, or without one."""

    def __init__(self, settings: GithubSettings) -> None:
        self._settings = settings
        self._credential = settings.credential()

    @property
    def key(self) -> str:
        """Key that identifies the token without exposing it."""
        return self._credential.key

    async def credential(self) -> Credential:
        """Return the token."""
        return self._credential

    async def replacement(self, refused: Credential) -> Credential | None:
        """Read the token again, since its file may have changed."""
        if self._credential == refused:
            self._credential = self._settings.credential()
        return None if self._credential == refused else self._credential


@dataclass(frozen=True, slots=True)
class _InstallationToken:
    credential: Credential
    taken_at: datetime
    expires_at: datetime


class AppAuthentication:
    """Authentication as an installation of a GitHub App. Its hourly tokens are renewed in time."""

    def __init__(self, app: App, base_url: str, clock: Clock, post: Post) -> None:
        self._app = app
        path = f"/app/installations/{app.installation}/access_tokens"
        self._url = httpx.URL(base_url + path)
        self._key = _read_key(app.key_file)
        self._clock = clock
        self._post = post
        self._token: _InstallationToken | None = None
        self._refusal: GithubError | None = None
        self._refused_until = 0.0
        self._renewals: SingleFlight[_InstallationToken] = SingleFlight()

    @property
    def key(self) -> str:
        """Key of the installation; all of its tokens have the same permissions."""
        return f"installation {self._app.installation}"

    async def credential(self) -> Credential:
        """Return the installation's token, a new one if it expires soon.

        Raises:
            GithubError: GitHub returned no token.
        """
        token, now = self._token, self._clock.now()
        if token is not None and token.expires_at - now > _RENEWED_BEFORE:
            return token.credential
        try:
            return (await self._renewals.run(self.key, self._renew)).credential
        except GithubError as error:
            if token is None or not error.transient or token.expires_at <= now:
                raise
            return token.credential

    async def replacement(self, refused: Credential) -> Credential | None:
        """Return a new token, or None if the refused one was new already.

        Raises:
            GithubError: GitHub returned no token.
        """
        token = self._token
        if token is not None and token.credential == refused:
            if self._clock.now() - token.taken_at < _TRUSTED:
                return None
            self._token = None
        return await self.credential()

    async def _renew(self) -> _InstallationToken:
        if self._refusal is not None and self._clock.monotonic() < self._refused_until:
            # A copy, since the error is raised many times, and each raise changes its traceback.
            raise copy(self._refusal)
        try:
            self._token = await self._ask()
        except GithubError as error:
            if not error.transient:
                self._refusal = error
                self._refused_until = self._clock.monotonic() + REFUSED_SECONDS
            raise
        return self._token

    async def _ask(self) -> _InstallationToken:
        headers = {"Authorization": f"Bearer {self._proof()}"}
        reply = await self._post(_WHAT, self._url, headers)
        now = self._clock.now()
        if reply.status != httpx.codes.CREATED:
            raise _refusal(reply, now)
        return _read_token(reply.content, now)

    def _proof(self) -> str:
        now = self._clock.now()
        claims = {"iat": now - _BACK, "exp": now + _AHEAD, "iss": self._app.id}
        return jwt.encode(claims, self._key, algorithm="RS256")


class _Answer(msgspec.Struct):
    token: str
    expires_at: datetime


_read_answer: Final = msgspec.json.Decoder(_Answer).decode


def _read_token(content: bytes, now: datetime) -> _InstallationToken:
    try:
        answer = _read_answer(content)
    except (msgspec.DecodeError, ValueError, RecursionError):
        answer = None
    if answer is None or answer.expires_at.tzinfo is None or not is_token(answer.token):
        # The body is not quoted, since it may have the token.
        raise UnusableAnswer(f"GitHub's answer for {_WHAT} holds no token")
    return _InstallationToken(Credential(SecretStr(answer.token)), now, answer.expires_at)


def _refusal(reply: Reply, now: datetime) -> GithubError:
    if reply.stops_until is not None:
        return used_up(_WHAT, reply.stops_until, reply.status)
    details: dict[str, Any] = {"status": reply.status}
    if httpx.codes.is_server_error(reply.status):
        text = f"GitHub failed with status {reply.status} for {_WHAT}"
        return ServerFailed(text, details=details)
    skew = _clock_offset(reply.headers, now) or 0.0
    if reply.status == httpx.codes.UNAUTHORIZED and abs(skew) > _SKEW_SECONDS:
        seconds = round(skew)
        return AppRefused(
            "GitHub does not accept the App's signature, as the clock of this machine is "
            f"{abs(seconds)} seconds {'ahead' if seconds > 0 else 'behind'}",
            hint="Correct the clock of this machine.",
            details={**details, "clockSkewSeconds": seconds},
        )
    return AppRefused(_REFUSALS.get(reply.status, _REFUSED), details=details)


_REFUSED: Final = "GitHub returns no token for the App's installation"
_REFUSALS: Final = {
    401: "GitHub does not accept the App's signature",
    403: f"{_REFUSED}: it may be suspended",
    404: "GitHub knows no such installation of the App",
}


def _read_key(file: Path) -> RSAPrivateKey:
    variable = f"{PREFIX}APP_KEY_FILE"
    try:
        key = load_pem_private_key(file.read_bytes(), password=None)
    except OSError as error:
        raise unusable_file(variable, error.strerror or "it cannot be read") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # `from None`: the original error may show the key.
        key = None
    if not isinstance(key, RSAPrivateKey):
        raise unusable_file(variable, "it holds no RSA key in PEM form without a password")
    return key
