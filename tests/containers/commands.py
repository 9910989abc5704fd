"""Run commands so that a failure tells what they printed."""

import subprocess

_TOLD = 4000
"""Characters of output that a failure shows."""


def done(command, *, seconds=500, **options):
    """Run a command; return what it printed.

    Args:
        command: Words of it, which are turned into text.
        seconds: After these it is killed.
        options: Of `subprocess.run`.

    Raises:
        subprocess.CalledProcessError: It failed; a note has the end of its output.
        subprocess.TimeoutExpired: It took too long.
    """
    words = [str(word) for word in command]
    try:
        return subprocess.run(
            words, capture_output=True, text=True, check=True, timeout=seconds, **options
        )
    except subprocess.CalledProcessError as error:
        error.add_note((error.stdout + error.stderr)[-_TOLD:])
        raise
