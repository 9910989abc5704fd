"""Checks of `sidecypher doctor`: the token for GitHub, its limits and its clock."""

from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from sidecypher import CannotCheck, Check, CheckContext, Finding, SidecypherError

_SOON: Final = timedelta(days=14)
_CLOCK_SECONDS: Final = 60.0
"""GitHub refuses what an App signs ahead of its time; it tells its own in whole seconds."""

_FEW: Final = 0.1
_NOT_NOW: Final = frozenset({"SC-507", "SC-508", "SC-509", "SC-510"})
"""Codes of what may be gone later: GitHub cannot be reached, or answers no more for a while."""


def look_at_token(ctx: CheckContext) -> Finding:
    """Tell which setting the token is from, and whether GitHub accepts it."""
    told = _credentials(ctx)
    if isinstance(told, SidecypherError):
        state = Finding.warn if told.code in _NOT_NOW else Finding.error
        return state(f"{told.message} [{told.code}]", told.hint or "Try again later.")
    source = told["source"]
    if source is None:
        return Finding.warn(
            "there is none: few requests an hour, and nothing private",
            "Set SIDECYPHER_GITHUB_TOKEN, and restart the sidecar.",
        )
    if not told["accepted"]:
        return Finding.error(f"GitHub does not accept that of {source}", "Put a valid one there.")
    text = f"GitHub accepts that of {source}{_scopes(told['scopes'])}"
    ends = _moment(told["expiresAt"])
    if ends is not None and ends - datetime.now(UTC) < _SOON:
        return Finding.warn(
            f"{text}; it expires at {ends:%Y-%m-%d %H:%M} UTC", "Make a new one in time."
        )
    return Finding.ok(text)


def look_at_limits(ctx: CheckContext) -> Finding:
    """Tell how many requests GitHub still answers."""
    _answering(ctx)
    limits = ctx.call("github.rateLimit")
    if not limits:
        return Finding.ok("this GitHub has none")
    text = ", ".join(
        f"{each['resource']} {each['remaining']} of {each['limit']}" for each in limits
    )
    few = [each["resource"] for each in limits if each["remaining"] < _FEW * each["limit"]]
    if few:
        ends = max(filter(None, (_moment(each["resetAt"]) for each in limits)))
        return Finding.warn(
            f"{text}; all again by {ends:%H:%M} UTC", "Wait, or ask with another token."
        )
    return Finding.ok(text)


def look_at_clock(ctx: CheckContext) -> Finding:
    """Compare the sidecar's clock with GitHub's."""
    offset = _answering(ctx)["clockOffset"]
    if offset is None:
        return Finding.ok("GitHub tells no time")
    if abs(offset) > _CLOCK_SECONDS:
        way = "ahead of" if offset > 0 else "behind"
        return Finding.warn(
            f"that of the sidecar is {abs(offset):.0f} s {way} GitHub's", "Have it set by NTP."
        )
    return Finding.ok("that of the sidecar agrees with GitHub's")


@cache
def _credentials(ctx: CheckContext) -> dict[str, Any] | SidecypherError:
    """Return who asks GitHub, or why it gives no answer; asked once, and not by each check."""
    try:
        return ctx.call("github.credentials")[0]
    except SidecypherError as error:
        return error


def _answering(ctx: CheckContext) -> dict[str, Any]:
    """Return what GitHub says of who asks, if it does.

    Raises:
        CannotCheck: It gives no answer, or none to who asks so.
    """
    told = _credentials(ctx)
    if isinstance(told, SidecypherError) or not told["accepted"]:
        raise CannotCheck("GitHub gives no answer", "See what is said of the token.")
    return told


def _scopes(scopes: list[str] | None) -> str:
    if scopes is None:
        return ""
    return f", with the scopes {', '.join(scopes)}" if scopes else ", without any scope"


def _moment(value: str | datetime | None) -> datetime | None:
    """Return a time, which comes over HTTP as a text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


CHECKS: Final = (
    Check("GitHub", "token", look_at_token),
    Check("GitHub", "limits", look_at_limits),
    Check("GitHub", "clock", look_at_clock),
)
