"""`sidecypher migrate`: constraints, indexes and triggers, as the files say."""

import neo4j
import typer

from sidecypher.cli.lifecycle import bolt_address
from sidecypher.cli.options import Config, Home
from sidecypher.cli.output import notes
from sidecypher.settings import load_settings
from sidecypher_schema import migrate as apply

migrate = typer.Typer(help="Constraints, indexes and triggers.", invoke_without_command=True)


@migrate.callback()
def _apply(home: Home = None, config: Config = None) -> None:
    """Apply the scripts that are pending."""
    uri, auth = bolt_address(load_settings({"home": home}, config=config))
    with neo4j.GraphDatabase.driver(uri, auth=auth) as driver:
        for script in apply(driver):
            notes.print(f"applied {script.source}", markup=False)
