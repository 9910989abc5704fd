"""How much is done of what could go on for ever; `make test-deep` and `make soak` do more."""

import os

import pytest

_FIXTURES = {
    "fuzz_count",
    "call_count",
    "soak_seconds",
    "round_count",
    "relation_count",
    "kill_count",
}


def pytest_itemcollected(item):
    """Mark the tests that `make test-deep` repeats with more."""
    if _FIXTURES & {*item.fixturenames}:
        item.add_marker("effort")


def _count(name, default):
    return int(os.environ.get(f"SIDECYPHER_TEST_{name}", default))


@pytest.fixture(scope="session")
def fuzz_count():
    """How many broken messages each fuzzed side gets."""
    return _count("FUZZ", 1000)


@pytest.fixture(scope="session")
def call_count():
    """After how many calls, and how many connections, nothing may have grown."""
    return _count("CALLS", 1000)


@pytest.fixture(scope="session")
def soak_seconds():
    """How long mixed calls and faults go on."""
    return _count("SOAK", 10)


@pytest.fixture(scope="session")
def round_count():
    """How often 32 writers write rules of one scope at once."""
    return _count("ROUNDS", 10)


@pytest.fixture(scope="session")
def relation_count():
    """How many relations a concept has that everything else leads to."""
    return _count("RELATIONS", 20_000)


@pytest.fixture(scope="session")
def kill_count():
    """How often each process that carries events dies."""
    return _count("KILLS", 1)
