"""`sidecypher demo`: the main use case, end to end, on the embedded Neo4j."""

import os
import sys
from importlib.resources import files
from typing import Annotated

import typer

from sidecypher.cli.demo.source import choose_source
from sidecypher.cli.options import Config, Home, Lane
from sidecypher.cli.output import notes, show_table, show_text, working
from sidecypher.cli.status import read_status, server_address
from sidecypher.cli.up import bring_up
from sidecypher.host.address import USER
from sidecypher.host.settings import load_settings, without_neo4j_variables
from sidecypher.runtime.errors import AlreadyRunning
from sidecypher.runtime.process.state import read_state
from sidecypher.runtime.process.stop import stop
from sidecypher_schema import migrate, split


def demo(
    home: Home = None,
    config: Config = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running.")] = False,
    lane: Lane = None,
) -> None:
    """Run queries on a sample graph and GitHub data.

    Starts Neo4j and the sidecar, merges a repository, an issue and a pull request into a graph, and
    runs three queries with data from GitHub. Then it stops everything in the home. With `--keep` it
    leaves the home running and applies the migrations. `make demo` uses its own home, `.demo` in
    the clone, unless `SIDECYPHER_HOME` is set. `make demo KEEP=1` adds `--keep`.

    If the GitHub API answers within 3 seconds and has calls left, the demo uses it. Otherwise a
    process next to the sidecar serves invented samples in the shape of GitHub's answers. One line
    says which of the two it uses.

    ```sh
    sidecypher demo --home /tmp/demo --keep
    ```
    """
    flags = {"home": home, "lane": lane}
    settings = load_settings(flags, without_neo4j_variables(os.environ), config)
    running = read_state(settings.home)
    if running is not None and running.alive:
        raise _home_in_use()
    source = choose_source()
    notes.print(source.notice)
    started = False
    try:
        # No check in a temporary Neo4j: this start tests the plugin as well.
        environ = {**os.environ, **source.environ}
        options = source.options if keep else (*source.options, "--short-lived")
        started = bring_up(settings, check=False, environ=environ, options=options)
        if not started:
            raise _home_in_use()
        with server_address(settings).driver() as driver, driver.session() as session:
            with working("Writing the sample graph"):
                if keep:
                    # A graph that is deleted in seconds needs no constraints, which cost time.
                    migrate(driver)
                for statement in _statements("graph.cypher"):
                    session.run(statement, source.parameters).consume()
            for query in _statements("queries.cypher"):
                found = session.run(query, source.parameters)
                show_table(query, found.keys(), [record.values() for record in found])
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


def _home_in_use() -> AlreadyRunning:
    return AlreadyRunning(
        "The demo needs a home where nothing is running",
        hint="Name another one with `--home`, or run `sidecypher down` on this one.",
    )


def _statements(name: str) -> list[str]:
    script = split((files(__package__) / name).read_text(encoding="utf-8"), name)
    return [statement.text for statement in script.statements]
