"""Settings from environment variables. Errors show the name of a variable, never its value."""

import os
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from sidecypher import Check, CheckContext, Finding, SidecypherError


class EnvironmentSettings(BaseSettings):
    """Base class of settings from the environment variables with the prefix `env_prefix`.

    Attributes:
        refusal: The error class to raise if a variable is unknown or its value is invalid.

    Example:
        >>> class Colours(EnvironmentSettings, env_prefix="PAINTER_"):
        ...     refusal = SidecypherError
        ...     wall: str = "white"
        >>> Colours.load().wall
        'white'
    """

    model_config = SettingsConfigDict(
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        populate_by_name=True,
    )

    refusal: ClassVar[type[SidecypherError]]

    @field_validator("*", mode="after")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        """Expand the `~` of a path, since no shell has done so in a unit or a compose file."""
        try:
            return value.expanduser() if isinstance(value, Path) else value
        except RuntimeError:
            raise ValueError("it names the home of an unknown user") from None

    @classmethod
    def load(cls) -> Self:
        """Read the settings from the environment.

        Raises:
            SidecypherError: A variable is unknown or has an invalid value; a `refusal`.
        """
        cls._refuse_unknown()
        try:
            return cls()
        except ValidationError as error:
            # `from None`: the original holds the values, and one of them may be a secret.
            raise cls.refusal(cls._describe(error)) from None

    @classmethod
    def _refuse_unknown(cls) -> None:
        prefix = cls.model_config["env_prefix"]
        known = sorted(map(cls._variable, cls.model_fields))
        for name in sorted(os.environ):
            if name.upper().startswith(prefix) and name.upper() not in known:
                raise cls.refusal(
                    f"There is no setting `{name}`", hint=f"Known: {', '.join(known)}."
                )

    @classmethod
    def _describe(cls, error: ValidationError) -> str:
        problem = error.errors(include_input=False, include_url=False, include_context=False)[0]
        reason = problem["msg"].removeprefix("Value error, ")
        reason = f"{reason[:1].lower()}{reason[1:]}"
        if not problem["loc"]:
            return f"The settings cannot be used together: {reason}"
        return f"The setting `{cls._variable(str(problem['loc'][0]))}` cannot be used: {reason}"

    @classmethod
    def _variable(cls, name: str) -> str:
        """Return the environment variable of a field, given by its name or alias."""
        field = cls.model_fields.get(name)
        if field is None:
            return name
        return str(field.validation_alias or f"{cls.model_config['env_prefix']}{name}".upper())


def settings_check(group: str, procedure: str, *arguments: Any) -> Check:
    """Return the check that procedures can read their settings: a call of one of them.

    Example:
        >>> settings_check("Runs", "runs.list", {"limit": 1}).name
        'settings'
    """

    def look(ctx: CheckContext) -> Finding:
        ctx.call_in_neo4j(procedure, *arguments)
        return Finding.ok("they can be used")

    return Check(group, "settings", look)
