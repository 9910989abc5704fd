"""Settings of the client, from the environment of the agent."""

import os
import re
from typing import Annotated, Final, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from sidecypher_procedures.rules.errors import ClientSettingsError

PREFIX: Final = "SIDECYPHER_GRAPHRAG_"
Mode = Literal["OFF", "OPTIONAL", "REQUIRED"]
_URI: Final = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://[^\s/]+.*")
_Seconds = Annotated[float, Field(gt=0, le=3600, allow_inf_nan=False)]


class ClientSettings(BaseSettings):
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

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
    )

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

    @classmethod
    def load(cls) -> Self:
        """Read the environment.

        Raises:
            ClientSettingsError: A variable is unknown or has an unusable value.
        """
        known = {_variable_of(name) for name in cls.model_fields}
        for name in sorted(os.environ):
            if name.upper().startswith(PREFIX) and name.upper() not in known:
                raise ClientSettingsError(
                    f"There is no variable {name}", hint=f"Known: {', '.join(sorted(known))}."
                )
        try:
            return cls()
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            name = _variable_of(str(problem["loc"][0]))
            raise ClientSettingsError(f"{name}: {problem['msg']}") from None


def _variable_of(name: str) -> str:
    """Return the environment variable of a field, or of its alias."""
    if name.startswith("NEO4J_"):
        return name
    field = ClientSettings.model_fields[name]
    return str(field.validation_alias) if field.validation_alias else f"{PREFIX}{name}".upper()
