"""Settings of sessions say what is wrong with them, and never what the key is."""

import pytest

from sidecypher_procedures.session.errors import SessionSettingsError
from sidecypher_procedures.session.settings import SessionSettings

KEY = "sk-a-secret"


def test_without_settings_nothing_leaves_the_sidecar():
    """No worker, no model, no host, no other session."""
    settings = SessionSettings.load()

    assert not settings.worker
    assert not settings.foreign_references
    assert settings.hosts == frozenset()
    assert settings.generate_url is settings.generate_recording is None


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a.example", {"a.example"}),
        (" A.Example , localhost:8080,, ", {"a.example", "localhost:8080"}),
        ("[::1],[::1]:8080", {"[::1]", "[::1]:8080"}),
        ("my_service:80", {"my_service:80"}),
    ],
)
def test_hosts_are_listed_with_commas(text, hosts, monkeypatch):
    """Without case, and with or without spaces."""
    monkeypatch.setenv("SIDECYPHER_SESSION_API_HOSTS", text)

    assert SessionSettings.load().hosts == hosts


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example",
        "a.example/path",
        "a.example, *",
        "*.example",
        "user@a.example",
        "a.example:port",
        "::1",
        "two words",
        "münchen.example",
    ],
)
def test_what_could_never_be_allowed_is_refused(text, monkeypatch):
    """An entry that no address would match would only look as if it allowed something."""
    monkeypatch.setenv("SIDECYPHER_SESSION_API_HOSTS", text)

    with pytest.raises(SessionSettingsError, match="`SIDECYPHER_SESSION_API_HOSTS` cannot") as it:
        SessionSettings.load()

    assert text not in str(it.value)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://api.example/v1", "https://api.example/v1"),
        ("https://api.example/v1/", "https://api.example/v1"),
        ("http://ollama:11434/v1", "http://ollama:11434/v1"),
        ("http://[::1]:8000//", "http://[::1]:8000"),
    ],
)
def test_the_address_of_the_model_loses_its_trailing_slash(given, kept):
    """An API may be on this machine or in its network, so it may be without TLS."""
    assert SessionSettings(generate_url=given).generate_url == kept


@pytest.mark.parametrize(
    "url",
    [
        "api.example/v1",
        "ftp://api.example",
        "https://",
        "https://user:word@api.example",
        "https://api.example/v1?key=x",
        "https://api.example/v1#x",
        "https://api.example\\x",
        "https://api.example:port",
        "not a url",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url, monkeypatch):
    """Secrets in an address would be sent, and shown, where a key is not."""
    monkeypatch.setenv("SIDECYPHER_SESSION_GENERATE_URL", url)

    with pytest.raises(
        SessionSettingsError, match="`SIDECYPHER_SESSION_GENERATE_URL` cannot"
    ) as it:
        SessionSettings.load()

    assert url == "https://" or url not in str(it.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WORKER", "perhaps"),
        ("WORKER_SESSIONS", "0"),
        ("WORKER_SESSIONS", "1001"),
        ("FOREIGN_REFERENCES", "some"),
        ("GENERATE_KEY", "two words"),
        ("GENERATE_KEY", "sk-ü"),
        ("GENERATE_KEY", "sk\nInjected: header"),
    ],
)
def test_unusable_values_are_named_but_not_shown(name, value, monkeypatch):
    """The error has the name of the variable only."""
    monkeypatch.setenv(f"SIDECYPHER_SESSION_{name}", value)

    with pytest.raises(SessionSettingsError, match=f"SIDECYPHER_SESSION_{name}") as it:
        SessionSettings.load()

    assert len(value) < 5 or value not in str(it.value)
    assert it.value.__cause__ is None


def test_the_key_is_in_no_representation(monkeypatch):
    """Printed settings hide it."""
    monkeypatch.setenv("SIDECYPHER_SESSION_GENERATE_KEY", KEY)
    settings = SessionSettings.load()

    assert KEY not in f"{settings!r}{settings}{settings.model_dump()}"
    assert settings.generate_key.get_secret_value() == KEY


def test_a_model_and_a_recording_are_one_too_many(monkeypatch):
    """Nobody can tell which one is meant."""
    monkeypatch.setenv("SIDECYPHER_SESSION_GENERATE_URL", "https://api.example/v1")
    monkeypatch.setenv("SIDECYPHER_SESSION_GENERATE_RECORDING", "answers.json")

    with pytest.raises(SessionSettingsError, match="both an API and a recording"):
        SessionSettings.load()
