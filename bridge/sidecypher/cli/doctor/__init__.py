"""`sidecypher doctor`: look at all that must hold, and change nothing."""

import os
import sys

import typer

from sidecypher.cli.doctor.checking import examine
from sidecypher.cli.doctor.checks import CHECKS
from sidecypher.cli.doctor.report import as_json as facts_of
from sidecypher.cli.doctor.report import is_well, show
from sidecypher.cli.doctor.subject import Subject
from sidecypher.cli.options import AsJson, Config, Home, Lane, Procedures
from sidecypher.cli.output import results_alone, show_json
from sidecypher.telemetry import configure_logging


def doctor(
    home: Home = None,
    procedures: Procedures = None,
    config: Config = None,
    lane: Lane = None,
    as_json: AsJson = False,
) -> None:
    """Look at everything that must hold, and tell the way out.

    The exit code is 1 if there is an error. Nothing is changed. [doctor.md](doctor.md) has every
    check.

    ```sh
    sidecypher doctor
    sidecypher doctor --home /tmp/second --json
    ```
    """
    # To load a module of procedures leaves nothing beside it.
    sys.dont_write_bytecode = True
    # What fails is told by the checks, and not a second time by the log.
    configure_logging("ERROR", "console")
    flags = {"home": home, "procedures": procedures, "lane": lane}
    with Subject(flags, os.environ, config) as subject:
        found = examine(CHECKS, subject)
        if as_json:
            with results_alone():
                told = list(found)
            show_json(facts_of(told))
        else:
            told = show(found)
    if not is_well(told):
        raise typer.Exit(1)
