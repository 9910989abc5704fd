"""Settings of the `rules` procedures, read once."""

from datetime import datetime
from typing import Annotated, Final

from pydantic import Field

from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.rules.errors import RulesSettingsError
from sidecypher_procedures.rules.inputs import Options
from sidecypher_procedures.rules.model import Strategy
from sidecypher_procedures.rules.ranking import Moment

PREFIX: Final = "SIDECYPHER_RULES_"


class RulesSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings, each from the environment variable of its name after ``SIDECYPHER_RULES_``.

    Attributes:
        strategy: Which of two unconfirmed rules of one scope wins.
        confidence_floor: Assertions with less confidence than this are only suspected, 0 to 1.

    Example:
        >>> RulesSettings(strategy="negated-overrides").strategy
        'negated-overrides'
    """

    refusal = RulesSettingsError

    strategy: Strategy = "most-recent-wins"
    confidence_floor: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0


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
