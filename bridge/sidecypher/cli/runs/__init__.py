"""`sidecypher runs show`."""

from typing import Annotated

import typer

from sidecypher.cli.calling import call_procedure, connected
from sidecypher.cli.options import Config, Home
from sidecypher.cli.output import results
from sidecypher.cli.runs.svg import draw_svg
from sidecypher.cli.runs.terminal import print_timeline
from sidecypher.cli.runs.timeline import read_row, read_timeline
from sidecypher.settings import load_settings

runs = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")


@runs.callback()
def _group() -> None:
    """Runs of workflows."""


@runs.command()
def show(
    run: Annotated[str, typer.Argument(help="Id of the run.")],
    svg: Annotated[
        typer.FileTextWrite | None,
        typer.Option(
            "--svg",
            help="File for a picture of it, for light and dark pages.",
            encoding="utf-8",
            lazy=True,
        ),
    ] = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """Draw the events of a run, branches beside each other.

    They come from the first to the last, with branches as lanes; see the
    [example](runs.md#runstimeline). Each event is told in words as well: its place in the run, the
    time since the first event, type, tool and state, the places of what it follows unless that is
    the event before it, and in brackets the time since these. In a terminal the lines are cut at
    its width, and lanes that have no room are drawn as one; in a file they are whole. A terminal
    that has no `│` and `●` gets `|` and `*`. The description in the picture has the same words. It
    talks to the embedded Neo4j, or to the one that `SIDECYPHER_NEO4J_URI` names.

    ```sh
    sidecypher runs show triage-7
    sidecypher runs show triage-7 --svg triage-7.svg
    ```
    """
    with connected(load_settings({"home": home}, config=config)) as driver:
        [found] = call_procedure(driver, "runs.get", [run]).records
        rows = [
            read_row(record) for record in call_procedure(driver, "runs.timeline", [run]).records
        ]
    timeline = read_timeline(found["run"], rows)
    if svg is not None:
        svg.write(draw_svg(timeline))
    print_timeline(results, timeline)
