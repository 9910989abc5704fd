"""Commands that `sidecypher up` keeps running for packages."""

import pytest

from sidecypher.cli import supervise
from sidecypher.host.settings import load_settings

VARIABLES = ("SIDECYPHER_REDIS_URL", "SIDECYPHER_POSTGRES_URL")


def services(home):
    return list(supervise._services(load_settings({"home": home}, {})))


@pytest.mark.parametrize("value", [None, "", " "])
def test_a_service_without_its_variable_is_not_started(monkeypatch, tmp_path, value):
    """An unset or empty variable means that nobody wants the service."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if value is not None:
        for name in VARIABLES:
            monkeypatch.setenv(name, value)
    assert services(tmp_path) == []


def test_a_service_is_a_command_that_is_restarted(monkeypatch, tmp_path):
    """With its variable set, its command runs in the environment of `up`, with a log of its own."""
    monkeypatch.delenv("SIDECYPHER_POSTGRES_URL", raising=False)
    monkeypatch.setenv("SIDECYPHER_REDIS_URL", "redis://localhost")
    [sync] = services(tmp_path)
    assert sync.name == "sync"
    assert sync.argv[-3:] == ("sidecypher", "sync", "run")
    assert sync.env["SIDECYPHER_REDIS_URL"] == "redis://localhost"
    assert sync.log_file == tmp_path / "logs" / "sync.log"
    assert sync.restart


def test_the_worker_of_postgres_is_a_service(monkeypatch, tmp_path):
    """With an address of PostgreSQL, `up` keeps the worker running."""
    monkeypatch.delenv("SIDECYPHER_REDIS_URL", raising=False)
    monkeypatch.setenv("SIDECYPHER_POSTGRES_URL", "postgresql://localhost/app")
    [worker] = services(tmp_path)
    assert worker.argv[-4:] == ("sidecypher", "sync", "postgres", "run")
    assert worker.log_file == tmp_path / "logs" / "sync-postgres.log"
