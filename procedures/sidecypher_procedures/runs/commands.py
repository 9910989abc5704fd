"""The command `sidecypher runs`."""

from functools import partial
from typing import Annotated

import typer
from rich.console import Console

from sidecypher.cli.packages import Config, Database, Home, run_cypher
from sidecypher_procedures.command_options import Svg
from sidecypher_procedures.runs.drawing import draw_svg, print_timeline, read_timeline
from sidecypher_procedures.runs.errors import UnknownRun

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")


@app.callback()
def _runs() -> None:
    """Show runs of workflows."""


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="Draw the run with this id.")],
    svg: Svg = None,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Draw the events of a run with its branches as lanes.

    Lists events from first to last, with branches as lanes, as in the
    [example](runs.md#see-what-an-agent-did). Each line shows the event's number, the time since the
    first event, its type, tool and state. If an event does not follow the one before it, the
    line names those it follows. Brackets show the time since them. In a terminal, lines are cut at
    its width and lanes without room share one; a file has whole lines. Terminals without `│` and
    `●` get `|` and `*`. The SVG file has the same words as its description. Uses the embedded
    Neo4j, or the one that `SIDECYPHER_NEO4J_URI` or `NEO4J_URI` names.

    ```sh
    sidecypher runs show triage-7
    sidecypher runs show triage-7 --svg triage-7.svg
    ```
    """
    query = partial(run_cypher, database=database, home=home, config=config)
    found = query("CALL runs.get($run)", {"run": run})
    if not found:
        raise UnknownRun(f"There is no run `{run}`")
    timeline = read_timeline(found[0]["run"], query("CALL runs.timeline($run)", {"run": run}))
    if svg is not None:
        svg.write(draw_svg(timeline))
    print_timeline(Console(), timeline)
