"""Procedures on a Ray cluster, and the same ones in a worker process."""

from sidecypher import Context, Row, procedure


class Number(Row):
    """A number."""

    value: int


def _burn(rounds: int) -> Number:
    value = 1
    for _ in range(rounds):
        value = value * 1_103_515_245 % 2_147_483_647
    return Number(value=value)


@procedure("bench.echoInProcess", executor="process")
def echo_in_process(value: int) -> Number:
    """Return the number."""
    return Number(value=value)


@procedure("bench.echoOnActor", executor="ray", actor=True)
def echo_on_actor(value: int) -> Number:
    """Return the number."""
    return Number(value=value)


@procedure("bench.burnInProcess", executor="process", batch=True, timeout=600.0)
def burn_in_process(rounds: int) -> Number:
    """Compute."""
    return _burn(rounds)


@procedure("bench.burnOnRay", executor="ray", batch=True, timeout=600.0)
def burn_on_ray(rounds: int) -> Number:
    """Compute."""
    return _burn(rounds)


@procedure(
    "bench.project",
    executor="ray",
    project="UNWIND range(1, $rows) AS i RETURN i, i / 2.0 AS x, i % 7 AS y",
    timeout=600.0,
)
def project(ctx: Context, rows: int) -> Number:  # noqa: ARG001 - the statement has it
    """Return the number of rows of a projection."""
    return Number(value=ctx.projection.num_rows)
