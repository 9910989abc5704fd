"""Settings of the `rules` procedures, read once."""

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import Field

from sidecypher import Check, CheckContext, Finding
from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.rules.errors import RulesSettingsError
from sidecypher_procedures.rules.model import Strategy
from sidecypher_procedures.rules.options import MomentOptions, ReadOptions
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
    """The settings that all calls of a sidecar share, as they were at the first call."""

    def __init__(self) -> None:
        self.settings = RulesSettings.load()

    def moment(self, options: MomentOptions, now: datetime) -> Moment:
        """Return when and how a call selects: by its options, else by `now` and the settings."""
        return Moment(
            now=options.now or now,
            known=options.known if isinstance(options, ReadOptions) else None,
            strategy=options.strategy or self.settings.strategy,
            confidence_floor=self.settings.confidence_floor,
        )


def look_at_settings(ctx: CheckContext) -> Finding:
    """Have the procedures read their settings, by a call for a user who has no rules."""
    ctx.call_in_neo4j("rules.active", "sidecypher-doctor", "global", "", {"now": datetime.now(UTC)})
    return Finding.ok("they can be used")


CHECKS: Final = (Check("Rules", "settings", look_at_settings),)
