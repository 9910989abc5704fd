"""Settings of the `algo` procedures."""

from typing import Literal

from sidecypher_procedures.algo.errors import AlgoSettingsError
from sidecypher_procedures.environment import EnvironmentSettings


class AlgoSettings(EnvironmentSettings, env_prefix="SIDECYPHER_ALGO_"):
    """Settings from the environment variables with the prefix ``SIDECYPHER_ALGO_``.

    Attributes:
        executor: Where the procedures run.

    Example:
        >>> AlgoSettings(executor="ray").executor
        'ray'
    """

    refusal = AlgoSettingsError

    executor: Literal["thread", "process", "ray"] = "thread"
