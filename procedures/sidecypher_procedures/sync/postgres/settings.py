"""Settings of PostgreSQL, from environment variables."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, SecretStr, field_validator

from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.sync.errors import SyncSettingsError

PREFIX: Final = "SIDECYPHER_POSTGRES_"

_SCHEMES: Final = ("postgresql://", "postgres://")


class PostgresSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_POSTGRES_``.

    Attributes:
        url: Address of PostgreSQL, such as ``postgresql://USER:PASSWORD@HOST:5432/DATABASE``.
            Without it, nothing is read from PostgreSQL.
        password_file: File with the password, instead of one in `url`.
        namespace: Name of the schema with the tables, the variable ``SIDECYPHER_POSTGRES_SCHEMA``.
        poll_seconds: How often the worker looks for events that no notification has announced.
        metrics_port: Port of `/metrics` of the worker on this machine; 0 picks a free one, and none
            is served without it.

    Example:
        >>> PostgresSettings(url="postgresql://localhost/app").url
        SecretStr('**********')
    """

    refusal = SyncSettingsError

    url: SecretStr | None = None
    password_file: Path | None = None
    # A field cannot be named `schema`, as a method of pydantic is.
    namespace: Annotated[
        str,
        Field(pattern=r"^[a-z_][a-z0-9_]{0,49}$", validation_alias="SIDECYPHER_POSTGRES_SCHEMA"),
    ] = "sidecypher"
    poll_seconds: Annotated[float, Field(ge=0.1, le=60)] = 1.0
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(_SCHEMES):
            raise ValueError("give an address such as postgresql://USER@HOST:5432/DATABASE")
        return value


def postgres_url() -> str:
    """Return the address of PostgreSQL, as a URL or as libpq's parameters.

    Raises:
        SyncSettingsError: It is not set, the file of the password cannot be read, or the extra
            `postgres` is not installed.
    """
    if find_spec("psycopg") is None:
        raise SyncSettingsError(
            "The library for PostgreSQL is missing",
            hint="Run `pip install 'sidecypher[postgres]'`.",
        )
    settings = PostgresSettings.load()
    if settings.url is None:
        raise SyncSettingsError(
            "No PostgreSQL is named",
            hint="Set SIDECYPHER_POSTGRES_URL, such as postgresql://USER@localhost:5432/DATABASE.",
        )
    url = settings.url.get_secret_value()
    return url if settings.password_file is None else _with_password(url, settings.password_file)


def _with_password(url: str, file: Path) -> str:
    from psycopg import ProgrammingError  # noqa: PLC0415 - the library may be missing
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415

    try:
        return make_conninfo(url, password=file.read_text(encoding="utf-8").strip())
    except (OSError, ValueError, ProgrammingError):
        # Their texts may hold the path or the password.
        raise SyncSettingsError(
            f"The file that {PREFIX}PASSWORD_FILE names cannot be used",
            hint="Name a file with the password alone, which this user may read.",
        ) from None
