"""`sidecypher test`."""

import importlib.util
import subprocess
import sys
from typing import Annotated, Final

import typer

from sidecypher.cli.errors import NoPytest
from sidecypher.cli.output import notes, show_next

_FAILED: Final = 1
_NOTHING_FOUND: Final = 5
"""Exit codes of pytest."""


def test(
    arguments: Annotated[
        list[str] | None, typer.Argument(help="What pytest is given; options behind `--`.")
    ] = None,  # noqa: PT028 - a command, no test
) -> None:
    """Run the tests of this project by pytest.

    The [fixtures for procedures](testing.md#in-pytest) are there by themselves. The exit code is 0
    when all tests pass, 1 when one fails or none is found, 2 when pytest does not understand its
    arguments, and 130 when it was interrupted.

    ```sh
    sidecypher test
    sidecypher test tests/test_greeting.py
    sidecypher test -- --sidecypher-on memory,neo4j
    ```
    """
    if importlib.util.find_spec("pytest") is None:
        raise NoPytest("pytest is not installed, and `sidecypher test` runs the tests by it")
    # A process of its own: pytest wants to see modules imported for the first time.
    command = [sys.executable, "-m", "pytest", *(arguments or ())]
    ended = subprocess.run(command, check=False).returncode
    if ended == _NOTHING_FOUND:
        notes.print("hint: Tests are files `test_*.py`; `sidecypher init` writes the first one.")
    elif ended == 0:
        show_next("sidecypher plugin build", "makes the jar for another Neo4j")
    elif ended == _FAILED:
        show_next("sidecypher test -- --last-failed", "runs again what failed")
    raise typer.Exit({0: 0, 2: 130, 3: 1, 4: 2}.get(ended, 1))
