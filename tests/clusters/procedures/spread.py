"""Procedures that run on a Ray cluster, and the same ones elsewhere."""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import ray

from sidecypher import Context, ProcedureError, Row, procedure

EXECUTORS = ("thread", "process", "ray")


class Anything(Row):
    value: Any


class Place(Row):
    value: int
    pid: int
    node: str
    began: float
    ended: float


class Facts(Row):
    call_id: str
    database: str
    user: str


class Total(Row):
    rows: int
    total: float | None
    columns: list[str]


def _place(value: int, began: float) -> Place:
    node = ray.get_runtime_context().get_node_id() if ray.is_initialized() else ""
    return Place(value=value, pid=os.getpid(), node=node, began=began, ended=time.time())


def echo(value: Any) -> Anything:
    """Return any value."""
    return Anything(value=value)


def facts(ctx: Context) -> Facts:
    """Return what the context says of the call."""
    ctx.log.info("facts asked for")
    return Facts(call_id=ctx.call_id, database=ctx.database, user=ctx.user)


def count(to: int, fail_at: int = -1) -> Iterator[Anything]:
    """Yield numbers, and fail at one."""
    for number in range(to):
        if number == fail_at:
            raise ProcedureError("as asked", code="test.asked", hint="Ask for less.")
        yield Anything(value=number)


def divide(a: float, b: float = 2.0) -> Anything:
    """Divide, but not by 0."""
    if not b:
        raise ProcedureError("`b` is 0", code="test.zero", hint="Give another number.")
    return Anything(value=a / b)


def fail(how: str) -> Anything:
    """Fail in one of the ways functions do."""
    if how == "row":
        return "not a row"  # type: ignore[return-value]
    if how == "exit":
        raise SystemExit(3)
    raise ValueError("a secret")


def total(ctx: Context, factor: float = 1.0, names: list[str] | None = None) -> Total:
    """Add up a column of the projection."""
    table = ctx.projection
    values = [each for each in table["x"].to_pylist() if each is not None] if table.num_rows else []
    return Total(
        rows=table.num_rows,
        total=factor * sum(values) if values else None,
        columns=[*table.column_names, *(names or [])],
    )


def on(executor: str, function: Callable[..., Any], **options: Any) -> None:
    """Make a copy of a function a procedure."""
    copy = FunctionType(function.__code__, globals(), function.__name__, function.__defaults__)
    copy.__annotations__, copy.__doc__ = function.__annotations__, function.__doc__
    name = f"{executor}.{function.__name__}"
    globals()[name] = procedure(name, executor=executor, **options)(copy)


for each in EXECUTORS:
    on(each, echo)
    on(each, facts)
    on(each, count)
    on(each, fail)
    on(each, divide, batch=True)
    on(each, total, project="UNWIND $names AS name RETURN name, $factor AS x")


@procedure("ray.wait", executor="ray", timeout=60.0)
def wait(mark: str, seconds: float) -> Iterator[Place]:
    """Write a mark, wait in Python, and write another one in the clean-up."""
    began = time.time()
    try:
        Path(mark).write_text(str(os.getpid()), encoding="utf-8")
        while time.time() < began + seconds:
            time.sleep(0.01)
        yield _place(0, began)
    finally:
        for _ in range(30):
            time.sleep(0.01)
        Path(mark + ".ended").write_text("", encoding="utf-8")


@procedure("ray.pour", executor="ray", timeout=60.0)
def pour(mark: str) -> Iterator[Place]:
    """Write a mark, yield rows without end, and write another mark in the clean-up."""
    began = time.time()
    try:
        Path(mark).write_text(str(os.getpid()), encoding="utf-8")
        while True:
            yield _place(0, began)
    finally:
        Path(mark + ".ended").write_text("", encoding="utf-8")


@procedure("ray.hold", executor="ray", timeout=60.0)
def hold(mark: str, library: str) -> Place:
    """Write a mark, and wait in C code, which no exception ends; `PyDLL` keeps the interpreter."""
    began = time.time()
    Path(mark).write_text(str(os.getpid()), encoding="utf-8")
    left = 600
    while left:
        left = getattr(ctypes, library)(None).sleep(left)
    return _place(0, began)


