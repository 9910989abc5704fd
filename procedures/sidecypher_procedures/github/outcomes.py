"""What a status, its headers and its body mean."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx
import msgspec

from sidecypher_procedures.github.connection import Reply
from sidecypher_procedures.github.errors import (
    BadCredentials,
    GithubError,
    Gone,
    NotFound,
    PermissionDenied,
    RateLimited,
    ServerFailed,
    UnexpectedStatus,
    UnusableAnswer,
)
from sidecypher_procedures.github.names import Target

_PERMISSIONS: Final = re.compile(r"[a-z_=;, ]{1,300}")
_LIMIT_WORDS: Final = re.compile(r"rate limit|abuse detection", re.IGNORECASE)
# Limits reset within an hour; anything far beyond is a header in another unit.
_LONGEST_WAIT: Final = timedelta(days=1)


MISSING: Final[Mapping[int, type[GithubError]]] = {404: NotFound, 410: Gone}
"""The statuses that are an answer too: there is no such thing."""


def absence(missing: type[GithubError], target: Target) -> GithubError:
    """Return the error for what is not there, one of the values of `MISSING`.

    Example:
        >>> absence(Gone, Target(Kind.ISSUE, "octocat", "Hello-World", 7)).message  # doctest: +SKIP
        'The issue `octocat/Hello-World#7` was deleted'
    """
    what = f"{target.kind.value} `{target}`"
    if missing is Gone:
        return Gone(f"The {what} was deleted", details={"status": 410})
    return NotFound(f"GitHub knows no {what}", details={"status": 404})


def failure(reply: Reply, target: Target, now: datetime) -> GithubError:
    """Return the error that a status other than 200 and those of `MISSING` means.

    Example:
        >>> reply = Reply(502, httpx.Headers(), b"")  # doctest: +SKIP
        >>> failure(reply, Target(Kind.REPOSITORY, "o", "r"), now).code  # doctest: +SKIP
        'SC-508'
    """
    details = {"status": reply.status}
    what = f"{target.kind.value} `{target}`"
    if reply.status == httpx.codes.UNAUTHORIZED:
        return BadCredentials(f"GitHub does not accept the token for the {what}", details=details)
    if reply.status in {httpx.codes.FORBIDDEN, httpx.codes.TOO_MANY_REQUESTS}:
        return _limited(reply, what, now) if _is_limit(reply) else _denied(reply, what)
    if httpx.codes.is_server_error(reply.status):
        return ServerFailed(
            f"GitHub failed with status {reply.status} for the {what}", details=details
        )
    return UnexpectedStatus(
        f"GitHub answered with status {reply.status} for the {what}",
        hint="Check SIDECYPHER_GITHUB_BASE_URL and SIDECYPHER_GITHUB_API_VERSION.",
        details=details,
    )


def body(reply: Reply, target: Target) -> dict[str, Any]:
    """Decode the body of a 200.

    Raises:
        UnusableAnswer: It is empty, not JSON, cut off or no object.
    """
    what = f"GitHub's answer for the {target.kind.value} `{target}`"
    if not reply.content:
        raise UnusableAnswer(f"{what} is empty")
    try:
        decoded = msgspec.json.decode(reply.content)
    except (msgspec.DecodeError, ValueError, RecursionError):
        # `from None`: the original quotes the body.
        kind = _media_type(reply)
        raise UnusableAnswer(f"{what} is not JSON but {kind}, or was cut off") from None
    if not isinstance(decoded, dict):
        raise UnusableAnswer(f"{what} is no JSON object")
    return decoded


def reset_at(headers: httpx.Headers, now: datetime) -> datetime | None:
    """Read when the limit ends: ``retry-after`` (seconds or a date), else ``x-ratelimit-reset``.

    A header that cannot be true, such as one in milliseconds, counts as absent.

    Example:
        >>> reset_at(httpx.Headers({"retry-after": "60"}), now) - now  # doctest: +SKIP
        datetime.timedelta(seconds=60)
    """
    moment = _retry_after(headers.get("retry-after", ""), now)
    if moment is None and headers.get("x-ratelimit-remaining") == "0":
        seconds = _integer(headers.get("x-ratelimit-reset", ""))
        moment = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    if moment is None or moment - now > _LONGEST_WAIT:
        return None
    return moment


def _retry_after(text: str, now: datetime) -> datetime | None:
    seconds = _integer(text)
    if seconds is not None:
        return now + timedelta(seconds=seconds)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _integer(text: str) -> int | None:
    # Eleven digits: seconds since 1970 until the year 5138, and never too large for a datetime.
    return int(text) if re.fullmatch(r"[0-9]{1,11}", text) else None


def _is_limit(reply: Reply) -> bool:
    return (
        reply.status == httpx.codes.TOO_MANY_REQUESTS
        or "retry-after" in reply.headers
        or reply.headers.get("x-ratelimit-remaining") == "0"
        or bool(_LIMIT_WORDS.search(reply.content.decode("utf-8", "replace")))
    )


def _limited(reply: Reply, what: str, now: datetime) -> RateLimited:
    moment = reset_at(reply.headers, now)
    details: dict[str, Any] = {"status": reply.status}
    until = "; it does not say until when"
    if moment is not None:
        details["resetAt"] = moment.isoformat()
        until = f" until {moment.isoformat()}"
    return RateLimited(
        f"GitHub's rate limit is used up{until}: the {what} was not fetched",
        hint="Try again later; a token in SIDECYPHER_GITHUB_TOKEN has a higher limit than none.",
        details=details,
    )


def _denied(reply: Reply, what: str) -> PermissionDenied:
    accepted = reply.headers.get("x-accepted-github-permissions", "")
    if not _PERMISSIONS.fullmatch(accepted):
        return PermissionDenied(
            f"GitHub does not let this token read the {what}", details={"status": reply.status}
        )
    return PermissionDenied(
        f"GitHub does not let this token read the {what}: it wants {accepted}",
        details={"status": reply.status, "acceptedPermissions": accepted},
    )


def _media_type(reply: Reply) -> str:
    media_type = str(reply.headers.get("content-type", "")).partition(";")[0].strip().lower()
    return media_type if re.fullmatch(r"[a-z0-9.+-]+/[a-z0-9.+-]+", media_type) else "unlabelled"
