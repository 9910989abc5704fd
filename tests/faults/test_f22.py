"""F22: somebody sets the clock."""

import time

import pytest

from sidecypher import Context, Row, procedure
from sidecypher.errors import CallError
from sidecypher.testing import ProcedureEnvironment


class Left(Row):
    seconds: float


@procedure("clock.left")
def left(ctx: Context, jump: float) -> Left:
    ahead = time.time() + jump
    time.time = lambda: ahead
    ctx.check()
    return Left(seconds=ctx.deadline.remaining())


@procedure("clock.busy")
def busy(ctx: Context, jump: float) -> Left:
    ahead = time.time() + jump
    time.time = lambda: ahead
    while True:
        ctx.check()


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_jump_of_the_clock_moves_no_deadline(monkeypatch, jump):
    """An hour forwards ends no call early, an hour back lets none go on longer."""
    monkeypatch.setattr(time, "time", time.time)  # put back what the bodies change
    with ProcedureEnvironment(left, timeout=30.0) as environment:
        [row] = environment.call("clock.left", jump)
    assert 20.0 < row["seconds"] <= 30.0

    with (
        ProcedureEnvironment(busy, timeout=0.2) as environment,
        pytest.raises(CallError) as caught,
    ):
        environment.call("clock.busy", jump)
    assert caught.value.code == "SC-213"
