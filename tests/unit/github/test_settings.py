"""Settings say what is wrong with them, and never what a secret is."""

from pathlib import Path

import pytest

from sidecypher_procedures.github.errors import GithubSettingsError
from sidecypher_procedures.github.settings import App, GithubSettings, is_loopback

TOKEN = "ghp_secretsecretsecretsecretsecret000000"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.github.com", "https://api.github.com"),
        ("https://api.github.com/", "https://api.github.com"),
        ("https://ghes.example.com/api/v3/", "https://ghes.example.com/api/v3"),
        ("https://ghes.example.com:8443/api/v3", "https://ghes.example.com:8443/api/v3"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000/", "http://[::1]:8000"),
        ("http://localhost:1", "http://localhost:1"),
    ],
)
def test_base_urls_lose_their_trailing_slash(given: str, kept: str) -> None:
    """A base URL is https or loopback, may have a path, and works with and without a slash."""
    assert GithubSettings(base_url=given).base_url == kept


@pytest.mark.parametrize(
    "url",
    [
        "http://api.github.com",
        "http://127.0.0.1.example.com",
        "ftp://api.github.com",
        "api.github.com",
        "https://",
        "https://user@api.github.com",
        "https://user:word@api.github.com",
        "https://api.github.com?x=1",
        "https://api.github.com?",
        "https://api.github.com#x",
        "https://api.github.com/a/../b",
        "https://api.github.com/%2e%2e/x",
        "https://api.github.com//x",
        "https://api.github.com\\x",
        "https://api.github.com:port",
        "https://api.github.com:0",
        "http://127.0.0.1:65536",
        "not a url",
    ],
)
def test_unsafe_base_urls_are_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A base URL without https, or with user, query, fragment or dots, is refused."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", url)

    with pytest.raises(
        GithubSettingsError, match=r"^The setting `SIDECYPHER_GITHUB_BASE_URL` cannot be used: "
    ) as caught:
        GithubSettings.load()

    assert caught.value.code == "SC-514"
    assert url == "https://" or url not in caught.value.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("READ_TIMEOUT", "soon"),
        ("READ_TIMEOUT", "0"),
        ("READ_TIMEOUT", "nan"),
        ("CACHE_BYTES", "-1"),
        ("API_VERSION", "v3"),
        ("TOKEN", "two words"),
        ("TOKEN", "ghp_line\nInjected: header"),
    ],
)
def test_unusable_values_are_named_but_not_shown(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unusable value is an error that names its variable and never shows the value."""
    monkeypatch.setenv(f"SIDECYPHER_GITHUB_{name}", value)

    with pytest.raises(GithubSettingsError, match=f"SIDECYPHER_GITHUB_{name}") as caught:
        GithubSettings.load()

    assert value == "0" or value not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_the_token_is_in_no_representation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither settings nor credential show the token, nor does the key that caches use."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    settings = GithubSettings.load()
    credential = settings.credential()

    shown = f"{settings!r}{settings}{settings.model_dump()}{credential!r}{credential.key}"
    assert TOKEN not in shown
    assert credential.headers() == {"Authorization": f"Bearer {TOKEN}"}


def test_a_token_file_is_read_without_its_newline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token may come from a file, whose white space at the ends is ignored."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN_FILE", str(file))

    assert GithubSettings.load().credential().headers()["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("content", [None, b"", b"two words", b"\xff\xfe", b"one\ntwo"])
def test_an_unusable_token_file_is_an_error_without_its_path(
    content: bytes | None, tmp_path: Path
) -> None:
    """A token file that is missing or holds no token is an error that names the setting only."""
    file = tmp_path / "token"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(GithubSettingsError, match="SIDECYPHER_GITHUB_TOKEN_FILE") as caught:
        GithubSettings(token_file=file).credential()

    assert str(tmp_path) not in str(caught.value)


def test_two_sources_of_a_token_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Token and token file together are an error, as nobody can tell which one is meant."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("SIDECYPHER_GITHUB_TOKEN_FILE", "token")

    with pytest.raises(GithubSettingsError, match="not both") as caught:
        GithubSettings.load()

    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "used"),
    [
        ("https://api.github.com", True),
        ("https://ghes.example.com/api/v3", False),
        ("http://127.0.0.1:8000", False),
        ("https://api.github.com.example.com", False),
    ],
)
def test_the_ambient_token_is_for_github_com_only(
    base_url: str, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GITHUB_TOKEN is used when the host is api.github.com, and for no other host."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    monkeypatch.setenv("SIDECYPHER_GITHUB_BASE_URL", base_url)

    assert bool(GithubSettings.load().credential().headers()) is used


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.8.9.1", True), ("::1", True), ("localhost", True), ("10.0.0.1", False), ("x", False)],
)
def test_loopback_is_recognised(host: str, expected: bool) -> None:
    """Only addresses of this machine count as loopback."""
    assert is_loopback(host) is expected


APP = {"APP_ID": "Iv23abc", "APP_INSTALLATION_ID": "42", "APP_KEY_FILE": "key.pem"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({**APP, "TOKEN": TOKEN}, "not both"),
        ({**APP, "TOKEN_FILE": "token"}, "not both"),
        ({"APP_ID": "1"}, "set all of"),
        ({"APP_ID": "1", "APP_KEY_FILE": "key.pem"}, "set all of"),
        ({**APP, "APP_ID": "../1"}, "APP_ID"),
        ({**APP, "APP_INSTALLATION_ID": "0"}, "APP_INSTALLATION_ID"),
        ({**APP, "APP_INSTALLATION_ID": "1/../2"}, "APP_INSTALLATION_ID"),
    ],
)
def test_there_is_exactly_one_way_to_ask(
    given: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token with an App, or an App of which something is missing, is refused by name."""
    for name, value in given.items():
        monkeypatch.setenv(f"SIDECYPHER_GITHUB_{name}", value)

    with pytest.raises(GithubSettingsError, match=said) as caught:
        GithubSettings.load()

    assert TOKEN not in str(caught.value)
    assert "key.pem" not in str(caught.value)


def test_an_app_needs_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """The three settings of an App are enough, and GITHUB_TOKEN beside them is not used."""
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)
    for name, value in APP.items():
        monkeypatch.setenv(f"SIDECYPHER_GITHUB_{name}", value)

    assert GithubSettings.load().app() == App("Iv23abc", 42, Path("key.pem"))


