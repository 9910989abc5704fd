"""Interpretation of GitHub's responses: status, headers and body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import httpx
import msgspec

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.model import Resource, Target
from sidecypher_procedures.github.rate_limits import GRAPHQL, REST, read_limit, used_up
from sidecypher_procedures.github.settings import Credential


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response that is not a redirect.

    Attributes:
        credential_key: Key of the credential that sent the request; the current one may differ.
        stops_until: End of the rate limit that the response is; later if it is hit repeatedly.
        is_elsewhere: Whether a new or known redirect led to it, so its name may differ.
    """

    status: int
    headers: httpx.Headers
    content: bytes
    credential_key: str = Credential(None).key
    stops_until: datetime | None = None
    is_elsewhere: bool = False


_PERMISSIONS: Final = re.compile(r"[a-z_=;, ]{1,300}")
_MEDIA_TYPE: Final = re.compile(r"[a-z0-9.+-]+/[a-z0-9.+-]+")

MISSING: Final[Mapping[int, type[errors.GithubError]]] = {404: errors.NotFound, 410: errors.Gone}
"""Statuses that mean that an entity does not exist, with their errors."""


def absence(missing: type[errors.GithubError], target: Target | Resource) -> errors.GithubError:
    """Return the error for an entity that does not exist; `missing` is a value of `MISSING`."""
    if missing is errors.Gone:
        return errors.Gone(f"The {target.what} was deleted", details={"status": 410})
    return errors.NotFound(f"GitHub knows no {target.what}", details={"status": 404})


def failure(reply: Reply, target: Target | Resource | str, now: datetime) -> errors.GithubError:
    """Return the error for a status other than 200 and those of `MISSING`."""
    details = {"status": reply.status}
    what = _named(target)
    if reply.status == httpx.codes.UNAUTHORIZED:
        return errors.BadCredentials(
            f"GitHub does not accept the token for the {what}", details=details
        )
    if reply.status in {httpx.codes.FORBIDDEN, httpx.codes.TOO_MANY_REQUESTS}:
        limit = read_limit(REST, reply.status, reply.headers, reply.content, now)
        if limit is not None:
            return used_up(f"the {what}", reply.stops_until or limit.until, reply.status)
        return _denied(reply, what)
    if httpx.codes.is_server_error(reply.status):
        return errors.ServerFailed(
            f"GitHub failed with status {reply.status} for the {what}", details=details
        )
    if reply.status == httpx.codes.UNPROCESSABLE_ENTITY:
        return errors.Rejected(
            f"GitHub rejects the request for the {what} with status {reply.status}", details=details
        )
    if reply.status == httpx.codes.ACCEPTED:
        return errors.NotReady(f"GitHub is still computing the {what}", details=details)
    return errors.UnexpectedStatus(
        f"GitHub answered with status {reply.status} for the {what}",
        hint="Check SIDECYPHER_GITHUB_BASE_URL and SIDECYPHER_GITHUB_API_VERSION.",
        details=details,
    )


def graphql_limit(reply: Reply, now: datetime) -> errors.RateLimited | None:
    """Return the error if a GraphQL answer is a rate limit, which may have the status 200."""
    limit = read_limit(GRAPHQL, reply.status, reply.headers, reply.content, now)
    if limit is None:
        return None
    return used_up("a GraphQL query", reply.stops_until or limit.until, reply.status)


def body(reply: Reply, target: Target | Resource | str) -> dict[str, Any]:
    """Decode the body of a 200.

    Raises:
        UnusableAnswer: It is empty, not JSON, truncated or not an object.
    """
    decoded, what = _decode(reply, target)
    if not isinstance(decoded, dict):
        raise errors.UnusableAnswer(f"{what} is not a JSON object")
    return decoded


def items(reply: Reply, target: Target | Resource) -> list[dict[str, Any]]:
    """Decode the body of a 200 that is a list, or an object around one, as in a search.

    Raises:
        UnusableAnswer: It is empty, not JSON, truncated or not a list of objects.
    """
    decoded, what = _decode(reply, target)
    found = entries(decoded)
    if found is None or not all(isinstance(item, dict) for item in found):
        raise errors.UnusableAnswer(f"{what} is not a JSON list of objects")
    return found


class _Search(msgspec.Struct):
    incomplete_results: bool = False


_read_search: Final = msgspec.json.Decoder(_Search).decode


def is_incomplete(reply: Reply) -> bool:
    """Return whether GitHub ran out of time in a search whose `items` can be read."""
    return _read_search(reply.content).incomplete_results


def values(reply: Reply, target: Resource) -> list[dict[str, Any]]:
    """Decode the body of a 200 as maps: one for each entry of a list, else one.

    An entry that is not an object becomes a map with the key ``result``.

    Raises:
        UnusableAnswer: It is empty, not JSON or truncated.
    """
    decoded, _ = _decode(reply, target)
    found = entries(decoded)
    return [
        item if isinstance(item, dict) else {"result": item}
        for item in ([decoded] if found is None else found)
    ]


def entries(decoded: object) -> list[Any] | None:
    """Return the entries of a list, or of the only list in an object with a `total_count`.

    An object with a `url` is an entity that happens to have a list, such as a combined status.

    Example:
        >>> entries({"total_count": 1, "items": [7]}), entries({"items": [7]})
        ([7], None)
    """
    if isinstance(decoded, dict) and "total_count" in decoded and "url" not in decoded:
        lists = [value for value in decoded.values() if isinstance(value, list)]
        return lists[0] if len(lists) == 1 else None
    return decoded if isinstance(decoded, list) else None


def _decode(reply: Reply, target: Target | Resource | str) -> tuple[Any, str]:
    """Return the decoded body, and its description for errors."""
    what = f"GitHub's answer for the {_named(target)}"
    if not reply.content:
        raise errors.UnusableAnswer(f"{what} is empty")
    try:
        return msgspec.json.decode(reply.content), what
    except (msgspec.DecodeError, ValueError, RecursionError):
        # `from None`: the original quotes the body.
        kind = _media_type(reply)
        raise errors.UnusableAnswer(f"{what} is not JSON but {kind}, or was cut off") from None


def _named(target: Target | Resource | str) -> str:
    return target if isinstance(target, str) else target.what


def _denied(reply: Reply, what: str) -> errors.PermissionDenied:
    accepted = reply.headers.get("x-accepted-github-permissions", "")
    if not _PERMISSIONS.fullmatch(accepted):
        return errors.PermissionDenied(
            f"GitHub does not let this token read the {what}", details={"status": reply.status}
        )
    return errors.PermissionDenied(
        f"GitHub does not let this token read the {what}: it wants {accepted}",
        details={"status": reply.status, "acceptedPermissions": accepted},
    )


def _media_type(reply: Reply) -> str:
    media_type = str(reply.headers.get("content-type", "")).partition(";")[0].strip().lower()
    return media_type if _MEDIA_TYPE.fullmatch(media_type) else "unlabelled"
