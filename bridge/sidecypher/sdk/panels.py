"""`@panel`: a page of the console that a package of procedures contributes."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeVar

from sidecypher.errors import SignatureError
from sidecypher.sdk.backgrounds import SidecarContext, check_async
from sidecypher.sdk.declarations import declare

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")

PanelCell = str | int | float | datetime | None
"""A value in a table of the console; it is shown as text, never as markup."""


@dataclass(frozen=True, slots=True)
class PanelRequest(SidecarContext):
    """A request for a panel.

    Attributes:
        id: The thing whose page is requested; None for the list of all things.
    """

    id: str | None


@dataclass(frozen=True, slots=True)
class PanelAnswer(SidecarContext):
    """The answer of a person to a `PanelQuestion`.

    Attributes:
        id: The thing that the question is about.
        question: Id of the question.
        text: The answer.
    """

    id: str
    question: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelText:
    """A paragraph.

    Attributes:
        tone: `bad` for a problem.
    """

    text: str
    tone: Literal["plain", "bad"] = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelTable:
    """A table.

    Attributes:
        title: Its heading.
        columns: A heading for each column.
        rows: Rows of as many values.
        ids: The id of each row's thing, to whose page its first column links.
        empty: Sentence to show if there are no rows.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[PanelCell]]
    ids: Sequence[str] | None = None
    empty: str = "There are none."


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelMeter:
    """An amount that is left of a limit, as a bar.

    Attributes:
        title: What it is an amount of.
        value: What is left.
        limit: The whole.
        note: More about it, such as when it starts again.
    """

    title: str
    value: float
    limit: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPicture:
    """A picture.

    Attributes:
        title: Its heading.
        svg: The picture, whose `<desc>` is its text for screen readers. Its scripts do not run.
    """

    title: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelQuestion:
    """A question that waits for a person's answer.

    Attributes:
        id: Id of the question.
        about: Id of the thing that the question is about.
        text: The question.
        options: The answers to choose from; any text if it is None.
        note: Where and since when it is asked.
    """

    id: str
    about: str
    text: str
    options: Sequence[str] | None = None
    note: str = ""


PanelBlock = PanelText | PanelTable | PanelMeter | PanelPicture | PanelQuestion
"""A part of a panel."""

PanelFunction = Callable[[PanelRequest], Awaitable[Sequence[PanelBlock]]]
AnswerFunction = Callable[[PanelAnswer], Awaitable[str]]
_Function = TypeVar("_Function", bound=PanelFunction)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One function that returns a page of the console.

    Attributes:
        name: Its name in addresses.
        title: Its heading.
        thing: What an id means, such as `Session`; empty if there are no pages of single things.
        refresh: Seconds after which the page is requested again.
        answer: Processes the answer to a question.
    """

    name: str
    function: PanelFunction
    title: str
    thing: str = ""
    refresh: float = 5.0
    answer: AnswerFunction | None = None
    kind: Literal["panel"] = "panel"


def panel(
    name: str,
    title: str,
    *,
    thing: str = "",
    refresh: float = 5.0,
    answer: AnswerFunction | None = None,
) -> Callable[[_Function], _Function]:
    """Make an async function a page of the console, for people who have the token for HTTP.

    It runs on the event loop, for at most 55 seconds. An error that it raises is shown on the page
    in place of its blocks.

    Args:
        name: Name in the page's address, such as `sessions`.
        title: Heading, also in the console's menu.
        thing: What an id means, such as `Session`. The page then has a field for an id.
        refresh: Seconds after which an open page calls the function again, at least 1.
        answer: Async function that processes answers to questions. It returns a sentence that the
            page shows.

    Raises:
        SignatureError: At import: the name is not valid, or a function is not an async function of
            one argument.

    Example:
        >>> from sidecypher import BoltClient
        >>> @panel("orders", "Orders")
        ... async def orders(request: PanelRequest) -> list[PanelBlock]:
        ...     client = request.resource(BoltClient)
        ...     found = await client.run("MATCH (o:Order) RETURN o.id AS id, o.sum AS sum LIMIT 50")
        ...     rows = [(each["id"], each["sum"]) for each in found]
        ...     return [PanelTable(title="Latest", columns=["Order", "Sum"], rows=rows)]
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SignatureError(
            "`@panel` was given a name that is not valid",
            hint="Write a lower-case letter, then letters, digits and `-`, 40 at most.",
        )

    def decorate(function: _Function) -> _Function:
        check_async(function, f"panel `{name}`", "show(request: PanelRequest) -> list[PanelBlock]")
        if answer is not None:
            check_async(
                answer, f"answer of the panel `{name}`", "answer(given: PanelAnswer) -> str"
            )
        declare(Panel(name, function, title, thing, max(refresh, 1.0), answer))
        return function

    return decorate