@procedure("ray.drip", executor="ray", timeout=60.0)
def drip(mark: str) -> Iterator[Place]:
    """Yield a row, and the next one when there is a mark."""
    began = time.time()
    yield _place(1, began)
    while not Path(mark).exists():
        time.sleep(0.01)
    yield _place(2, began)


@procedure("ray.rest", executor="ray", timeout=60.0)
def rest(seconds: float) -> Place:
    """Wait, and tell where that was."""
    began = time.time()
    time.sleep(seconds)
    return _place(1, began)


@procedure("ray.meet", executor="ray", batch=True, timeout=60.0)
def meet(value: int, folder: str) -> Anything:
    """Leave the mark of this node in a folder, and wait for the mark of another one."""
    Path(folder, _place(value, 0).node).touch()
    while len(list(Path(folder).iterdir())) < 2:
        time.sleep(0.01)
    return Anything(value=value)


@procedure("ray.last", executor="ray", batch=True, timeout=60.0)
def last(value: int, folder: str) -> Anything:
    """Leave a mark in a folder; the number 0 first waits for 50 others."""
    while not value and len(list(Path(folder).iterdir())) < 50:
        time.sleep(0.01)
    Path(folder, str(value)).touch()
    return Anything(value=value)


@procedure("ray.grow", executor="ray")
def grow(mib: int) -> Anything:
    """Use memory."""
    return Anything(value=len(bytearray(mib * 1024 * 1024)))


@procedure("ray.lose", executor="ray", timeout=60.0)
def lose(folder: str, rows: int) -> Iterator[Place]:
    """Yield rows, then end the process, the first time."""
    yield from _lose(folder, rows)


@procedure("ray.loseAndRetry", executor="ray", retryable=True, timeout=60.0)
def lose_and_retry(folder: str, rows: int) -> Iterator[Place]:
    """Yield rows, then end the process, the first time; it may run again."""
    yield from _lose(folder, rows)


def _lose(folder: str, rows: int) -> Iterator[Place]:
    mark = Path(folder, str(time.time_ns()))
    mark.write_text("", encoding="utf-8")
    for number in range(rows):
        yield _place(number, time.time())
    if len(list(Path(folder).iterdir())) == 1:
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGKILL)
    yield _place(rows, time.time())


@procedure("ray.always", executor="ray", retryable=True, timeout=60.0)
def always(folder: str) -> Place:
    """End the process each time."""
    Path(folder, str(time.time_ns())).write_text("", encoding="utf-8")
    os.kill(os.getpid(), signal.SIGKILL)
    return _place(0, 0.0)


@cache
def _loaded() -> dict[str, int]:
    return {"calls": 0, "running": 0}


@procedure("ray.actor", executor="ray", actor=True, max_actors=2, timeout=60.0)
def actor(seconds: float = 0.0) -> Place:
    """Count the calls of this process."""
    began = time.time()
    _loaded()["calls"] += 1
    while time.time() < began + seconds:
        time.sleep(0.01)
    return _place(_loaded()["calls"], began)


@procedure("ray.single", executor="ray", actor=True)
def single(seconds: float = 0.0) -> Place:
    """Count the calls of the only process, or end it if the seconds are negative."""
    if seconds < 0:
        os._exit(1)
    began, counts = time.time(), _loaded()
    if counts["running"]:
        raise ProcedureError("another call runs in this process")
    counts["calls"] += 1
    counts["running"] += 1
    try:
        while time.time() < began + seconds:
            time.sleep(0.01)
    finally:
        if seconds > 100:
            time.sleep(0.5)
        counts["running"] -= 1
    return _place(counts["calls"], began)


@procedure("ray.impossible", executor="ray", actor=True, resources={"CPU": 1.0})
def impossible() -> Anything:
    """Ask for a resource by a name that Ray refuses."""
    return Anything(value=1)


@procedure("ray.many", executor="ray", resources={"num_cpus": 0.25})
def many(value: int) -> Anything:
    """Return the number."""
    return Anything(value=value)


@procedure("ray.elsewhere", executor="ray", resources={"moon": 1.0}, timeout=2.0)
def elsewhere() -> Anything:
    """Need what no node has."""
    return Anything(value=1)
