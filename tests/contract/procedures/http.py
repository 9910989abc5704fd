"""Procedures for what only HTTP does."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from sidecypher import Context, ProcedureError, Row, procedure
from sidecypher.errors import CallCancelled


class Text(Row):
    value: str


class Anything(Row):
    value: Any


@procedure("http.nothing")
def nothing(ctx: Context) -> None:
    """Return nothing."""


@procedure("http.named")
def named(
    first_one: str,
    options: dict[str, Any] = {"$date": "a key"},  # noqa: B006 - a default is copied for each call
    day: date = date(2024, 2, 29),
    last: int | None = None,
) -> Anything:
    """Return the arguments."""
    return Anything(value=[first_one, options, day, last])


@procedure("http.fail")
def fail(code: str, retryable: bool) -> Text:
    """Fail as an author does, or stop as a cancelled body does."""
    if code == "SC-207":
        raise CallCancelled("Stopped", retryable=retryable)
    raise ProcedureError("It failed", code=code, retryable=retryable)


@procedure("http.query")
def query(ctx: Context) -> Text:
    """Run a statement."""
    return Text(value=str(ctx.run("RETURN 1 AS one").single()))


@procedure("http.lines")
def lines(rows: int, size: int) -> Iterator[Text]:
    """Yield rows of that many characters."""
    for _ in range(rows):
        yield Text(value="x" * size)


@procedure("http.brief", timeout=0.2)
def short(ctx: Context) -> Text:
    """Have 0.2 s, and use them up."""
    while True:
        ctx.check()
