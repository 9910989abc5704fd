"""`sidecypher migrate`: constraints, indexes and triggers, as Cypher files say."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import neo4j
import typer

from sidecypher.cli.lifecycle import bolt_address
from sidecypher.cli.options import AsJson, Config, Home
from sidecypher.cli.output import notes, show_json, show_next, show_table, show_text
from sidecypher.host.settings import load_settings
from sidecypher_schema import (
    CleanRefused,
    Graph,
    Migrated,
    Plan,
    Script,
    Scripts,
    Statement,
    clean,
    connect,
    find_drift,
    make_plan,
    overview,
    own_scripts,
    repair,
    shipped_scripts,
)
from sidecypher_schema import migrate as run_migrations

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
    folder: Folder = None,
    wait: Wait = 0.0,
    as_json: AsJson = False,
) -> None:
    """Apply constraints, indexes and triggers from files.

    Without a verb it applies the migrations that are pending and installs the triggers;
    [migrations.md](migrations.md) tells what that is. Before each statement it prints file, number
    and first line. When all is done, nothing is written. It talks to the embedded Neo4j, or to the
    one that `SIDECYPHER_NEO4J_URI` names; so do its verbs. Their options stand behind the verb.

    ```sh
    sidecypher migrate
    sidecypher migrate --folder my-schema --wait 60
    ```
    """
    if context.invoked_subcommand is not None:
        _refuse_options_before(context)
        return
    scripts = _scripts(folder)
    with _driver(home, config) as driver:
        done = run_migrations(driver, scripts, wait=wait, tell=_tell)
    if as_json:
        show_json(_facts_of_run(done))
    else:
        _show_run(done)
        show_next("sidecypher migrate info", "lists migrations and triggers with their state")


@migrate.command()
def info(
    home: Home = None, config: Config = None, folder: Folder = None, as_json: AsJson = False
) -> None:
    """List migrations and triggers with their state.

    They are applied, pending or changed. Nothing is written.

    ```sh
    sidecypher migrate info
    ```
    """
    with _graph(home, config) as graph:
        rows = [asdict(row) for row in overview(graph, _scripts(folder))]
    if as_json:
        show_json(rows)
    else:
        shown = ("version", "description", "type", "state", "installed_at")
        show_table("Migrations", shown, ([row[column] for column in shown] for row in rows))


@migrate.command("dry-run")
def dry_run(
    home: Home = None,
    config: Config = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Print the statements that a run would execute.

    Nothing is written.

    ```sh
    sidecypher migrate dry-run
    ```
    """
    scripts = _scripts(folder)
    with _graph(home, config) as graph:
        plan = make_plan(graph, scripts)
    if as_json:
        show_json(_facts_of_plan(plan))
    else:
        _show_plan(plan)


@migrate.command()
def validate(
    home: Home = None, config: Config = None, folder: Folder = None, as_json: AsJson = False
) -> None:
    """Show how the graph differs from the files.

    The exit code is 1 when it does. Nothing is written.

    ```sh
    sidecypher migrate validate --json
    ```
    """
    with _graph(home, config) as graph:
        rows = [asdict(each) for each in find_drift(graph, _scripts(folder))]
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
    folder: Folder = None,
    wait: Wait = 0.0,
    as_json: AsJson = False,
) -> None:
    """Adopt changed files without running a script.

    Changed scripts are accepted, and what is missing is made again; see
    [drift](migrations.md#drift).

    ```sh
    sidecypher migrate repair
    ```
    """
    scripts = _scripts(folder)
    with _driver(home, config) as driver:
        facts = asdict(repair(driver, scripts, wait=wait))
    _show_facts(facts, as_json=as_json, nothing="There was nothing to repair.")


@migrate.command("clean")
def clean_command(
    home: Home = None,
    config: Config = None,
    folder: Folder = None,
    wait: Wait = 0.0,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove the migrated schema and its history.

    Removes the chain, and constraints, indexes and triggers that the files have made. Your nodes
    and relationships stay. It asks first; without a terminal only `--yes` removes anything.

    ```sh
    sidecypher migrate clean --yes
    ```
    """
    scripts = _scripts(folder)
    if not yes:
        _ask(scripts)
    with _driver(home, config) as driver:
        facts = asdict(clean(driver, scripts, wait=wait))
    _show_facts(facts, as_json=as_json, nothing="There was nothing to remove.")


def _refuse_options_before(context: typer.Context) -> None:
    """Refuse options that the verb behind them would not see."""
    sources = filter(None, map(context.get_parameter_source, context.params))
    if any(source.name == "COMMANDLINE" for source in sources):
        raise typer.BadParameter(f"Options stand behind the verb `{context.invoked_subcommand}`")


def _scripts(folder: Path | None) -> Scripts:
    """Return the scripts that ship, or those of a folder."""
    return shipped_scripts() if folder is None else own_scripts(folder)


@contextmanager
def _driver(home: Path | None, config: Path | None) -> Iterator[neo4j.Driver]:
    address = bolt_address(load_settings({"home": home}, config=config))
    # What the driver tries again, such as after a deadlock of two runs, concerns nobody.
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    with address.driver() as driver:
        yield driver


@contextmanager
def _graph(home: Path | None, config: Path | None) -> Iterator[Graph]:
    with _driver(home, config) as driver:
        yield connect(driver)


def _ask(scripts: Scripts) -> None:
    """Ask whoever sits before the terminal.

    Raises:
        CleanRefused: Nobody does, or the answer is no.
    """
    if not sys.stdin.isatty():
        raise CleanRefused("There is no terminal to ask in whether schema is to be removed")
    question = f"Remove the schema of the scripts of `{scripts.target}`, and their triggers?"
    if not typer.confirm(question, err=True):
        raise CleanRefused("Nothing was removed", hint="")


def _tell(script: Script, statement: Statement) -> None:
    number = script.statements.index(statement) + 1
    first = statement.text.splitlines()[0]
    line = f"{script.source} {number}/{len(script.statements)}  {first}"
    notes.print(line, markup=False, soft_wrap=True)


def _facts_of_run(done: Migrated) -> dict[str, Any]:
    return {
        "applied": [
            {"version": script.version, "source": script.source, "seconds": round(seconds, 3)}
            for script, seconds in done.applied
        ],
        "triggers": list(done.triggers),
        "left_out": list(done.left_out),
        "why": done.why or None,
    }


def _show_run(done: Migrated) -> None:
    for script, seconds in done.applied:
        show_text(f"applied {script.source} in {seconds:.1f} s")
    for name in done.triggers:
        show_text(f"trigger {name}: as its file says")
    if done.left_out:
        names = ", ".join(done.left_out)
        notes.print(f"warning: {done.why}, so triggers are left out: {names}", markup=False)
    if not (done.applied or done.triggers):
        show_text("There was nothing to do.")


def _facts_of_plan(plan: Plan) -> dict[str, Any]:
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


def _show_plan(plan: Plan) -> None:
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