SECRET = "a secret with ü"


def test_webhooks_are_off_without_a_secret() -> None:
    """There is no default with which anybody could sign."""
    assert GithubSettings.load().webhook_key() is None


def test_the_secret_of_webhooks_may_be_in_a_file(tmp_path: Path) -> None:
    """Its bytes are the key, without the line end that editors add."""
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n", encoding="utf-8")

    assert GithubSettings(webhook_secret_file=file).webhook_key() == SECRET.encode()
    assert GithubSettings(webhook_secret=SECRET).webhook_key() == SECRET.encode()


@pytest.mark.parametrize("content", [None, b"", b" \n"])
def test_a_file_without_a_secret_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """A missing or empty file is told by its setting, not by its path."""
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(GithubSettingsError, match="WEBHOOK_SECRET_FILE cannot be used") as caught:
        GithubSettings(webhook_secret_file=file).webhook_key()

    assert str(tmp_path) not in str(caught.value)


def test_two_secrets_of_webhooks_are_one_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither is believed, and the error does not show it."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("SIDECYPHER_GITHUB_WEBHOOK_SECRET_FILE", "/there")

    with pytest.raises(GithubSettingsError, match="not both") as caught:
        GithubSettings.load()

    assert SECRET not in str(caught.value)


def test_the_secret_of_webhooks_is_not_shown() -> None:
    """Printed settings hide it."""
    assert SECRET not in repr(GithubSettings(webhook_secret=SECRET))


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("issues.opened=triage", {"issues.opened": "triage"}),
        (" push = build,, issues=talk it over ,", {"push": "build", "issues": "talk it over"}),
        ("push=a=b", {"push": "a=b"}),
    ],
)
def test_runs_are_set_as_a_list(
    text: str, runs: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each event, with or without its action, names a type of run."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_WEBHOOK_RUNS", text)

    assert GithubSettings.load().webhook_runs == runs


@pytest.mark.parametrize("text", ["push", "push=", "=build", "issues.opened.now=x", "Push=x", "{}"])
def test_runs_that_cannot_be_meant_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake is told, and never silently no run."""
    monkeypatch.setenv("SIDECYPHER_GITHUB_WEBHOOK_RUNS", text)

    with pytest.raises(GithubSettingsError, match=r"WEBHOOK_RUNS.*issues.opened=triage"):
        GithubSettings.load()
