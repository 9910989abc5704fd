"""Settings of the `rules` procedures."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from sidecypher_procedures.environment import EnvironmentSettings, settings_check
from sidecypher_procedures.rules.detector.vocabulary import parse_slots, read_slots
from sidecypher_procedures.rules.errors import RulesSettingsError
from sidecypher_procedures.rules.model import Strategy
from sidecypher_procedures.rules.options import MomentOptions, ReadOptions
from sidecypher_procedures.rules.ranking import Moment

PREFIX: Final = "SIDECYPHER_RULES_"


def _readable(path: Path | None) -> Path | None:
    if path is not None:
        parse_slots(read_slots(path))
    return path


class RulesSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_RULES_``.

    Attributes:
        strategy: Strategy that decides which of two unconfirmed rules of one scope wins.
        confidence_floor: Assertions with less confidence (0 to 1) are only suspected.
        slots: File with slots of your own, which replace those of the same name.

    Example:
        >>> RulesSettings(strategy="negated-overrides").strategy
        'negated-overrides'
    """

    refusal = RulesSettingsError

    strategy: Strategy = "most-recent-wins"
    confidence_floor: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    slots: Annotated[Path | None, AfterValidator(_readable)] = None


class Configuration:
    """The settings, read at the first call and shared by all calls of a sidecar."""

    def __init__(self) -> None:
        self.settings = RulesSettings.load()

    def moment(self, options: MomentOptions, now: datetime) -> Moment:
        """Return time and strategy of a call: from its options, else `now` and the settings."""
        return Moment(
            now=options.now or now,
            known=options.known if isinstance(options, ReadOptions) else None,
            strategy=options.strategy or self.settings.strategy,
            confidence_floor=self.settings.confidence_floor,
        )


_NO_RULES: Final = ("sidecypher-doctor", "global", "", {"now": datetime.now(UTC)})
"""For a user who has no rules, at a time that is not asked of the graph, which may be away."""

CHECKS: Final = (settings_check("Rules", "rules.active", *_NO_RULES),)
