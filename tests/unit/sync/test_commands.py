"""`sidecypher sync` where the extra `sync` is not installed."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules["redis"] = None
from sidecypher.cli.main import main
main()
"""


@pytest.mark.parametrize("arguments", ["run", "status", "dead", "requeue r", "drop r"])
def test_a_missing_library_is_told_with_its_extra(arguments):
    """Each command that uses Redis names the extra to install."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "sync", *arguments.split()],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: The library for Redis is missing [SC-941]",
        "hint: Run `pip install 'sidecypher[sync]'`.",
    ]
