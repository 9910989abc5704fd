"""The circuit breaker, by a clock of the test's own."""

import threading

import pytest

from sidecypher_procedures.rules.client.model import CircuitBreaker


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    return CircuitBreaker(3, 10.0, clock)


def open_up(breaker):
    for _ in range(3):
        breaker.failed()


def test_it_opens_after_failures_in_a_row(breaker):
    """So many failures in a row open it, and fewer do not."""
    breaker.failed()
    breaker.failed()

    assert breaker.admits()

    breaker.failed()

    assert not breaker.admits()
    assert breaker.is_open


def test_a_success_forgets_the_failures(breaker):
    """Failures count in a row only."""
    breaker.failed()
    breaker.failed()
    breaker.succeeded()
    breaker.failed()

    assert breaker.admits()


def test_one_may_try_after_a_while(breaker, clock):
    """When the time has passed one is admitted; the others wait as long again."""
    open_up(breaker)
    clock.now = 9.9

    assert not breaker.admits()

    clock.now = 10.0

    assert breaker.admits()
    assert not breaker.admits()

    clock.now = 20.0

    assert breaker.admits()


def test_a_try_that_goes_well_closes_it(breaker, clock):
    """After a success everybody is admitted."""
    open_up(breaker)
    clock.now = 10.0
    breaker.admits()
    breaker.succeeded()

    assert breaker.admits()
    assert breaker.admits()


def test_a_try_that_fails_keeps_it_open(breaker, clock):
    """After a failed try the time begins anew."""
    open_up(breaker)
    clock.now = 15.0
    breaker.admits()
    breaker.failed()
    clock.now = 24.9

    assert not breaker.admits()


def test_of_many_threads_one_tries(breaker, clock):
    """However many threads ask at once, one is admitted."""
    open_up(breaker)
    clock.now = 10.0
    start = threading.Barrier(8)
    admitted = []

    def ask():
        start.wait()
        admitted.append(breaker.admits())

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert admitted.count(True) == 1
