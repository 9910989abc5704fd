"""`sidecypher demo`: the main use case, end to end, on the embedded Neo4j."""

import os
import re
import sys
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Any, Final

import neo4j
import typer
from neo4j.exceptions import Neo4jError

from sidecypher.cli.demo.source import Source, choose_source, live_source
from sidecypher.cli.options import Config, Home, Lane
from sidecypher.cli.output import notes, show_table, show_text, working
from sidecypher.cli.status import read_status
from sidecypher.cli.up import bring_up
from sidecypher.errors import CallError
from sidecypher.host.address import USER, embedded_address, read_ports
from sidecypher.host.settings import load_own_settings
from sidecypher.runtime.errors import AlreadyRunning
from sidecypher.runtime.process.state import read_state
from sidecypher.runtime.process.stop import stop
from sidecypher_schema import migrate, split

_FULL_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def demo(
    home: Home = None,
    config: Config = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running.")] = False,
    lane: Lane = None,
    repo: Annotated[
        str | None, typer.Option("--repo", help="Show this repository of GitHub, OWNER/NAME.")
    ] = None,
) -> None:
    """Run queries on a sample graph and GitHub data.

    Starts Neo4j and the sidecar, merges a repository, an issue and a pull request into a graph, and
    runs three queries with data from GitHub. Then it stops everything in the home. With `--keep` it
    leaves the home running and applies the migrations. `make demo` uses its own home, `.demo` in
    the clone, unless `SIDECYPHER_HOME` is set. `make demo KEEP=1` adds `--keep`.

    If the GitHub API answers within 3 seconds and has calls left, the demo uses it. Otherwise a
    process next to the sidecar serves invented samples in the shape of GitHub's answers. One line
    says which of the two it uses.

    With `--repo OWNER/NAME` it merges that repository and up to 100 of its issues, and shows live
    data of both. GitHub must answer. `SIDECYPHER_GITHUB_TOKEN` is optional for a public repository.

    ```sh
    sidecypher demo --home /tmp/demo --keep
    sidecypher demo --repo octocat/Hello-World
    ```
    """
    if repo is not None and not _FULL_NAME.fullmatch(repo):
        raise typer.BadParameter("Give `--repo` as OWNER/NAME, such as octocat/Hello-World")
    flags = {"home": home, "lane": lane}
    settings = load_own_settings(flags, config)
    running = read_state(settings.home)
    if running is not None and running.alive:
        raise _home_in_use()
    source = choose_source() if repo is None else live_source(repo)
    script = "" if repo is None else "repository-"
    notes.print(source.notice)
    started = False
    try:
        # No check in a temporary Neo4j: this start tests the plugin as well.
        environ = {**os.environ, **source.environ}
        options = source.options if keep else (*source.options, "--short-lived")
        started = bring_up(settings, check=False, environ=environ, options=options)
        if not started:
            raise _home_in_use()
        # The sample graph must not reach another Neo4j that `neo4j_uri` names.
        embedded = embedded_address(settings.home, read_ports(settings.home / "ports.json"))
        with embedded.driver() as driver, driver.session() as session:
            with working("Writing the sample graph"):
                if keep:
                    # A graph that is deleted in seconds needs no constraints, which cost time.
                    migrate(driver)
                for statement in _statements(f"{script}graph.cypher"):
                    _run(session, statement, source)
            for query in _statements(f"{script}queries.cypher"):
                columns, rows = _run(session, query, source)
                show_table(query, columns, rows)
        show_text(f"Neo4j Browser: {read_status(settings)['browser']}")
    finally:
        if started and not keep:
            with working("Stopping Neo4j and the sidecar"):
                stop(settings.home)
    if keep:
        password_file = settings.home / "neo4j-password"
        show_text(f"Log in as {USER}; the password is in {password_file}")
        show_text(f"Stop it with: {sys.argv[0]} down --home {settings.home}")
    else:
        show_text("Everything is stopped again; `--keep` leaves it running (`make demo KEEP=1`).")


def _run(
    session: neo4j.Session, statement: str, source: Source
) -> tuple[Sequence[str], list[list[Any]]]:
    """Return the columns and the rows of a statement.

    Raises:
        CallError: It failed, for example because the repository does not exist.
    """
    try:
        found = session.run(statement, source.parameters)
        return found.keys(), [record.values() for record in found]
    except Neo4jError as error:
        raise CallError(
            f"The demo ended early: {error.message}", code=error.code or "SC-500"
        ) from None


def _home_in_use() -> AlreadyRunning:
    return AlreadyRunning(
        "The demo needs a home where nothing is running",
        hint="Name another one with `--home`, or run `sidecypher down` on this one.",
    )


def _statements(name: str) -> list[str]:
    script = split((files(__package__) / name).read_text(encoding="utf-8"), name)
    return [statement.text for statement in script.statements]
