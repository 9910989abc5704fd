"""Settings of the `session` procedures."""

import re
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from sidecypher_procedures.environment import EnvironmentSettings, settings_check
from sidecypher_procedures.session.errors import SessionSettingsError

PREFIX: Final = "SIDECYPHER_SESSION_"


_HOST: Final = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
_ALLOWED: Final = re.compile(_HOST)
_BASE_URL: Final = re.compile(rf"https?://{_HOST}(?:/[A-Za-z0-9._~-]+)*/*")
_KEY: Final = re.compile(r"[\x21-\x7e]{1,4096}")


class SessionSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_SESSION_``.

    Attributes:
        worker: Whether the sidecar runs due steps of all sessions by itself.
        worker_sessions: How many sessions it advances at a time.
        foreign_references: Whether references may name other sessions.
        api_hosts: The hosts that an `api` step may call, separated by commas: with a port if it is
            not the usual one of the scheme, IPv6 addresses in brackets; none by default.
        generate_url: The base URL of an OpenAI-compatible API, such as ``https://HOST/v1``.
        generate_model: The model that a `generate` step asks, unless it names one.
        generate_key: The API's key.
        generate_recording: A JSON file with the answers of `generate` steps, instead of an API.

    Example:
        >>> sorted(SessionSettings(api_hosts="a.example, localhost:8080").hosts)
        ['a.example', 'localhost:8080']
    """

    refusal = SessionSettingsError

    worker: bool = False
    worker_sessions: Annotated[int, Field(ge=1, le=1000)] = 16
    foreign_references: bool = False
    api_hosts: str = ""
    generate_url: str | None = None
    generate_model: str | None = None
    generate_key: SecretStr | None = None
    generate_recording: Path | None = None

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that an `api` step may call, in lower case."""
        return frozenset(host.strip().lower() for host in self.api_hosts.split(",") if host.strip())

    @field_validator("api_hosts")
    @classmethod
    def _check_hosts(cls, value: str) -> str:
        for host in value.split(","):
            if host.strip() and not _ALLOWED.fullmatch(host.strip()):
                raise ValueError("give hosts such as a.example or localhost:8080, without paths")
        return value

    @field_validator("generate_url")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not _BASE_URL.fullmatch(value):
            raise ValueError("give an address such as https://HOST/v1, without user and query")
        return value.rstrip("/")

    @field_validator("generate_key")
    @classmethod
    def _check_key(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not _KEY.fullmatch(value.get_secret_value()):
            raise ValueError("a key is ASCII without spaces")
        return value

    @model_validator(mode="after")
    def _check_one_generator(self) -> Self:
        if self.generate_url is not None and self.generate_recording is not None:
            raise ValueError("there are both an API and a recording of `generate`; set one of them")
        return self


CHECKS: Final = (settings_check("Sessions", "session.awaiting", {"limit": 1}),)
