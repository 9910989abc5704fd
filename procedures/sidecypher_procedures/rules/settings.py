"""Settings of the `rules` procedures, read once."""

import os
from datetime import datetime
from typing import Annotated, Final, Self

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from sidecypher_procedures.rules.errors import RulesSettingsError
from sidecypher_procedures.rules.inputs import Options
from sidecypher_procedures.rules.model import Strategy
from sidecypher_procedures.rules.ranking import Moment

PREFIX: Final = "SIDECYPHER_RULES_"


class RulesSettings(BaseSettings):
    """Settings, each from the environment variable of its name after ``SIDECYPHER_RULES_``.

    Attributes:
        strategy: Which of two unconfirmed rules of one scope wins.
        confidence_floor: Assertions with less confidence than this are only suspected, 0 to 1.

    Example:
        >>> RulesSettings(strategy="negated-overrides").strategy
        'negated-overrides'
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    strategy: Strategy = "most-recent-wins"
    confidence_floor: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0

    @classmethod
    def load(cls) -> Self:
        """Read the environment.

        Raises:
            RulesSettingsError: A variable is unknown or has an unusable value.
        """
        known = {f"{PREFIX}{field}".upper() for field in cls.model_fields}
        for name in sorted(os.environ):
            if name.upper().startswith(PREFIX) and name.upper() not in known:
                raise RulesSettingsError(
                    f"There is no setting {name}", hint=f"Known: {', '.join(sorted(known))}."
                )
        try:
            return cls()
        except ValidationError as error:
            problem = error.errors(include_input=False, include_url=False)[0]
            name = f"{PREFIX}{problem['loc'][0]}".upper()
            raise RulesSettingsError(f"{name}: {problem['msg']}") from None


class Configuration:
    """The settings that all calls of a sidecar share.

    Attributes:
        settings: What was read at the first call.
    """

    def __init__(self) -> None:
        self.settings = RulesSettings.load()

    def strategy(self, options: Options) -> Strategy:
        """Return the strategy of a call: its option, else the setting."""
        return options.strategy or self.settings.strategy

    def moment(self, options: Options, now: datetime) -> Moment:
        """Return when and how a call selects.

        Args:
            options: The call's options.
            now: The time of its transaction.
        """
        return Moment(
            now=options.now or now,
            known=options.known,
            strategy=self.strategy(options),
            confidence_floor=self.settings.confidence_floor,
        )
