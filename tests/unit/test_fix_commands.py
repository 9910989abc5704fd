"""What the fixture `run` leaves behind."""

import signal
import sys

import pytest


def _state():
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)]
    return handlers, sys.dont_write_bytecode


@pytest.fixture
def unchanged():
    """Look at the process when `run` is done with it."""
    before = _state()
    yield
    assert _state() == before


def test_commands_leave_the_process_of_the_tests_as_it_was(unchanged, run):
    """Handlers of signals and the flag of bytecode are those of pytest again."""
    before = _state()

    assert run("--help")[0] == 0
    sys.dont_write_bytecode = not sys.dont_write_bytecode

    assert _state()[0] != before[0]
