"""The background functions of a sidecar, on its event loop."""

import contextvars
from functools import partial
from pathlib import Path

from sidecypher.calls.executors.loop import EventLoop, Job
from sidecypher.loading.loader import Loaded
from sidecypher.sdk.backgrounds import Background, SidecarContext
from sidecypher.sdk.resources import Resources
from sidecypher.telemetry.calls import logger


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
                partial(added.function, self._context),
                contextvars.Context(),
                partial(_log_failure, added.name),
            )


def _log_failure(name: str, job: Job) -> None:
    if isinstance(job.error, Exception):
        # Not its text, which may hold data.
        logger().error("background failed", name=name, type=type(job.error).__name__)
