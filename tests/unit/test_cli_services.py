"""Commands that `sidecypher up` keeps running for packages."""

import pytest

from sidecypher.cli import supervise
from sidecypher.host.settings import load_settings


def services(home):
    return list(supervise._services(load_settings({"home": home}, {})))


@pytest.mark.parametrize("value", [None, "", " "])
def test_a_service_without_its_variable_is_not_started(monkeypatch, tmp_path, value):
    """An unset or empty variable means that nobody wants the service."""
    monkeypatch.delenv("SIDECYPHER_REDIS_URL", raising=False)
    if value is not None:
        monkeypatch.setenv("SIDECYPHER_REDIS_URL", value)
    assert services(tmp_path) == []


def test_a_service_is_a_command_that_is_restarted(monkeypatch, tmp_path):
    """With its variable set, its command runs in the environment of `up`, with a log of its own."""
    monkeypatch.setenv("SIDECYPHER_REDIS_URL", "redis://localhost")
    [sync] = services(tmp_path)
    assert sync.name == "sync"
    assert sync.argv[-3:] == ("sidecypher", "sync", "run")
    assert sync.env["SIDECYPHER_REDIS_URL"] == "redis://localhost"
    assert sync.log_file == tmp_path / "logs" / "sync.log"
    assert sync.restart
