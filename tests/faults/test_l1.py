"""L1: many calls."""

import pytest
from fix_mixture import make_calls

ROUNDS = 6


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_many_calls_leave_nothing(session, quiet_sidecar, usage, call_count):
    """After many calls of all kinds both processes hold what they held after the first ones."""
    held = usage(quiet_sidecar)
    for _ in range(ROUNDS):
        make_calls(session, call_count // ROUNDS)
        held.sample()

    held.tell(f"{call_count} calls:")
    assert held.grown() == {}
