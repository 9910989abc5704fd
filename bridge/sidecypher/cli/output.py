"""Output of the commands: results to standard output, everything else to standard error."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, Final, TypeAlias

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from sidecypher.errors import SidecypherError
from sidecypher.host.terminal import visible
from sidecypher.runtime.download import Progress as OnBytes


class _Console(Console):
    """Console that removes control characters from text of graphs, logs and GitHub."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else visible(text), style, control)


results: Final = _Console()
notes: Final = _Console(stderr=True, highlight=False)


@contextmanager
def results_alone() -> Iterator[None]:
    """Redirect standard output to standard error during the block, also for child processes.

    A module may print when it is imported, and standard output is for the results of a command.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def show_json(value: object) -> None:
    """Print one JSON document; values that JSON lacks are printed as strings."""
    # Python writes NaN and infinities as if JSON had them.
    plain = json.loads(json.dumps(value, default=str), parse_constant=str)
    sys.stdout.write(json.dumps(plain, indent=2) + "\n")


def show_text(line: str) -> None:
    """Print a line unchanged: without markup, highlighting or line breaks."""
    results.print(line, markup=False, highlight=False, soft_wrap=True)


def show_facts(facts: Mapping[str, object]) -> None:
    """Print one name and value per line."""
    for name, value in facts.items():
        show_text(f"{name:14} {value}")


def show_next(command: str, why: str) -> None:
    """Print the command that most people need next; to standard error, as it is not a result."""
    notes.print(Text.assemble(("next: ", "bold"), f"{command}  # {why}"), soft_wrap=True)


def show_table(title: str, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """Print rows as a table; markup in values is printed as text."""
    table = Table(title=Text(title, style="bold") if title else None, title_justify="left")
    for column in columns:
        table.add_column(Text(column), overflow="fold")
    for row in rows:
        table.add_row(*(Text(_shown(value)) for value in row))
    results.print(table)


def _shown(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return json.dumps(value, default=str, ensure_ascii=False)
    return str(value)


def show_error(error: SidecypherError) -> None:
    """Print an error as *error / cause / hint*."""
    lines = [("error", f"{error.message} [{error.code}]")]
    tail = next(filter(None, map(error.details.get, ("log_tail", "compiler", "unfit"))), None)
    if tail:
        lines.append(("cause", "\n       ".join(tail if isinstance(tail, list) else [tail])))
    # The driver's text has Neo4j's message, which the error itself has already.
    elif error.__cause__ is not None and error.message not in str(error.__cause__):
        lines.append(("cause", f"{type(error.__cause__).__name__}: {error.__cause__}"))
    if error.hint:
        lines.append(("hint", error.hint))
    for label, text in lines:
        notes.print(Text(f"{label}: ", style="bold red" if label == "error" else "bold"), end="")
        notes.print(Text(text), soft_wrap=True)


OnPhase: TypeAlias = Callable[[str, int, int], None]
"""Gets a phase, how much of it is done, and how much there is; 0 if not known."""


def _is_watched() -> bool:
    """Return whether something may move: on a terminal with colours, and not next to JSON."""
    consoles = (notes, results)
    return all(each.is_interactive and not each.no_color for each in consoles) and (
        "--json" not in sys.argv
    )


def _described() -> TextColumn:
    # A description is text: `a[/]` is not markup, and `{a}` is not a field.
    return TextColumn("{task.description}", markup=False)


@contextmanager
def working(title: str, *, kept: bool = False) -> Iterator[None]:
    """Show what is done, and for how long already, while the block runs.

    Args:
        title: What is done, such as "Starting Neo4j".
        kept: Whether the line stays. Where nothing may move, such a line is printed as it is, and
            any other one is not.
    """
    if not _is_watched():
        if kept:
            notes.print(title, markup=False)
        yield
        return
    columns = (SpinnerColumn(), _described(), TimeElapsedColumn())
    # Results that the block prints go to standard output as always.
    with Progress(*columns, console=notes, transient=not kept, redirect_stdout=False) as progress:
        task = progress.add_task(title, total=None)
        yield
        progress.update(task, total=1, completed=1)


@contextmanager
def phase_bars() -> Iterator[OnPhase]:
    """Draw a bar for each phase of long work; draw nothing where nothing may move."""
    columns = (_described(), BarColumn(), TimeElapsedColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=notes, disable=not _is_watched()) as progress:

        def on_progress(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                # A phase without numbers ends when the next one begins.
                for task in progress.tasks:
                    if task.total is None:
                        progress.update(task.id, total=1, completed=1)
                tasks[phase] = progress.add_task(phase, total=None)
            progress.update(tasks[phase], completed=done, total=total or None)

        yield on_progress


@contextmanager
def download_bar(title: str) -> Iterator[OnBytes]:
    """Draw a bar once bytes arrive; where nothing may move, print its title then."""
    columns = (_described(), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    progress = Progress(*columns, console=notes, disable=not _is_watched())
    task = None

    def on_bytes(done: int, total: int) -> None:
        nonlocal task
        if task is None:
            if progress.disable:
                notes.print(title, markup=False)
            progress.start()
            task = progress.add_task(title, total=total)
        progress.update(task, completed=done, total=total)

    try:
        yield on_bytes
    finally:
        # `stop` prints a newline even if nothing was drawn.
        if task is not None:
            progress.stop()
