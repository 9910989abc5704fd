"""Settings of the client, from the environment of the agent."""

import re
from typing import Annotated, Final, Literal

from pydantic import Field, SecretStr, field_validator

from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.rules.errors import ClientSettingsError

PREFIX: Final = "SIDECYPHER_GRAPHRAG_"
Mode = Literal["OFF", "OPTIONAL", "REQUIRED"]
_URI: Final = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://[^\s/]+.*")
_Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]


class ClientSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings: three by the names that Neo4j's users know, the others after a prefix.

    Attributes:
        mode: Whether there is a memory, and whether the agent can do without it.
        uri: Where Neo4j is, from ``NEO4J_URI``.
        user: User at Neo4j, from ``NEO4J_USER``.
        password: Password at Neo4j, from ``NEO4J_PASSWORD``; None is no authentication.
        connect_timeout: Seconds for one connection.
        timeout: Seconds for one read, connecting and trying again included.
        write_timeout: Seconds for one write, the same included.
        breaker_failures: After so many failures in a row nothing is asked any more for a while.
        breaker_seconds: That while, in seconds.
        search: What stands in for a search of the web.

    Example:
        >>> ClientSettings(mode="OPTIONAL", password="secret").password
        SecretStr('**********')
    """

    refusal = ClientSettingsError

    mode: Mode = "OFF"
    uri: str = Field(default="bolt://127.0.0.1:7687", validation_alias="NEO4J_URI")
    user: str = Field(default="neo4j", validation_alias="NEO4J_USER")
    password: SecretStr | None = Field(default=None, validation_alias="NEO4J_PASSWORD")
    connect_timeout: _Seconds = 1.0
    timeout: _Seconds = 2.0
    write_timeout: _Seconds = 10.0
    breaker_failures: Annotated[int, Field(ge=1, le=1_000)] = 5
    breaker_seconds: _Seconds = 30.0
    search: Literal["disabled", "local"] = "disabled"

    @field_validator("uri")
    @classmethod
    def _check_uri(cls, uri: str) -> str:
        if not _URI.fullmatch(uri):
            raise ValueError("give an address such as bolt://127.0.0.1:7687")
        return uri
