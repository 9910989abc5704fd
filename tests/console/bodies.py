"""Procedures that wait for a test, and one that describes itself as an attack."""

import threading
from collections.abc import Iterator
from fractions import Fraction

from sidecypher import Context, ProcedureError, Row, function, procedure


class State:
    """What the bodies have done, and what they wait for."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()


state = State()


class Text(Row):
    value: str


@procedure("shown.wait", timeout=60.0)
def wait(ctx: Context) -> Text:
    """Wait until it may go on."""
    # As other libraries have numbers.
    ctx.progress(Fraction(3), 7)
    state.begun.set()
    while not state.go.wait(0.01):
        ctx.check()
    return Text(value="gone on")


@procedure("shown.rows")
def rows() -> Iterator[Text]:
    """Yield more rows than a page has."""
    for number in range(100):
        yield Text(value=str(number))


@procedure("shown.fail")
def fail(text: str, code: str = "shown.broken") -> Text:
    """Fail with a text and a code."""
    raise ProcedureError(text, code=code)


@procedure("shown.failOddly")
def fail_oddly() -> Text:
    """Fail with a code that is none: it cannot be sent, and has no bound."""
    raise ProcedureError("no", code="kg.\ud800" + "x" * 10_000)


@procedure("shown.failByNumber")
def fail_by_number() -> Text:
    """Fail with a code that is not text."""
    raise ProcedureError("no", code=5)  # type: ignore[arg-type]


@procedure("shown.old", deprecated_by="shown.rows")
def old() -> None:
    """Do nothing any more."""


@function("shown.twice")
def twice(value: int) -> int:
    """Return twice a number."""
    return 2 * value


@procedure("attack.page")
def attack(name: str) -> Text:
    """</p><script>document.title = 'attacked'</script><img src=x onerror="document.title='x'">."""
    return Text(value=name)
