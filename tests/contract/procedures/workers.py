"""Procedures that run in worker processes, and end in all the ways bodies end there."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sidecypher import Context, ProcedureError, Row, procedure


class Text(Row):
    value: str


class Anything(Row):
    value: Any


class Facts(Row):
    call_id: str
    database: str
    user: str
    seconds_left: float
    pid: int
    is_main_thread: bool


@procedure("worker.echo", executor="process")
def echo(value: Any) -> Anything:
    """Return any value."""
    return Anything(value=value)


@procedure("worker.count", executor="process")
def count(to: int, size: int = 1) -> Iterator[Text]:
    """Yield texts of that size."""
    for _ in range(to):
        yield Text(value="x" * size)


class Part(Row):
    value: float
    pid: int


@procedure("worker.divide", executor="process", batch=True)
def divide(a: float, b: float = 2.0) -> Part:
    """Divide, but not by 0."""
    if not b:
        raise ProcedureError("`b` is 0", code="test.zero", hint="Give another number.")
    return Part(value=a / b, pid=os.getpid())


def _halves(ctx: Context, rows: list[tuple[float]]) -> list[Part]:
    """Halve many at once."""
    return [Part(value=value / 2, pid=os.getpid()) for (value,) in rows]


@procedure("worker.halve", executor="process", batch=_halves)
def halve(value: float) -> Part:
    """Halve one."""
    return Part(value=value / 2, pid=0)


@procedure("worker.nothing", executor="process")
def nothing() -> None:
    """Return no rows."""


@procedure("worker.maybe", executor="process")
def maybe(there: bool) -> Text | None:
    """Return a row or none."""
    return Text(value="there") if there else None


@procedure("worker.facts", executor="process")
def facts(ctx: Context) -> Facts:
    """Return what a body in a worker knows of its call."""
    ctx.check()
    ctx.log.info("facts asked for")
    ctx.progress(1, 2)
    return Facts(
        call_id=ctx.call_id,
        database=ctx.database,
        user=ctx.user,
        seconds_left=ctx.deadline.remaining(),
        pid=os.getpid(),
        is_main_thread=threading.current_thread() is threading.main_thread(),
    )


class Counter:
    """A resource that counts."""

    def __init__(self) -> None:
        self.value = 0


@procedure("worker.resource", executor="process")
def resource(ctx: Context) -> Anything:
    """Count with an object of this worker."""
    counter = ctx.resource(Counter)
    counter.value += 1
    return Anything(value=[os.getpid(), counter.value])


@procedure("worker.run", executor="process")
def run(ctx: Context) -> Anything:
    """Try to run a statement."""
    return Anything(value=len(ctx.run("RETURN 1 AS one")))


@procedure("worker.fail", executor="process")
def fail(kind: str, secret: str = "") -> Text:
    """Fail in one of the ways bodies fail."""
    match kind:
        case "author":
            raise ProcedureError("No index", code="kg.no-index", hint="Make it.", details={"a": 1})
        case "value":
            raise ValueError(secret)
        case "exit":
            raise SystemExit(secret)
        case "interrupt":
            raise KeyboardInterrupt(secret)
        case "deep":
            return fail(kind, secret)
        case "column":
            return Text(value=1)  # type: ignore[arg-type]
    return Text(value="did not fail")


@procedure("worker.die", executor="process", batch=True)
def die(how: str) -> Text:
    """End the process in one of the ways processes end."""
    match how:
        case "segfault":
            ctypes.string_at(0)
        case "exit":
            os._exit(3)
        case "exit well":
            os._exit(0)
        case "abort":
            os.abort()
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "memory":
            _ = [bytearray(1024 * 1024) for _ in range(100_000)]
        case "stream":
            os._exit(3)
    return Text(value="alive")


class Processes(Row):
    own: int
    child: int


@procedure("worker.fork", executor="process")
def fork() -> Processes:
    """Return twice: in the worker, and in a child that it has not ended."""
    child = os.fork()
    return Processes(own=os.getpid(), child=child)


@procedure("worker.forge", executor="process")
def forge(what: str) -> Text:
    """Write to the worker's channel, as only the worker itself should."""
    channel = Connection(os.dup(int(sys.argv[1])))
    if what == "pickle":
        channel.send(["row"])
    else:
        channel.send_bytes(b'{"call_id": "client-0", "rows": [["forged"]]}')
    channel.close()
    return Text(value="answered")


@procedure("worker.dieLate", executor="process")
def die_late() -> Iterator[Text]:
    """Die after some rows."""
    for _ in range(2_000):
        yield Text(value="row")
    os._exit(3)


@procedure("worker.hold", executor="process", timeout=60.0)
def hold(mark: str) -> Text:
    """Hold this process's interpreter in C code, for longer than any test."""
    Path(mark).write_text(str(os.getpid()), encoding="utf-8")
    return Text(value=str(sum(range(10**12))))


@procedure("worker.child", executor="process", timeout=60.0)
def child(mark: str) -> Text:
    """Start a process, then hold the interpreter."""
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    Path(mark).write_text(str(started.pid), encoding="utf-8")
    return Text(value=str(sum(range(10**12))))


@procedure("worker.sleep", executor="process", timeout=60.0)
def sleep(seconds: float) -> Text:
    """Wait."""
    time.sleep(seconds)
    return Text(value="awake")


@procedure("worker.brief", executor="process", timeout=0.5)
def brief() -> Text:
    """Wait for longer than its time."""
    time.sleep(60)
    return Text(value="too late")
