"""GitHub: who asks it, what is left of its limits, and its clock."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sidecypher.cli.doctor.findings import CannotTell, Finding, error, ok, warn
from sidecypher.cli.doctor.subject import Subject
from sidecypher.errors import SidecypherError

_SOON: Final = timedelta(days=14)
_CLOCK_SECONDS: Final = 60.0
"""GitHub refuses what an App signs ahead of its time; it tells its own in whole seconds."""

_FEW: Final = 0.1
_NOT_NOW: Final = frozenset({"SC-507", "SC-508", "SC-509", "SC-510"})
"""Codes of what may be gone later: GitHub cannot be reached, or answers no more for a while."""


def look_at_token(subject: Subject) -> Finding:
    """Tell which setting the token is from, and whether GitHub accepts it."""
    told = subject.github
    if isinstance(told, SidecypherError):
        state = warn if told.code in _NOT_NOW else error
        return state(f"{told.message} [{told.code}]", told.hint or "Try again later.")
    source = told["source"]
    if source is None:
        return warn(
            "there is none: few requests an hour, and nothing private",
            "Set SIDECYPHER_GITHUB_TOKEN, and restart the sidecar.",
        )
    if not told["accepted"]:
        return error(f"GitHub does not accept that of {source}", "Put a valid one there.")
    text = f"GitHub accepts that of {source}{_scopes(told['scopes'])}"
    ends = _moment(told["expiresAt"])
    if ends is not None and ends - datetime.now(UTC) < _SOON:
        return warn(f"{text}; it expires at {ends:%Y-%m-%d %H:%M} UTC", "Make a new one in time.")
    return ok(text)


def look_at_limits(subject: Subject) -> Finding:
    """Tell how many requests GitHub still answers."""
    _answering(subject)
    limits = subject.ask("github.rateLimit")
    if not limits:
        return ok("this GitHub has none")
    text = ", ".join(
        f"{each['resource']} {each['remaining']} of {each['limit']}" for each in limits
    )
    few = [each["resource"] for each in limits if each["remaining"] < _FEW * each["limit"]]
    if few:
        ends = max(filter(None, (_moment(each["resetAt"]) for each in limits)))
        return warn(f"{text}; all again by {ends:%H:%M} UTC", "Wait, or ask with another token.")
    return ok(text)


def look_at_clock(subject: Subject) -> Finding:
    """Compare the sidecar's clock with GitHub's."""
    offset = _answering(subject)["clockOffset"]
    if offset is None:
        return ok("GitHub tells no time")
    if abs(offset) > _CLOCK_SECONDS:
        way = "ahead of" if offset > 0 else "behind"
        return warn(
            f"that of the sidecar is {abs(offset):.0f} s {way} GitHub's", "Have it set by NTP."
        )
    return ok("that of the sidecar agrees with GitHub's")


def _answering(subject: Subject) -> dict[str, Any]:
    """Return what GitHub says of who asks, if it does.

    Raises:
        CannotTell: It gives no answer, or none to who asks so.
    """
    told = subject.github
    if isinstance(told, SidecypherError) or not told["accepted"]:
        raise CannotTell("GitHub gives no answer", "See what is said of the token.")
    return told


def _scopes(scopes: list[str] | None) -> str:
    if scopes is None:
        return ""
    return f", with the scopes {', '.join(scopes)}" if scopes else ", without any scope"


def _moment(value: str | datetime | None) -> datetime | None:
    """Return a time, which comes over HTTP as a text."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value
