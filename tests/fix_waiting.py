"""Wait for conditions, never for a time."""

import os
import time

import pytest


@pytest.fixture
def eventually():
    """Wait until a condition holds, and return what it gave."""

    def wait(condition, seconds=10.0):
        deadline = time.monotonic() + seconds
        while not (answer := condition()):
            assert time.monotonic() < deadline, "the condition never came true"
            time.sleep(0.005)
        return answer

    return wait


@pytest.fixture
def clean_environment():
    """The environment of whoever runs the tests, without settings of theirs."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SIDECYPHER_")}
