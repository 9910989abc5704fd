"""`sidecypher migrate`: constraints, indexes and triggers from Cypher files."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import neo4j
import typer

import sidecypher_schema as schema
from sidecypher.cli.options import AsJson, Config, Database, Home
from sidecypher.cli.output import notes, show_json, show_next, show_table, show_text, working
from sidecypher.cli.status import server_address

Folder = Annotated[
    Path | None,
    typer.Option("--folder", help="Apply the scripts of this folder, not the shipped ones."),
]
Wait = Annotated[
    float, typer.Option("--wait", min=0, help="Wait this many seconds for another run to end.")
]

migrate = typer.Typer(
    invoke_without_command=True, add_completion=False, rich_markup_mode="markdown"
)


@migrate.callback()
def _apply(
    context: typer.Context,
    home: Home = None,
    config: Config = None,
    database: Database = None,
    folder: Folder = None,
    wait: Wait = 0.0,
    as_json: AsJson = False,
) -> None:
    """Apply constraints, indexes and triggers from files.

    Without a verb it applies pending [migrations](migrations.md) and installs triggers. Before each
    statement it prints the file, the number and the first line. If nothing is pending, it writes
    nothing. It uses the embedded Neo4j, or the one that `SIDECYPHER_NEO4J_URI` or `NEO4J_URI`
    names; so do its verbs. Put options after the verb.

    ```sh
    sidecypher migrate
    sidecypher migrate --folder my-schema --wait 60
    ```
    """
    if context.invoked_subcommand is not None:
        _refuse_options_before(context)
        return
    scripts = _scripts(folder)
    with _server(home, config, database) as (driver, name):
        done = schema.migrate(
            driver, scripts, database=name, wait=wait, before_each=_print_statement
        )
    if as_json:
        show_json(_facts_of_run(done))
    else:
        _show_run(done)
        show_next("sidecypher migrate info", "lists migrations and triggers with their state")


@migrate.command()
def info(
    home: Home = None,
    config: Config = None,
    database: Database = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """List migrations and triggers with their state.

    The state is applied, pending or changed. Writes nothing.

    ```sh
    sidecypher migrate info
    ```
    """
    with _graph(home, config, database) as graph:
        rows = [asdict(row) for row in schema.overview(graph, _scripts(folder))]
    if as_json:
        show_json(rows)
    else:
        shown = ("version", "description", "type", "state", "installed_at")
        show_table("Migrations", shown, ([row[column] for column in shown] for row in rows))


@migrate.command("dry-run")
def dry_run(
    home: Home = None,
    config: Config = None,
    database: Database = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Print the statements that a run would execute.

    Writes nothing.

    ```sh
    sidecypher migrate dry-run
    ```
    """
    scripts = _scripts(folder)
    with _graph(home, config, database) as graph:
        plan = schema.make_plan(graph, scripts)
    if as_json:
        show_json(_facts_of_plan(plan))
    else:
        _show_plan(plan)


