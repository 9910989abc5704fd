"""The doctor's checks of GitHub, each state of them, without a sidecar."""

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from sidecypher.cli.doctor.context import DoctorContext
from sidecypher.cli.doctor.report import all_checks, examine

TOKEN = "ghp_" + "a1" * 18


def limits(remaining):
    """Give the body of `/rate_limit` with so many requests left."""
    numbers = {"limit": 5000, "remaining": remaining, "reset": int(time.time()) + 600}
    return {"resources": dict.fromkeys(("core", "graphql", "search"), numbers)}


@pytest.fixture
def told(github, answering, monkeypatch, tmp_path):
    """Looks at GitHub with a token; gives the findings by name."""
    github.answer = lambda _: answering.of(limits(4990))
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", github.url)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)

    def told():
        checks = [check for check in all_checks() if check.group == "GitHub"]
        with DoctorContext({"home": tmp_path}, {}, None) as context:
            found = {check.name: finding for check, finding in examine(checks, context)}
        assert TOKEN not in repr(found)
        return found

    return told


def states(found):
    return [each.state for each in found.values()]


def test_a_token_that_is_accepted_is_told_by_its_setting(told, github, answering) -> None:
    """The setting, the scopes, the limits and the clock are told."""
    github.answer = lambda _: answering.of(limits(4990), X_OAuth_Scopes="repo")
    found = told()

    assert states(found) == ["OK", "OK", "OK"]
    assert found["token"].found == (
        "GitHub accepts that of SIDECYPHER_GITHUB_TOKEN, with the scopes repo"
    )
    assert found["limits"].found.startswith("core 4990 of 5000, ")


def test_without_a_token_there_is_a_warning(told, monkeypatch) -> None:
    """Few requests an hour is what one has to know."""
    monkeypatch.delenv("SIDECYPHER_GITHUB_TOKEN")
    found = told()

    assert states(found) == ["WARN", "OK", "OK"]
    assert "SIDECYPHER_GITHUB_TOKEN" in found["token"].fix


def test_a_token_that_is_refused_is_an_error(told, github, answering) -> None:
    """What depends on it cannot be told."""
    github.answer = lambda _: answering(401, body=b'{"message": "Bad credentials"}')
    found = told()

    assert states(found) == ["ERROR", "WARN", "WARN"]
    assert found["token"].found == "GitHub does not accept that of SIDECYPHER_GITHUB_TOKEN"


def test_a_token_that_ends_soon_is_a_warning(told, github, answering) -> None:
    """Within two weeks somebody has to make a new one."""
    ends = f"{datetime.now(UTC) + timedelta(days=3):%Y-%m-%d %H:%M:%S} UTC"
    name = "GitHub_Authentication_Token_Expiration"
    github.answer = lambda _: answering.of(limits(4990), **{name: ends})

    assert told()["token"].state == "WARN"


def test_few_requests_left_are_a_warning(told, github, answering) -> None:
    """Less than a tenth is told with the time when there are more."""
    github.answer = lambda _: answering.of(limits(499))
    found = told()["limits"]

    assert found.state == "WARN"
    assert "all again by " in found.found


def test_a_server_without_limits_is_well(told, github, answering) -> None:
    """GitHub Enterprise Server may have none."""
    github.answer = lambda _: answering(404, body=b"{}")

    assert told()["limits"].found == "this GitHub has none"


def test_clocks_that_differ_are_a_warning(told, github) -> None:
    """More than a minute is too much for a GitHub App."""
    github.date = format_datetime(datetime.now(UTC) - timedelta(hours=1))
    found = told()["clock"]

    assert found.state == "WARN"
    assert "s ahead of GitHub's" in found.found


def test_a_github_out_of_reach_is_a_warning(told, monkeypatch) -> None:
    """Without a network nothing is wrong here; it is asked once."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", "http://127.0.0.1:9")
    found = told()

    assert states(found) == ["WARN", "WARN", "WARN"]
    assert "[SC-509]" in found["token"].found
    assert found["limits"].found == "could not check: GitHub does not answer"


def test_a_setting_that_is_misspelt_is_an_error(told, monkeypatch) -> None:
    """What keeps every call from GitHub is no warning."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKN", TOKEN)
    found = told()

    assert found["token"].state == "ERROR"
    assert found["token"].found == "There is no setting `SIDECYPHER_GITHUB_TOKN` [SC-514]"
