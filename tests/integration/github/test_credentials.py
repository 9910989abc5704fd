"""`github.credentials` against a real HTTP server: who asks, and what GitHub says of that."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from sidecypher.testing import ProcedureEnvironment
from sidecypher_procedures.github.procedures import credentials, rate_limit

TOKEN = "ghp_" + "a1" * 18
LIMITS = b'{"resources": {}}'


@pytest.fixture
def ask(github, monkeypatch):
    """Calls the procedure with these settings; gives its row."""

    def ask(**settings):
        monkeypatch.delenv("GITHUB_TOKEN", raising=False)
        monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url + "/api/v3")
        for name, value in settings.items():
            monkeypatch.setenv(f"SIDECYPHER_GITHUB_{name}", str(value))
        with ProcedureEnvironment(credentials) as environment:
            (row,) = environment.call("github.credentials")
        return row

    return ask


def test_nobody_asks_without_a_token(ask, github, answering) -> None:
    """Without a token there is no source, and GitHub answers all the same."""
    github.answer = lambda _: answering(body=LIMITS)

    row = ask()

    assert (row["source"], row["accepted"], row["scopes"]) == (None, True, None)
    assert github.paths == ["/api/v3/rate_limit"]


@pytest.mark.parametrize("name", ["TOKEN", "TOKEN_FILE"])
def test_the_setting_of_a_token_is_named_and_the_token_is_not(
    ask, github, answering, tmp_path, name
) -> None:
    """The row has the variable's name, the scopes and the end, and nothing of the token."""
    (tmp_path / "token").write_text(TOKEN)
    github.answer = lambda _: answering(
        headers={
            "X-OAuth-Scopes": "repo, read:org",
            "GitHub-Authentication-Token-Expiration": "2026-12-31 23:00:00 UTC",
        },
        body=LIMITS,
    )

    row = ask(**{name: TOKEN if name == "TOKEN" else tmp_path / "token"})

    assert row["source"] == f"SIDECYPHER_GITHUB_{name}"
    assert row["scopes"] == ["repo", "read:org"]
    assert row["expiresAt"] == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert TOKEN not in repr(row)


def test_an_end_with_an_offset_is_understood(ask, github, answering) -> None:
    """GitHub writes the zone of some tokens as an offset."""
    told = {"GitHub-Authentication-Token-Expiration": "2027-01-01 08:00:00 +0900"}
    github.answer = lambda _: answering(headers=told, body=LIMITS)

    assert ask(TOKEN=TOKEN)["expiresAt"] == datetime(2026, 12, 31, 23, tzinfo=UTC)


def test_a_token_that_github_refuses_is_no_error(ask, github, answering) -> None:
    """401 says that it is not accepted; that is what was asked for."""
    github.answer = lambda _: answering(401, body=b'{"message": "Bad credentials"}')

    row = ask(TOKEN=TOKEN)

    assert (row["source"], row["accepted"]) == ("SIDECYPHER_GITHUB_TOKEN", False)


def test_a_token_that_was_revoked_is_not_accepted(github, answering, monkeypatch) -> None:
    """A token that GitHub has answered before, and refuses now, is not accepted either."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    answers = iter([answering(body=LIMITS), answering(401, body=b"{}")])
    github.answer = lambda _: next(answers)
    with ProcedureEnvironment(credentials, rate_limit) as environment:
        environment.call("github.rateLimit")
        (row,) = environment.call("github.credentials")

    assert row["accepted"] is False


def test_a_server_without_limits_accepts_who_asks(ask, github, answering) -> None:
    """GitHub Enterprise Server with its limits off answers 404 to tokens it accepts."""
    github.answer = lambda _: answering(404, body=b'{"message": "Rate limiting is not enabled."}')

    assert ask(TOKEN=TOKEN)["accepted"] is True


def test_the_offset_of_the_clocks_is_told(ask, github, answering) -> None:
    """A GitHub whose clock is an hour behind is an hour behind the sidecar's."""
    github.answer = lambda _: answering(body=LIMITS)
    github.date = format_datetime(datetime.fromtimestamp(datetime.now(UTC).timestamp() - 3600, UTC))

    assert ask()["clockOffset"] == pytest.approx(3600, abs=30)


@pytest.mark.parametrize("name", ["X-OAuth-Scopes", "GitHub-Authentication-Token-Expiration"])
def test_headers_that_say_nothing_useful_are_left_out(ask, github, answering, name) -> None:
    """What is no scope or no time is not passed on."""
    github.answer = lambda _: answering(headers={name: "<script>"}, body=LIMITS)

    row = ask(TOKEN=TOKEN)

    assert (row["scopes"] or [], row["expiresAt"]) == ([], None)


def test_other_failures_are_errors(github, answering, monkeypatch) -> None:
    """What is neither an answer nor a refusal is the error of any other request."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    github.answer = lambda _: answering(503)
    with (
        ProcedureEnvironment(credentials) as environment,
        pytest.raises(Exception, match="status 503") as failed,
    ):
        environment.call("github.credentials")

    assert failed.value.code == "SC-508"