@migrate.command()
def validate(
    home: Home = None,
    config: Config = None,
    database: Database = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show how the graph differs from the files.

    The exit code is 1 if it does. Writes nothing.

    ```sh
    sidecypher migrate validate --json
    ```
    """
    with _graph(home, config, database) as graph:
        rows = [asdict(each) for each in schema.find_drift(graph, _scripts(folder))]
    if as_json:
        show_json(rows)
    elif rows:
        show_table("Drift", list(rows[0]), (row.values() for row in rows))
    else:
        show_text("The graph is what the files say.")
    if rows:
        raise typer.Exit(1)


@migrate.command("repair")
def repair_command(
    home: Home = None,
    config: Config = None,
    database: Database = None,
    folder: Folder = None,
    wait: Wait = 0.0,
    as_json: AsJson = False,
) -> None:
    """Adopt changed files without running a script.

    Accepts changed scripts and creates missing schema again, as [drift](migrations.md#drift)
    explains.

    ```sh
    sidecypher migrate repair
    ```
    """
    scripts = _scripts(folder)
    with _server(home, config, database) as (driver, name):
        facts = asdict(schema.repair(driver, scripts, database=name, wait=wait))
    _show_facts(facts, as_json=as_json, nothing="There was nothing to repair.")


@migrate.command("clean")
def clean_command(
    home: Home = None,
    config: Config = None,
    database: Database = None,
    folder: Folder = None,
    wait: Wait = 0.0,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the migrated schema and its history.

    Removes the history, and the constraints, indexes and triggers that the files created. Your
    nodes and relationships stay. It asks first; without a terminal it needs `--yes`.

    ```sh
    sidecypher migrate clean --yes
    ```
    """
    scripts = _scripts(folder)
    if not yes:
        _confirm(scripts)
    with _server(home, config, database) as (driver, name):
        facts = asdict(schema.clean(driver, scripts, database=name, wait=wait))
    _show_facts(facts, as_json=as_json, nothing="There was nothing to remove.")


def _refuse_options_before(context: typer.Context) -> None:
    """Refuse options before the verb, which the verb would not see."""
    sources = filter(None, map(context.get_parameter_source, context.params))
    if any(source.name == "COMMANDLINE" for source in sources):
        raise typer.BadParameter(f"Put options after the verb `{context.invoked_subcommand}`")


def _scripts(folder: Path | None) -> schema.Scripts:
    """Return the shipped scripts, or those of a folder."""
    return schema.shipped_scripts() if folder is None else schema.own_scripts(folder)


@contextmanager
def _server(
    home: Path | None, config: Path | None, database: str | None
) -> Iterator[tuple[neo4j.Driver, str | None]]:
    """Open the server that commands use; yield its driver and the name of the database."""
    address = server_address(home, config, database)
    # Silence the driver's log of retries, for example after deadlocks.
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    with address.driver() as driver, working("Working on the schema"):
        yield driver, address.database


@contextmanager
def _graph(home: Path | None, config: Path | None, database: str | None) -> Iterator[schema.Graph]:
    with _server(home, config, database) as (driver, name):
        yield schema.connect(driver, name)


def _confirm(scripts: schema.Scripts) -> None:
    """Ask for confirmation; raise `CleanRefused` without a terminal or after a "no"."""
    if not sys.stdin.isatty():
        raise schema.CleanRefused("Cannot ask for confirmation: there is no terminal")
    question = f"Remove the schema of the scripts of `{scripts.target}`, and their triggers?"
    if not typer.confirm(question, err=True):
        raise schema.CleanRefused("Nothing was removed", hint="")


def _print_statement(script: schema.Script, statement: schema.Statement) -> None:
    number = script.statements.index(statement) + 1
    first = statement.text.splitlines()[0]
    line = f"{script.source} {number}/{len(script.statements)}  {first}"
    notes.print(line, markup=False, soft_wrap=True)


def _facts_of_run(done: schema.Migrated) -> dict[str, Any]:
    return {
        "applied": [
            {"version": script.version, "source": script.source, "seconds": round(seconds, 3)}
            for script, seconds in done.applied
        ],
        "triggers": list(done.triggers),
        "left_out": list(done.left_out),
        "why": done.why or None,
    }


def _show_run(done: schema.Migrated) -> None:
    for script, seconds in done.applied:
        show_text(f"applied {script.source} in {seconds:.1f} s")
    for name in done.triggers:
        show_text(f"trigger {name}: as its file says")
    if done.left_out:
        names = ", ".join(done.left_out)
        notes.print(f"warning: {done.why}, so triggers are left out: {names}", markup=False)
    if not (done.applied or done.triggers):
        show_text("There was nothing to do.")


def _facts_of_plan(plan: schema.Plan) -> dict[str, Any]:
    return {
        "scripts": [
            {
                "version": script.version,
                "source": script.source,
                "statements": [
                    {"line": each.line, "database": each.database, "text": each.text}
                    for each in script.statements
                ],
            }
            for script in plan.scripts
        ],
        "install": [trigger.name for trigger in plan.triggers.install],
        "start": list(plan.triggers.start),
        "drop": list(plan.triggers.drop),
    }


def _show_plan(plan: schema.Plan) -> None:
    for script in plan.scripts:
        for each in script.statements:
            where = f", database {each.database}" if each.database else ""
            show_text(f"// {script.source}, line {each.line}{where}")
            show_text(f"{each.text};")
    for verb, names in (
        ("install the trigger", [trigger.name for trigger in plan.triggers.install]),
        ("start the trigger", plan.triggers.start),
        ("drop the trigger", plan.triggers.drop),
    ):
        for name in names:
            show_text(f"// {verb} {name}")
    if plan.is_empty:
        show_text("There is nothing to do.")


def _show_facts(facts: dict[str, Sequence[str]], *, as_json: bool, nothing: str) -> None:
    if as_json:
        show_json(facts)
        return
    for what, names in facts.items():
        for name in names:
            show_text(f"{what}: {name}")
    if not any(facts.values()):
        show_text(nothing)
