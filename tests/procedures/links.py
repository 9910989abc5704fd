"""Procedures that tell which sidecar serves, that can be done without, or that fail."""

import os
import threading
from collections.abc import Iterator

from sidecypher import Context, ProcedureError, Row, function, procedure
from sidecypher.errors import ClusterUnavailable


class Number(Row):
    value: int


class Answer(Row):
    name: str
    value: int


@procedure("test.processId")
def process_id() -> Number:
    """Return the process that serves."""
    return Number(value=os.getpid())


@procedure("test.optional", availability="OPTIONAL")
def optional(value: int) -> Answer:
    """Return the number, if there is a sidecar."""
    return Answer(name="there", value=value)


@procedure("test.optionalRows", availability="OPTIONAL")
def optional_rows(value: int) -> Iterator[Answer]:
    """Yield the number, if there is a sidecar."""
    yield Answer(name="there", value=value)


@procedure("test.optionalNothing", availability="OPTIONAL")
def optional_nothing(value: int) -> None:
    """Do nothing, if there is a sidecar."""


@function("test.optionalValue", availability="OPTIONAL")
def optional_value(value: int) -> int:
    """Return the number, if there is a sidecar."""
    return value


@procedure("test.off")
def off(value: int) -> Answer:
    """Return the number; the operator of the tests has switched this off."""
    return Answer(name="there", value=value)


_tries: dict[str, int] = {}


@procedure("test.later")
def later(mark: str, times: int) -> Number:
    """Fail some times, and say that it is worth another try."""
    _tries[mark] = _tries.get(mark, 0) + 1
    if _tries[mark] <= times:
        raise ProcedureError("Not yet", code="test.not-yet", retryable=True)
    return Number(value=_tries[mark])


@procedure("test.raise")
def raise_(ctx: Context, code: str) -> Number:
    """Do what is an error with this code."""
    match code:
        case "SC-201":
            raise ProcedureError("No")
        case "SC-204":
            ctx.run("UNWIND [] AS none RETURN none").single()
        case "SC-208":
            raise _error_on_another_thread(ctx)
        case "SC-222":
            # As a call on a node that lacks sidecypher, which begins and is told so.
            raise ClusterUnavailable("No node of the Ray cluster could run it")
    return Number(value=0)


def _error_on_another_thread(ctx: Context) -> BaseException:
    caught: list[BaseException] = []

    def use() -> None:
        try:
            ctx.run("RETURN 1")
        except BaseException as error:  # noqa: BLE001 - it goes on in the body's own thread
            caught.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    return caught[0]


@function("test.runInFunction")
def run_in_function(ctx: Context) -> int:
    """Run a statement where there is no transaction."""
    return len(ctx.run("RETURN 1"))


@procedure("test.die", executor="process")
def die() -> Number:
    """End the process that serves."""
    os._exit(1)
