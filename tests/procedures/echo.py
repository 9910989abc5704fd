"""Procedures that the tests and the benchmark call."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime
from typing import Annotated, Any

from sidecypher import Context, Description, LocalDateTime, ProcedureError, Row, procedure


class Text(Row):
    value: str


class Number(Row):
    value: int


class Anything(Row):
    value: Any


class Everything(Row):
    """One column of each type the bridge carries."""

    a_boolean: bool | None
    an_integer: int | None
    a_float: float | None
    a_string: str | None
    a_list: list[int] | None
    a_map: dict[str, Any] | None
    a_date: date | None
    a_local: LocalDateTime | None
    a_zoned: datetime | None
    anything: Any


class Facts(Row):
    """What a body knows of its call."""

    call_id: str
    database: str
    user: str
    seconds_left: float
    thread: str


_running: list[str] = []


@contextlib.contextmanager
def running(mark: str) -> Iterator[None]:
    """Note that a body runs: a transaction is there before its procedure is."""
    _running.append(mark)
    try:
        yield
    finally:
        _running.remove(mark)


@procedure("test.echo")
def echo(value: str) -> Text:
    """Return the text."""
    return Text(value=value)


@procedure("test.echoAsync")
async def echo_async(value: str) -> Text:
    """Return the text, from the event loop."""
    return Text(value=value)


@procedure("test.echoProcess", executor="process")
def echo_process(value: str) -> Text:
    """Return the text, from a worker process."""
    return Text(value=value)


@procedure("test.echoAny")
def echo_any(value: Any) -> Anything:
    """Return any value."""
    return Anything(value=value)


@procedure("test.echoEverything")
def echo_everything(  # noqa: PLR0917
    a_boolean: bool | None = None,
    an_integer: int | None = None,
    a_float: float | None = None,
    a_string: str | None = None,
    a_list: list[int] | None = None,
    a_map: dict[str, Any] | None = None,
    a_date: date | None = None,
    a_local: LocalDateTime | None = None,
    a_zoned: datetime | None = None,
    anything: Any = None,
) -> Everything:
    """Return one value of each type."""
    return Everything(
        a_boolean=a_boolean,
        an_integer=an_integer,
        a_float=a_float,
        a_string=a_string,
        a_list=a_list,
        a_map=a_map,
        a_date=a_date,
        a_local=a_local,
        a_zoned=a_zoned,
        anything=anything,
    )


@procedure("test.defaults")
def defaults(  # noqa: PLR0917
    boolean: bool = True,
    integer: int = -7,
    number: float = 2,
    text: str = "null",
    items: list[str] = ["it's", "`", "\\"],  # noqa: B006 - a default is copied for each call
    options: dict[str, Any] = {"deep key": [1, {"a": None}]},  # noqa: B006
    day: date = date(2024, 2, 29),
    nothing: str | None = None,
) -> Anything:
    """Return the defaults as they arrive."""
    return Anything(value=[boolean, integer, number, text, items, options, day, nothing])


@procedure("test.count")
def count(ctx: Context, to: int) -> Iterator[Number]:
    """Yield the numbers from 0 up to, and without, `to`."""
    for value in range(to):
        yield Number(value=value)


@procedure("test.countAsync")
async def count_async(ctx: Context, to: int) -> AsyncIterator[Number]:
    """Yield the numbers from 0 up to, and without, `to`, from the event loop."""
    for value in range(to):
        yield Number(value=value)
        if value % 100 == 0:
            await asyncio.sleep(0)


@procedure("test.countList")
def count_list(to: int) -> list[Number]:
    """Return the numbers from 0 up to, and without, `to`, as a list."""
    return [Number(value=value) for value in range(to)]


class Wide(Row):
    a: int
    b: str
    c: float


@procedure("test.wide")
def wide(to: int) -> Iterator[Wide]:
    """Yield rows of three columns."""
    for value in range(to):
        yield Wide(a=value, b="text", c=0.5)


@procedure("test.maybe")
def maybe(there: bool) -> Text | None:
    """Return a row or none."""
    return Text(value="there") if there else None


@procedure("test.run", mode="WRITE")
def run(ctx: Context, cypher: str, params: dict[str, Any] = {}) -> Iterator[Anything]:  # noqa: B006
    """Run a statement in the caller's transaction and return its records."""
    with running("test.run"):
        for record in ctx.run(cypher, **params):  # type: ignore[arg-type]
            yield Anything(value=record)


@procedure("test.runAsync", mode="WRITE")
async def run_async(
    ctx: Context,
    cypher: str,
    params: dict[str, Any] = {},  # noqa: B006
) -> list[Anything]:
    """Run a statement from the event loop, twice at once."""
    first, second = await asyncio.gather(
        _records(ctx, cypher, params), _records(ctx, "RETURN 1 AS one", {})
    )
    return [Anything(value=record) for record in [*first, *second]]


