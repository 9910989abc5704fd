"""Wait for conditions, never for a time; and an environment without settings."""

import asyncio
import functools
import os
import sys
import time
import traceback

import neo4j
import pytest


def wait_until(condition, seconds=30.0):
    """Ask again and again until the condition holds; return what it gave."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.01)
    return answer


def threads_in(function):
    """Return how many threads are in a function now, or in one that it has called."""
    return sum(
        any(frame.f_code is function.__code__ for frame, _ in traceback.walk_stack(top))
        for top in sys._current_frames().values()
    )


def is_served(call):
    """Tell what a call gives, or False if no sidecar answers it; any other error is raised."""
    try:
        return call()
    except neo4j.exceptions.ClientError as error:
        if "[SC-210]" in str(error) or "[SC-212]" in str(error):
            return False
        raise


def awaited(test):
    """Run an async test on an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments, **fixtures):
        asyncio.run(test(*arguments, **fixtures))

    return run


def promised(seconds):
    """Return how long something may take that is promised within these seconds.

    By `SIDECYPHER_TEST_SLOWER` it may be some times as long: `make test` sets that because its
    workers share the cores. A broken promise takes longer still.
    """
    return seconds * float(os.environ.get("SIDECYPHER_TEST_SLOWER", "1"))


@pytest.fixture
def clean_environment():
    """The environment of whoever runs the tests, without settings of theirs."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SIDECYPHER_")}
