"""Settings of the `runs` procedures, read once."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from sidecypher import Check, CheckContext, Finding
from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.runs.errors import RunsSettingsError

PREFIX: Final = "SIDECYPHER_RUNS_"


class RunsSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings, each from the environment variable of its name after ``SIDECYPHER_RUNS_``.

    Attributes:
        timeout: Seconds after which a run in which nothing happens reads as `timedOut`.
        archive_dir: The folder of archived runs; without one none can be archived.

    Example:
        >>> RunsSettings(timeout=60).timeout
        60
    """

    refusal = RunsSettingsError

    timeout: Annotated[int, Field(ge=1)] = 86_400
    archive_dir: Path | None = None


class Configuration:
    """The settings that all calls of a sidecar share, as they were at the first call."""

    def __init__(self) -> None:
        self.settings = RunsSettings.load()


def look_at_settings(ctx: CheckContext) -> Finding:
    """Have the procedures read their settings."""
    ctx.call_in_neo4j("runs.list", {"limit": 1})
    return Finding.ok("they can be used")


CHECKS: Final = (Check("Runs", "settings", look_at_settings),)
