"""Wait for conditions, never for a time; and an environment without settings."""

import os
import time

import pytest


def wait_until(condition, seconds=30.0):
    """Ask again and again until the condition holds; return what it gave."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.01)
    return answer


@pytest.fixture
def clean_environment():
    """The environment of whoever runs the tests, without settings of theirs."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SIDECYPHER_")}
