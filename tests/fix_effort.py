"""How much of what could go on for ever is done; `make soak` asks for more."""

import os

import pytest


@pytest.fixture(scope="session")
def fuzz_count():
    """How many broken messages each fuzzed side gets."""
    return int(os.environ.get("SIDECYPHER_TEST_FUZZ", "10000"))


@pytest.fixture(scope="session")
def call_count():
    """After how many calls, and how many connections, nothing may have grown."""
    return int(os.environ.get("SIDECYPHER_TEST_CALLS", "10000"))


@pytest.fixture(scope="session")
def soak_seconds():
    """How long mixed calls and faults go on."""
    return float(os.environ.get("SIDECYPHER_TEST_SOAK", "30"))
