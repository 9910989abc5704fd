"""A debugger in a sidecar: debugpy, to which an editor connects."""

import importlib.util
from typing import Final

from sidecypher.cli.errors import NoDebugger
from sidecypher.errors import ListenError
from sidecypher.host.settings import Settings

DEBUG_PORT: Final = 5678
"""The port that editors use for debugpy by default."""

DEBUG_VARIABLES: Final = {"SIDECYPHER_LEAST_TIMEOUT_MS": "86400000"}
"""Variables with which the plugin gives each call a day."""


def check_debugger() -> None:
    """Check that a debugger can be started.

    Raises:
        NoDebugger: debugpy is not installed.
    """
    if importlib.util.find_spec("debugpy") is None:
        raise NoDebugger("debugpy is not installed, and `--debug` needs it")


def debug_settings(settings: Settings) -> Settings:
    """Return settings for one sidecar that is not replaced while a debugger stops it."""
    return settings.model_copy(update={"sidecars": 1, "hang_seconds": 0.0})


def wait_for_debugger(port: int) -> None:
    """Let a debugger connect to this process on 127.0.0.1, now or later.

    Raises:
        NoDebugger: debugpy is not installed.
        ListenError: The port is taken.
    """
    check_debugger()
    # Imported here, because it traces the process from then on.
    import debugpy  # noqa: PLC0415, T100

    try:
        debugpy.listen(("127.0.0.1", port))  # noqa: T100
    except RuntimeError as error:
        raise ListenError(
            f"The debugger cannot listen on port {port}",
            hint="End the program that listens there, or choose another `--debug-port`.",
        ) from error
