"""The command `sidecypher session`."""

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from sidecypher.cli.packages import AsJson, Config, Database, Home, show_json, show_table
from sidecypher_procedures.command_options import Svg
from sidecypher_procedures.session.errors import InvalidWorkflow, UnknownSession
from sidecypher_procedures.session.people.connection import Graph
from sidecypher_procedures.session.people.conversation import Conversation
from sidecypher_procedures.session.people.terminal import answer_hint, say

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode="markdown")

File = Annotated[Path, typer.Argument(help="Read the workflow from this JSON file.")]
Workflow = Annotated[
    str | None,
    typer.Argument(help="Run this workflow. Leave out for steps without one."),
]
Input = Annotated[
    str | None, typer.Option("--input", help="Pass this JSON object to the session as input.")
]
_PROGRESS: Final = """
    MATCH (s:SESSION {id: $id})
    RETURN s.id AS sessionId, s.status AS status, [
        step IN s.next_steps
        WHERE NOT EXISTS { (s)-[:AWAITS]->(r:InputRequest) WHERE r.stepId = step }
    ] AS pending
"""
_FINDING: Final = ("severity", "line", "step", "where", "message")


@app.callback()
def _session() -> None:
    """Run workflows that the graph defines."""


@app.command()
def define(
    file: File,
    workflow: Annotated[
        str | None, typer.Option("--workflow", help="Use this name, not the one in the file.")
    ] = None,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Write a workflow from a JSON file to the graph.

    The file holds one JSON object: `workflow`, `steps`, and if needed `next` and `entry`, as
    [`session.define`](session-procedures.md#sessiondefine) reads them. If something is wrong
    with the file, the error names the line and the column, and nothing is written. Running sessions
    stay on the version that they started with.

    ```sh
    sidecypher session define triage.json
    ```
    """
    from sidecypher_procedures.session.people.files import read_workflow_file  # noqa: PLC0415

    found = read_workflow_file(file)
    name = workflow or found.name
    if name is None:
        raise InvalidWorkflow(
            f"`{file.name}` does not name its workflow", hint="Add `workflow`, or use `--workflow`."
        )
    graph = Graph(home, config, database)
    [row] = graph.run("CALL session.define($workflow, $spec)", workflow=name, spec=found.spec)
    say(f"{row['workflow']} version {row['version']}, steps: {row['steps']}")
    if row["findings"]:
        columns = ("severity", "stepId", "where", "message")
        findings = ([each[name] for name in columns] for each in row["findings"])
        show_table("", ["severity", "step", "where", "message"], findings)


@app.command()
def start(
    workflow: Workflow = None,
    *,
    session_id: Annotated[
        str | None, typer.Option("--id", help="Use this id for the session.")
    ] = None,
    given: Input = None,
    run: Annotated[
        bool, typer.Option("--run/--no-run", help="Run steps now. Otherwise a worker does.")
    ] = True,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Start a session of a workflow.

    Prints the id of the session, its status, and the steps that are left to a worker or to
    `session.run`. If the session asks for input, prints the open requests and how to answer.

    ```sh
    sidecypher session start triage --id t1 --input '{"text": "It fails"}'
    ```
    """
    graph = Graph(home, config, database)
    row = _started(graph, workflow, {"id": session_id, "input": _json_object(given), "run": run})
    _show_progress(graph, row)


@app.command()
def show(
    session: Annotated[str, typer.Argument(help="Draw the session with this id.")],
    svg: Svg = None,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Draw the workflow of a session and the way taken.

    Lists the steps of the workflow. The first is the one that the session began with, and the
    others follow by their distance from it. Each line shows how often the step has run, and
    whether it is next, awaits input or has failed. Below it are its edges with their conditions.
    An edge that the session has followed is drawn thick, with how often it was. In a terminal,
    lines are cut at its width. The SVG file has the same words as its description.

    ```sh
    sidecypher session show t1
    sidecypher session show t1 --svg t1.svg
    ```
    """
    from sidecypher_procedures.session.people.charts import CHART, read_chart  # noqa: PLC0415
    from sidecypher_procedures.session.people.drawing import draw_svg, print_chart  # noqa: PLC0415

    found = Graph(home, config, database).run(CHART, id=session)
    if not found:
        raise UnknownSession(f"There is no session `{session}`")
    chart = read_chart(found[0])
    if svg is not None:
        svg.write(draw_svg(chart))
    print_chart(Console(), chart)


@app.command()
def chat(
    workflow: Workflow = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Use this session, and start none.")
    ] = None,
    given: Input = None,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Run a session as a conversation in the terminal.

    Prints each reply and asks each request, until the session ends. If a request has options,
    type an option or its number. An answer is sent as text; if the request does not accept text,
    it is read as JSON. Steps that run outside of a transaction run here, too, so no worker is
    needed. Ctrl-C leaves the session as it is and prints how to go on. Exit code 1 means that the
    session failed, was cancelled, or that the terminal closed its input.

    ```sh
    sidecypher session chat triage
    sidecypher session chat --session t1
    ```
    """
    if session is not None and (workflow is not None or given is not None):
        raise typer.BadParameter("Give `--session` alone, or a workflow")
    graph = Graph(home, config, database)
    if session is None:
        row = _started(graph, workflow, {"input": _json_object(given), "run": False})
        session = str(row["sessionId"])
    raise typer.Exit(Conversation(graph, session).run())


@app.command()
def inbox(
    *,
    workflow: Annotated[
        str | None, typer.Option("--workflow", help="List requests of this workflow only.")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """List the open requests of sessions.

    Lists at most 1000 requests, oldest first.

    ```sh
    sidecypher session inbox
    sidecypher session inbox --workflow triage --json
    ```
    """
    options = _given({"workflow": workflow, "limit": 1000})
    rows = Graph(home, config, database).run("CALL session.awaiting($options)", options=options)
    if as_json:
        show_json(rows)
    elif not rows:
        say("No open requests.", err=True)
    else:
        columns = ("sessionId", "requestId", "stepId", "since", "statement", "options")
        shown = ([_cell(row[name]) for name in columns] for row in rows)
        show_table("", ["session", "request", "step", "since", "statement", "options"], shown)
        say("Answer: sidecypher session answer SESSION VALUE --request REQUEST", err=True)


@app.command()
def answer(
    session: Annotated[str, typer.Argument(help="Use the session with this id.")],
    value: Annotated[str, typer.Argument(help="Pass this answer.")],
    request: Annotated[
        str | None, typer.Option("--request", help="Choose one of several open requests.")
    ] = None,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Answer an open request of a session.

    The answer is sent as text. If the request does not accept text, it is read as JSON. Prints the
    same as `sidecypher session start`.

    ```sh
    sidecypher session answer t1 billing
    ```
    """
    graph = Graph(home, config, database)
    Conversation(graph, session).answer(value, request)
    [row] = graph.run(_PROGRESS, id=session)
    _show_progress(graph, row)


@app.command()
def validate(
    workflow: Annotated[
        str | None, typer.Argument(help="Read this JSON file or this workflow.")
    ] = None,
    *,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    database: Database = None,
) -> None:
    """Check a workflow file, or a workflow of the graph.

    A path that exists or ends in `.json` is a file; Neo4j does not have to run for it. Anything
    else is the name of a workflow in the graph. Without a name, the steps without a workflow are
    checked. In a file, functions that sidecypher does not ship are warnings. Exit code 1 means
    that there is an error.

    ```sh
    sidecypher session validate triage.json
    sidecypher session validate triage --json
    ```
    """
    path = None if workflow is None else Path(workflow)
    if path is not None and (path.is_file() or path.suffix == ".json"):
        rows = _file_findings(path)
    else:
        found = Graph(home, config, database).run(
            "CALL session.validate($workflow)", workflow=workflow
        )
        rows = [
            {name: row.get("stepId" if name == "step" else name) for name in _FINDING}
            for row in found
        ]
    if as_json:
        show_json(rows)
    elif not rows:
        say("Nothing was found.", err=True)
    else:
        show_table("", _FINDING, ([_cell(value) for value in row.values()] for row in rows))
    if any(row["severity"] == "error" for row in rows):
        raise typer.Exit(1)


def _file_findings(path: Path) -> list[dict[str, Any]]:
    from sidecypher_procedures.session.people.files import read_workflow_file  # noqa: PLC0415

    found = read_workflow_file(path)
    return [
        {
            "severity": each.severity,
            "line": line,
            "step": each.step_id or None,
            "where": each.where,
            "message": each.message,
        }
        for line, each in found.findings()
    ]


def _cell(value: object) -> object:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else value


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _json_object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"`--input` is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter("`--input` is not a JSON object")
    return value


def _started(graph: Graph, workflow: str | None, options: dict[str, Any]) -> dict[str, Any]:
    [row] = graph.run(
        "CALL session.start($workflow, $options)", workflow=workflow, options=_given(options)
    )
    return row


def _show_progress(graph: Graph, row: dict[str, Any]) -> None:
    """Print how far a session has come, and its open requests."""
    say(f"session  {row['sessionId']}")
    say(f"status   {row['status']}")
    if row["pending"]:
        say(f"pending  {', '.join(row['pending'])}")
    requests = graph.run("CALL session.awaiting({sessionId: $id})", id=row["sessionId"])
    for each in requests:
        say(f"request  {each['statement']}")
        if each["options"]:
            say(f"options  {', '.join(each['options'])}")
        say(f"answer   {answer_hint(each, is_only=len(requests) == 1)}")
