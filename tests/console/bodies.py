"""Procedures that wait for a test, and one that describes itself as an attack."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from fractions import Fraction

from sidecypher import (
    Context,
    Neo4jUnavailable,
    PanelAnswer,
    PanelBlock,
    PanelMeter,
    PanelPicture,
    PanelQuestion,
    PanelRequest,
    PanelTable,
    PanelText,
    ProcedureError,
    Row,
    function,
    panel,
    procedure,
)


class State:
    """What the bodies have done, and what they wait for."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self.is_away = False
        self.asked: list[str] = ["first", "second"]
        self.answers: list[str] = []


state = State()


HOSTILE = "<img src=x onerror=alert(1)>"
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" width="900" height="40" role="img">
<desc>a &lt;b&gt; picture</desc><script>alert(1)</script><rect width="900" height="40"/></svg>"""


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


async def take(given: PanelAnswer) -> str:
    """Keep an answer, and ask the question no more; refuse the answer `no`."""
    if given.text == "no":
        raise ProcedureError("This is not an answer", code="shown.refused")
    state.answers.append(given.text)
    if given.question in state.asked:
        state.asked.remove(given.question)
    return f"Answered with {given.text}."


@panel("shown", "Shown", thing="Thing", refresh=1.0, answer=take)
async def show(request: PanelRequest) -> list[PanelBlock]:
    """Return a block of each kind, with markup in each text."""
    if state.is_away:
        raise Neo4jUnavailable("Neo4j cannot be reached", retryable=True)
    if request.id is not None:
        return [
            PanelText(text=f"{HOSTILE} {request.id}"),
            PanelPicture(title=HOSTILE, svg=PICTURE),
        ]
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    return [
        *(PanelQuestion(id=each, about="t/1?", text=f"{each} {HOSTILE}") for each in state.asked),
        PanelQuestion(id="choice", about="t/1?", text="Which?", options=["", HOSTILE], note="now"),
        PanelMeter(title=HOSTILE, value=30, limit=60, note=HOSTILE),
        PanelTable(
            title=HOSTILE,
            columns=["Thing", "Number", "When", "Nothing"],
            rows=[(HOSTILE, 1234, at, None), ("t/1?", 5, at, None)],
            ids=[HOSTILE, "t/1?"],
        ),
    ]


@panel("broken", "Broken")
async def broken(request: PanelRequest) -> list[PanelBlock]:
    """Fail as a function with a fault does, or return what no page shows."""
    if request.id == "late":
        raise TimeoutError
    if request.id == "list":
        return [PanelTable(title="Odd", columns=["Odd"], rows=[([1],)])]  # type: ignore[list-item]
    raise RuntimeError(f"a secret of {request.home}")
