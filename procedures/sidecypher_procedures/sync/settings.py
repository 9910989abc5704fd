"""Settings of `sync`, from environment variables."""

from importlib.util import find_spec
from typing import Annotated, Final

from pydantic import Field, SecretStr, field_validator

from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.sync.errors import SyncSettingsError

PREFIX: Final = "SIDECYPHER_SYNC_"

_SCHEMES: Final = ("redis://", "rediss://", "unix://")


class RedisSettings(EnvironmentSettings, env_prefix="SIDECYPHER_REDIS_"):
    """Settings from the environment variables with the prefix ``SIDECYPHER_REDIS_``.

    Attributes:
        url: Address of Redis, such as ``redis://:PASSWORD@HOST:6379/0``; ``rediss://`` for TLS and
            ``unix://PATH`` for a socket. Without it, nothing is read from Redis.

    Example:
        >>> RedisSettings(url="redis://localhost").url
        SecretStr('**********')
    """

    refusal = SyncSettingsError

    url: SecretStr | None = None

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(_SCHEMES):
            raise ValueError("give an address such as redis://HOST:6379, rediss:// or unix://")
        return value


class SyncSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_SYNC_``.

    Attributes:
        partitions: Number of streams that the runs are spread over; the same for all publishers
            and consumers of a Redis.
        batch: Most events of a transaction.
        parent_seconds: How long an event waits for a parent that has not come.
        lease_seconds: How long others wait for a consumer or worker that has died or is paused.
        metrics_port: Port of `/metrics` on this machine; 0 picks a free one, and none is served
            without it.

    Example:
        >>> SyncSettings(batch=50).batch
        50
    """

    refusal = SyncSettingsError

    partitions: Annotated[int, Field(ge=1, le=1024)] = 8
    batch: Annotated[int, Field(ge=1, le=1000)] = 100
    parent_seconds: Annotated[float, Field(ge=0, le=86_400)] = 30.0
    lease_seconds: Annotated[float, Field(ge=0.5, le=60)] = 3.0
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = None


def redis_url() -> str:
    """Return the address of Redis.

    Raises:
        SyncSettingsError: It is not set, or the extra `sync` is not installed.
    """
    if find_spec("redis") is None:
        raise SyncSettingsError(
            "The library for Redis is missing", hint="Run `pip install 'sidecypher[sync]'`."
        )
    url = RedisSettings.load().url
    if url is None:
        raise SyncSettingsError(
            "No Redis is named", hint="Set SIDECYPHER_REDIS_URL, such as redis://localhost:6379."
        )
    return url.get_secret_value()