async def _records(ctx: Context, cypher: str, params: dict[str, Any]) -> list[dict[str, Any]]:
    return list(await ctx.run(cypher, **params))  # type: ignore[arg-type]


@procedure("test.swallow", mode="WRITE")
def swallow(ctx: Context, cypher: str) -> Text:
    """Run a statement and ignore its failure."""
    with contextlib.suppress(Exception):
        ctx.run(cypher)  # type: ignore[arg-type]
    return Text(value="as if nothing had happened")


@procedure("test.readOnly")
def read_only(ctx: Context, cypher: str) -> Number:
    """Run a statement in a procedure that may only read."""
    return Number(value=len(ctx.run(cypher)))  # type: ignore[arg-type]


@procedure("test.callback")
def callback(ctx: Context) -> Number:
    """Ask the caller's transaction for a number."""
    return Number(value=ctx.run("RETURN 1 AS one").single()["one"])


@procedure("test.facts")
def facts(ctx: Context) -> Facts:
    """Return what a body knows of its call."""
    ctx.log.info("facts asked for")
    return Facts(
        call_id=ctx.call_id,
        database=ctx.database,
        user=ctx.user,
        seconds_left=ctx.deadline.remaining(),
        thread=threading.current_thread().name,
    )


@procedure("test.fail")
def fail(kind: str, secret: str) -> Text:
    """Fail in one of the ways bodies fail."""
    match kind:
        case "author":
            raise ProcedureError(
                "No index `people`",
                code="kg.no-such-index",
                hint="Create it.",
                details={"index": "people"},
            )
        case "value":
            raise ValueError(secret)
        case "exit":
            raise SystemExit(secret)
        case "str":
            raise _Unprintable(secret)
        case "deep":
            return fail(kind, secret)
        case "name":
            raise type("A\n[SC-999] " + "x" * 5_000, (Exception,), {})(secret)
        case "row":
            return {"value": secret}  # type: ignore[return-value]
        case "column":
            return Text(value=len(secret))  # type: ignore[arg-type]
        case "surrogate":
            return Text(value="\ud800")
    return Text(value="did not fail")


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError(self.args[0])


@procedure("test.failAsync")
async def fail_async(kind: str) -> Text:
    """Fail on the event loop."""
    if kind == "exit":
        raise SystemExit(kind)
    raise ValueError(kind)


@procedure("test.failLate")
def fail_late(after: int) -> Iterator[Number]:
    """Fail in the middle of a stream."""
    for value in range(after):
        yield Number(value=value)
    raise ProcedureError("The stream broke", code="test.broken")


@procedure("test.hang", timeout=60.0)
def hang(seconds: float, mark: str = "") -> Text:
    """Answer only after a while, and never look at the deadline."""
    with running(mark):
        time.sleep(seconds)
    return Text(value="late")


@procedure("test.hangAsync", timeout=60.0)
async def hang_async(seconds: float, mark: str = "") -> Text:
    """Answer only after a while."""
    with running(mark):
        await asyncio.sleep(seconds)
    return Text(value="late")


@procedure("test.brief", timeout=0.3)
def brief(seconds: float) -> Text:
    """Have 0.3 s, take `seconds`."""
    time.sleep(seconds)
    return Text(value="in time")


@procedure("test.briefAsync", timeout=0.3)
async def brief_async(seconds: float) -> Text:
    """Have 0.3 s, take `seconds`."""
    await asyncio.sleep(seconds)
    return Text(value="in time")


@procedure("test.briefSpin", timeout=0.3)
def brief_spin(seconds: float) -> Text:
    """Have 0.3 s, compute for `seconds`, and look at nothing else."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return Text(value="in time")


class Described(Row):
    score: Annotated[float, Description("0..1")]
    name: str


@procedure("test.described")
def described(name: str, limit: int = 10) -> Iterator[Described]:
    """Say `it` */ with "quotes", \\u002a\\u002f and ünïcödé 😀."""
    for rank in range(min(limit, 3)):
        yield Described(score=1 / (rank + 1), name=name)


_closed: list[str] = []


@procedure("test.closing")
def closing(label: str) -> Iterator[Number]:
    """Count for ever; remember when the generator is closed."""
    try:
        with running(label):
            for value in itertools.count():
                yield Number(value=value)
    finally:
        _closed.append(label)


@procedure("test.running")
def running_now() -> list[Text]:
    """Return the marks of the bodies that have begun and not ended."""
    return [Text(value=mark) for mark in _running]


@procedure("test.closed")
def closed() -> list[Text]:
    """Return which generators of `test.closing` were closed."""
    return [Text(value=label) for label in _closed]
