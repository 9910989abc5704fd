"""Functions, void procedures and marked procedures that the tests call."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Any

from sidecypher import Context, Node, ProcedureError, Row, function, procedure


@function("fn.twice")
def twice(value: int | None) -> int | None:
    """Double a number; null stays null."""
    return None if value is None else 2 * value


@function("fn.greet")
def greet(name: str, greeting: str = "Hello") -> str:
    """Greet somebody."""
    return f"{greeting} {name}"


@function("fn.caption")
def caption(node: Node | None = None) -> str:
    """Tell what a node is."""
    return "nothing" if node is None else ":".join(sorted(node.labels))


@function("fn.same")
def same(value: Any) -> Any:
    """Return any value."""
    return value


@function("fn.sizes")
def sizes(texts: list[str]) -> list[int]:
    """Return how long each text is."""
    return [len(text) for text in texts]


@function("fn.caller")
async def caller(ctx: Context) -> dict[str, Any]:
    """Return what a function knows of its call, from the event loop."""
    return {
        "user": ctx.user,
        "database": ctx.database,
        "seconds": ctx.deadline.remaining(),
    }


@function("fn.ask")
def ask(ctx: Context, swallow: bool = False) -> int:
    """Try to run a statement, which functions cannot."""
    with contextlib.suppress(Exception) if swallow else contextlib.nullcontext():
        return len(ctx.run("RETURN 1"))
    return -1


@function("fn.wrong")
def wrong(kind: str, secret: str = "") -> int:
    """Fail in one of the ways bodies fail."""
    match kind:
        case "author":
            raise ProcedureError("No such word", code="kg.no-word", hint="Look it up.")
        case "value":
            raise ValueError(secret)
    return secret  # type: ignore[return-value]


@function("fn.slow", timeout=0.3)
def slow(seconds: float) -> float:
    """Have 0.3 s, take `seconds`."""
    time.sleep(seconds)
    return seconds


@function("fn.sleep", timeout=60.0)
async def sleep(seconds: float) -> float:
    """Answer only after a while."""
    await asyncio.sleep(seconds)
    return seconds


@function("fn.oldTwice", deprecated_by="fn.twice")
def old_twice(value: int) -> int:
    """Double a number, as it was done before."""
    return 2 * value


class Score(Row):
    score: int


@procedure("fn.score", batch=True)
def score(word: str) -> Score:
    """Score a word."""
    return Score(score=len(word))


@function("fn.score")
def score_of(word: str) -> int:
    """Score a word, as a function of the same name."""
    return 100 * len(word)


@procedure("fn.note", mode="WRITE")
def note(ctx: Context, text: str) -> None:
    """Write a note; there are no rows."""
    ctx.run("CREATE (:Note {text: $text})", text=text)


@procedure("fn.noteAsync", mode="WRITE")
async def note_async(ctx: Context, text: str) -> None:
    """Write a note from the event loop."""
    await ctx.run("CREATE (:Note {text: $text})", text=text)


@procedure("fn.breed", mode="WRITE", eager=True)
def breed(ctx: Context) -> Iterator[Score]:
    """Write a node that an eager procedure's caller must not meet."""
    ctx.run("CREATE (:Seed)")
    yield Score(score=1)


@procedure("fn.administer", admin=True)
def administer() -> Score:
    """Score nothing, for administrators."""
    return Score(score=0)


@procedure("fn.oldScore", deprecated_by="fn.score")
def old_score(word: str) -> Score:
    """Score a word, as it was done before."""
    return Score(score=len(word))


@procedure("fn.oldNote", mode="WRITE", deprecated_by="")
def old_note(ctx: Context) -> None:
    """Write a note as nobody shall any more."""
    ctx.run("CREATE (:Note)")
