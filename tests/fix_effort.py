"""How much of what could go on for ever is done; `make soak` asks for more."""

import os

import pytest


@pytest.fixture(scope="session")
def fuzz_count():
    """How many broken messages each fuzzed side gets."""
    return int(os.environ.get("SIDECYPHER_TEST_FUZZ", "10000"))
