"""The address of PostgreSQL, and the file of its password."""

import pytest
from psycopg.conninfo import conninfo_to_dict

from sidecypher_procedures.sync.errors import SyncSettingsError
from sidecypher_procedures.sync.postgres.settings import postgres_url


@pytest.fixture(autouse=True)
def url(monkeypatch):
    monkeypatch.setenv("SIDECYPHER_POSTGRES_URL", "postgresql://ann@localhost:5433/app")


def test_the_password_comes_from_a_file(monkeypatch, tmp_path):
    """The password may stand in a file; spaces and quotes in it are kept."""
    file = tmp_path / "password"
    file.write_text("it's a 'secret'\n")
    monkeypatch.setenv("SIDECYPHER_POSTGRES_PASSWORD_FILE", str(file))
    assert conninfo_to_dict(postgres_url()) == {
        "user": "ann",
        "host": "localhost",
        "port": "5433",
        "dbname": "app",
        "password": "it's a 'secret'",
    }


def test_a_file_that_cannot_be_read_is_told_without_its_path(monkeypatch, tmp_path):
    """The error names the setting, not the place."""
    monkeypatch.setenv("SIDECYPHER_POSTGRES_PASSWORD_FILE", str(tmp_path / "nothing"))
    with pytest.raises(SyncSettingsError, match="SIDECYPHER_POSTGRES_PASSWORD_FILE") as refused:
        postgres_url()
    assert str(tmp_path) not in str(refused.value)
