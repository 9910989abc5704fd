"""Settings of the `session` procedures."""

from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from sidecypher import Check, CheckContext, Finding
from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.session.errors import SessionSettingsError

PREFIX: Final = "SIDECYPHER_SESSION_"


def _url(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("it is not an address that begins with http:// or https://")
    return value.rstrip("/")


class SessionSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_SESSION_``.

    Attributes:
        worker: Whether the sidecar runs due steps of all sessions by itself.
        worker_sessions: How many sessions it advances at a time.
        foreign_references: Whether references may name other sessions.
        api_hosts: The hosts that an `api` step may call, with a port if it is not the usual one,
            separated by commas; none by default.
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
    generate_url: Annotated[str, AfterValidator(_url)] | None = None
    generate_model: str | None = None
    generate_key: SecretStr | None = None
    generate_recording: Path | None = None

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that an `api` step may call, in lower case."""
        return frozenset(host.strip().lower() for host in self.api_hosts.split(",") if host.strip())

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        if self.generate_url is not None and self.generate_recording is not None:
            raise ValueError("there are both an API and a recording of `generate`; set one of them")
        return self


def look_at_settings(ctx: CheckContext) -> Finding:
    """Check that the procedures can read their settings."""
    ctx.call_in_neo4j("session.awaiting", {"limit": 1})
    return Finding.ok("they can be used")


CHECKS: Final = (Check("Sessions", "settings", look_at_settings),)
