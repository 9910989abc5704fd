"""Checks of `sidecypher doctor`: the token for GitHub, its limits and its clock."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from sidecypher import CannotCheck, Check, CheckContext, Finding, SidecypherError

_SOON: Final = timedelta(days=14)
_CLOCK_SECONDS: Final = 60.0
"""The largest accepted clock offset: GitHub refuses signatures of an App from the future."""

_LOW_SHARE: Final = 0.1
_NOT_NOW: Final = frozenset({"SC-507", "SC-508", "SC-509", "SC-510"})
"""Codes of transient errors: GitHub is not reachable, has failed, or has reached a limit."""


def look_at_token(ctx: CheckContext) -> Finding:
    """Check that GitHub accepts the token, and report the setting it is from."""
    credential = _credential(ctx)
    if isinstance(credential, SidecypherError):
        state = Finding.warn if credential.code in _NOT_NOW else Finding.error
        return state(
            f"{credential.message} [{credential.code}]", credential.hint or "Try again later."
        )
    source = credential["source"]
    if source is None:
        return Finding.warn(
            "there is none: few requests an hour, and nothing private",
            "Set SIDECYPHER_GITHUB_TOKEN, and restart the sidecar.",
        )
    if not credential["accepted"]:
        return Finding.error(f"GitHub does not accept that of {source}", "Put a valid one there.")
    text = f"GitHub accepts that of {source}{_scopes(credential['scopes'])}"
    ends = _moment(credential["expiresAt"])
    if ends is not None and ends - datetime.now(UTC) < _SOON:
        return Finding.warn(
            f"{text}; it expires at {ends:%Y-%m-%d %H:%M} UTC", "Make a new one in time."
        )
    return Finding.ok(text)


def look_at_limits(ctx: CheckContext) -> Finding:
    """Check that enough requests are left of GitHub's rate limits."""
    _accepted_credential(ctx)
    limits = ctx.call("github.rateLimit")
    if not limits:
        return Finding.ok("this GitHub has none")
    text = ", ".join(
        f"{each['resource']} {each['remaining']} of {each['limit']}" for each in limits
    )
    few = [each["resource"] for each in limits if each["remaining"] < _LOW_SHARE * each["limit"]]
    if few:
        ends = max(filter(None, (_moment(each["resetAt"]) for each in limits)))
        return Finding.warn(
            f"{text}; all again by {ends:%H:%M} UTC", "Wait, or ask with another token."
        )
    return Finding.ok(text)


def look_at_clock(ctx: CheckContext) -> Finding:
    """Compare the sidecar's clock with GitHub's."""
    offset = _accepted_credential(ctx)["clockOffset"]
    if offset is None:
        return Finding.ok("GitHub sends no time")
    if abs(offset) > _CLOCK_SECONDS:
        way = "ahead of" if offset > 0 else "behind"
        return Finding.warn(
            f"that of the sidecar is {abs(offset):.0f} s {way} GitHub's", "Have it set by NTP."
        )
    return Finding.ok("that of the sidecar agrees with GitHub's")


@cache
def _credential(ctx: CheckContext) -> dict[str, Any] | SidecypherError:
    """Return the credential, or the error of reading it; cached for all checks."""
    try:
        return ctx.call("github.credentials")[0]
    except SidecypherError as error:
        return error


def _accepted_credential(ctx: CheckContext) -> dict[str, Any]:
    """Return the credential if GitHub accepts it.

    Raises:
        CannotCheck: GitHub does not answer or does not accept it.
    """
    credential = _credential(ctx)
    if isinstance(credential, SidecypherError) or not credential["accepted"]:
        raise CannotCheck("GitHub does not answer", "See the check of the token.")
    return credential


def _scopes(scopes: list[str] | None) -> str:
    if scopes is None:
        return ""
    return f", with the scopes {', '.join(scopes)}" if scopes else ", without any scope"


def _moment(value: str | datetime | None) -> datetime | None:
    """Return a time, which HTTP transports as text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


CHECKS: Final = (
    Check("GitHub", "token", look_at_token),
    Check("GitHub", "limits", look_at_limits),
    Check("GitHub", "clock", look_at_clock),
)
