"""Statuses, headers and bodies become distinct errors."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from sidecypher_procedures.github.errors import (
    BadCredentials,
    GithubError,
    PermissionDenied,
    RateLimited,
    ServerFailed,
    UnexpectedStatus,
    UnusableAnswer,
)
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.rate_limits import reset_at
from sidecypher_procedures.github.responses import Reply, body, failure

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TARGET = Target(Kind.ISSUE, "o", "r", 7)
EPOCH = str(int(NOW.timestamp()) + 90)


def reply(status: int, headers: dict[str, str] | None = None, content: bytes = b"{}") -> Reply:
    """Make a reply."""
    return Reply(status, httpx.Headers(headers or {}), content)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (reply(401), BadCredentials),
        (reply(403), PermissionDenied),
        (reply(403, {"x-ratelimit-remaining": "0"}), RateLimited),
        (reply(403, {"retry-after": "60"}), RateLimited),
        (reply(403, content=b'{"message": "exceeded a secondary rate limit"}'), RateLimited),
        (reply(429), RateLimited),
        (reply(500), ServerFailed),
        (reply(503, {"content-type": "text/html"}, b"<html>"), ServerFailed),
        (reply(304), UnexpectedStatus),
        (reply(418), UnexpectedStatus),
        (reply(451), UnexpectedStatus),
    ],
)
def test_every_status_has_its_error(given: Reply, expected: type[GithubError]) -> None:
    """Each status has one error, which names the issue and holds the status."""
    error = failure(given, TARGET, NOW)

    assert type(error) is expected
    assert "`o/r#7`" in error.message
    assert error.details["status"] == given.status
    assert error.retryable is (expected in {RateLimited, ServerFailed})


def test_a_denied_permission_is_named() -> None:
    """The permission that GitHub asks for is in the text, unless the header is a strange one."""
    header = "X-Accepted-GitHub-Permissions"

    assert "issues=read" in failure(reply(403, {header: "issues=read"}), TARGET, NOW).message
    assert "<b>" not in failure(reply(403, {header: "<b>"}), TARGET, NOW).message


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "60"}, timedelta(seconds=60)),
        ({"retry-after": "Fri, 02 Jan 2026 03:05:05 GMT"}, timedelta(seconds=60)),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": EPOCH}, timedelta(seconds=90)),
        ({"retry-after": "7", "x-ratelimit-remaining": "0"}, timedelta(seconds=7)),
        ({"x-ratelimit-remaining": "12", "x-ratelimit-reset": EPOCH}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": EPOCH + "000"}, None),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, None),
        ({"retry-after": "99999999999"}, None),
        ({"retry-after": "-1"}, None),
        ({}, None),
    ],
)
def test_the_end_of_a_limit_is_read(headers: dict[str, str], expected: timedelta | None) -> None:
    """Seconds, dates and epoch seconds are understood; what cannot be true counts as absent."""
    moment = reset_at(httpx.Headers(headers), NOW)

    assert moment == (None if expected is None else NOW + expected)


def test_the_end_of_a_limit_is_in_text_and_details() -> None:
    """A caller learns when to come back."""
    error = failure(reply(429, {"retry-after": "60"}), TARGET, NOW)

    assert error.details["resetAt"] == "2026-01-02T03:05:05+00:00"
    assert "2026-01-02T03:05:05+00:00" in error.message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b'{"id": 1, "secret', "cut off"),
        (b"<html>secret</html>", "not JSON but text/html"),
        (b'["secret"]', "not a JSON object"),
        (b'"secret"', "not a JSON object"),
        (b'{"secret": "\xff"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_body_that_is_no_object_is_unusable(content: bytes, said: str) -> None:
    """Empty, cut off, HTML and other JSON are errors that do not quote the body."""
    with pytest.raises(UnusableAnswer, match=said) as caught:
        body(reply(200, {"content-type": "text/html; charset=utf-8"}, content), TARGET)

    assert "secret" not in str(caught.value)
