"""Settings of the `runs` procedures."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from sidecypher import Check, CheckContext, Finding
from sidecypher_procedures.environment import EnvironmentSettings
from sidecypher_procedures.runs.errors import RunsSettingsError

PREFIX: Final = "SIDECYPHER_RUNS_"


class RunsSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_RUNS_``.

    Attributes:
        timeout: Seconds without an event after which a run reads as `timedOut`.
        archive_dir: The folder of archived runs; None turns archiving off.

    Example:
        >>> RunsSettings(timeout=60).timeout
        60
    """

    refusal = RunsSettingsError

    timeout: Annotated[int, Field(ge=1)] = 86_400
    archive_dir: Path | None = None


class Configuration:
    """The settings, read at the first call and shared by all calls of a sidecar."""

    def __init__(self) -> None:
        self.settings = RunsSettings.load()


def look_at_settings(ctx: CheckContext) -> Finding:
    """Check that the procedures can read their settings."""
    ctx.call_in_neo4j("runs.list", {"limit": 1})
    return Finding.ok("they can be used")


CHECKS: Final = (Check("Runs", "settings", look_at_settings),)
