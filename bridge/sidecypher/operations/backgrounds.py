"""The background functions of a sidecar, on its event loop."""

import asyncio
import contextvars
import time
from functools import partial
from pathlib import Path
from typing import Final

from sidecypher.calls.executors.loop import EventLoop, Job
from sidecypher.loading.loader import Loaded
from sidecypher.sdk.backgrounds import Background, SidecarContext
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import logger

FIRST_PAUSE: Final = 1.0
"""Seconds before a function that has failed starts again; twice as long after each failure."""

LONGEST_PAUSE: Final = 60.0
"""The most of these seconds. A function that ran for longer begins with the first pause again."""


class Backgrounds:
    """The background functions that run now, those of webhooks included.

    Args:
        home: The sidecar's data directory.
    """

    def __init__(self, loop: EventLoop, resources: Resources, home: Path) -> None:
        self._loop = loop
        self._context = SidecarContext(home, resources)
        self._jobs: dict[Background, Job] = {}

    def run(self, loaded: Loaded) -> None:
        """Start the functions that are new in `loaded`, and cancel those that are not in it.

        They end with the event loop.
        """
        of_webhooks = (each.background for each in loaded.webhooks.values())
        current = {*loaded.backgrounds.values(), *(each for each in of_webhooks if each)}
        for removed in self._jobs.keys() - current:
            self._loop.cancel(self._jobs.pop(removed))
        for added in current - self._jobs.keys():
            self._jobs[added] = self._loop.submit(
                partial(_keep_running, added, self._context),
                contextvars.Context(),
                lambda _: None,
            )


async def _keep_running(background: Background, context: SidecarContext) -> None:
    """Run a function until it returns; start it again after each error."""
    pause = FIRST_PAUSE
    while True:
        began = time.monotonic()
        try:
            await background.function(context)
        except Exception as error:  # noqa: BLE001 - it is any user's code
            # Not its text, which may hold data.
            logger().error("background failed", name=background.name, type=type(error).__name__)
        else:
            return
        if time.monotonic() - began > LONGEST_PAUSE:
            pause = FIRST_PAUSE
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
