"""Who asks GitHub, and what GitHub says of that; nothing of a secret."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

import httpx

_EXPIRES: Final = "github-authentication-token-expiration"
_EXPIRES_FORMAT: Final = "%Y-%m-%d %H:%M:%S %z"
_SCOPE: Final = re.compile(r"[a-z_:.]{1,40}")


@dataclass(frozen=True, slots=True)
class Standing:
    """Who asks, as GitHub sees it.

    Attributes:
        source: Variable that says who asks; None where nobody proves it.
        accepted: Whether GitHub answers who asks so.
        scopes: What a classic token may do; None where GitHub tells none.
        expires_at: When the token ends; None where GitHub tells no end.
        clock_offset: Seconds that our clock is ahead of GitHub's; None where GitHub tells no time.
    """

    source: str | None
    accepted: bool
    scopes: list[str] | None = None
    expires_at: datetime | None = None
    clock_offset: float | None = None


def read_standing(source: str | None, headers: httpx.Headers, now: datetime) -> Standing:
    """Read what the headers of an answer say of who asked.

    Args:
        source: Variable that says who asks.
        headers: Those of an answer that is no refusal.
        now: The time.

    Example:
        >>> headers = httpx.Headers({"x-oauth-scopes": "repo, gist"})
        >>> read_standing("GITHUB_TOKEN", headers, datetime.now(UTC)).scopes
        ['repo', 'gist']
    """
    return Standing(
        source,
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
    # GitHub writes the offset of some tokens as a number, that of others as a name.
    told = headers.get(_EXPIRES, "").replace("UTC", "+0000")
    try:
        return datetime.strptime(told, _EXPIRES_FORMAT).astimezone(UTC)
    except ValueError:
        return None


def _clock_offset(headers: httpx.Headers, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return None
    return (now - moment).total_seconds() if moment.tzinfo is not None else None
