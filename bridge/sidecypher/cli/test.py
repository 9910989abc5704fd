"""`sidecypher test`."""

import importlib.util
import signal
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
        list[str] | None, typer.Argument(help="Pass these to pytest; put options after `--`.")
    ] = None,  # noqa: PT028 - a command, not a test
) -> None:
    """Run the tests of this project with pytest.

    The pytest [fixtures for procedures](testing.md#in-pytest) are available automatically. The exit
    code is 0 if all tests pass, and 1 if one fails, none is found or a file cannot be read. It is 2
    if pytest does not understand its arguments, and 130 if it was interrupted.

    ```sh
    sidecypher test
    sidecypher test tests/test_greeting.py
    sidecypher test -- --sidecypher-on memory,neo4j
    ```
    """
    if importlib.util.find_spec("pytest") is None:
        raise NoPytest("pytest is not installed, and `sidecypher test` needs it")
    # A separate process, because pytest must see the first import of modules.
    ended = _run([sys.executable, "-m", "pytest", *(arguments or ())])
    if ended == _NOTHING_FOUND:
        notes.print("hint: Tests are files `test_*.py`; `sidecypher init` writes the first one.")
    elif ended == 0:
        show_next("sidecypher plugin build", "makes the jar for another Neo4j")
    elif ended == _FAILED:
        show_next("sidecypher test -- --last-failed", "runs again what failed")
    raise typer.Exit({0: 0, 4: 2}.get(ended, 1))


def _run(command: list[str]) -> int:
    """Run pytest, and return its exit code.

    A signal to this command takes effect after pytest has torn down its fixtures, which may have a
    Neo4j to stop.
    """
    # A closing terminal sends SIGHUP to pytest too, which would kill it at once.
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    pytest = subprocess.Popen(command)
    signal.signal(signal.SIGHUP, before)
    end: KeyboardInterrupt | SystemExit | None = None
    while pytest.poll() is None:
        try:
            pytest.wait()
        except KeyboardInterrupt as interrupt:
            # A terminal sends it to pytest too; a second one would interrupt its fixtures.
            end = interrupt
        except SystemExit as terminated:
            end = terminated
            pytest.send_signal(signal.SIGINT)
    if end is not None:
        raise end
    return pytest.returncode
