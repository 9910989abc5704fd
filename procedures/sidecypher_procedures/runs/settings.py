"""Settings of the `runs` procedures."""

import os
import stat
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from sidecypher_procedures.environment import EnvironmentSettings, settings_check
from sidecypher_procedures.runs.errors import RunsSettingsError
from sidecypher_procedures.runs.model import Signer

PREFIX: Final = "SIDECYPHER_RUNS_"

LEAST_KEY_BYTES: Final = 32
MOST_KEY_BYTES: Final = 1024
"""Lengths of a signing key, without surrounding space."""


class RunsSettings(EnvironmentSettings, env_prefix=PREFIX):
    """Settings from the environment variables with the prefix ``SIDECYPHER_RUNS_``.

    Attributes:
        timeout: Seconds without an event after which a run reads as `timedOut`.
        archive_dir: The folder of archived runs; None turns archiving off.
        signing_key_file: The file with the key that signs digests; None leaves them unsigned.

    Example:
        >>> RunsSettings(timeout=60).timeout
        60
    """

    refusal = RunsSettingsError

    timeout: Annotated[int, Field(ge=1)] = 86_400
    archive_dir: Path | None = None
    signing_key_file: Path | None = None


class Configuration:
    """The settings, read at the first call and shared by all calls of a sidecar."""

    def __init__(self) -> None:
        self.settings = RunsSettings.load()
        file = self.settings.signing_key_file
        self.signer = Signer(None if file is None else read_key(file))


def read_key(file: Path) -> bytes:
    """Return the key in a file, without surrounding space.

    Raises:
        RunsSettingsError: The file cannot be read, other accounts can use it, or the key is short
            or long.
    """
    try:
        with file.open("rb") as opened:
            status = os.fstat(opened.fileno())
            key = opened.read(MOST_KEY_BYTES + 1).strip()
    except OSError as error:
        raise _bad_key(f"cannot be read: {error.strerror}", "Check that it exists.") from None
    if status.st_uid != os.geteuid():
        raise _bad_key("belongs to another account", "Give it to the account of the sidecar.")
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise _bad_key(
            f"has the mode {stat.S_IMODE(status.st_mode):04o}, so other accounts can use it",
            "Set the mode 0600, or 0400.",
        )
    if not LEAST_KEY_BYTES <= len(key) <= MOST_KEY_BYTES:
        raise _bad_key(
            f"has a key of {len(key)} bytes",
            f"Give {LEAST_KEY_BYTES} to {MOST_KEY_BYTES}: `openssl rand -hex 32` prints one.",
        )
    return key


def _bad_key(what: str, hint: str) -> RunsSettingsError:
    name = f"{PREFIX}SIGNING_KEY_FILE"
    return RunsSettingsError(f"The file of the setting `{name}` {what}", hint=hint)


CHECKS: Final = (settings_check("Runs", "runs.list", {"limit": 1}),)
