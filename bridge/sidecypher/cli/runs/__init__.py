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
        typer.Option("--svg", help="File for a picture of it.", encoding="utf-8", lazy=True),
    ] = None,
    home: Home = None,
    config: Config = None,
) -> None:
    """Draw the events of a run, branches beside each other."""
    with connected(load_settings({"home": home}, config=config)) as driver:
        [found] = call_procedure(driver, "runs.get", [run]).records
        rows = [
            read_row(record) for record in call_procedure(driver, "runs.timeline", [run]).records
        ]
    timeline = read_timeline(found["run"], rows)
    if svg is not None:
        svg.write(draw_svg(timeline))
    print_timeline(results, timeline)
