"""What moves while a command works, on a real terminal; elsewhere nothing does."""

import io
import os
import pty
import subprocess
import sys

import pytest

from sidecypher.cli import output

DOWN = (sys.executable, "-m", "sidecypher", "down")
TITLE = b"Stopping Neo4j and the sidecar"
RESULT = b"Nothing was running."
HIDE_CURSOR = b"\x1b[?25l"


@pytest.fixture
def environ(tmp_path, clean_environment):
    return {**clean_environment, "SIDECYPHER_HOME": str(tmp_path), "TERM": "xterm-256color"}


def typed(environ):
    """Type the command in a terminal; return all that the terminal got."""
    ours, theirs = pty.openpty()
    command = subprocess.Popen(DOWN, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    got = b""
    try:
        while chunk := os.read(ours, 65_536):
            got += chunk
    except OSError:
        # The last program of the terminal has ended.
        pass
    os.close(ours)
    assert command.wait(60) == 0
    return got


def test_a_terminal_shows_what_is_done(environ):
    """The title and a clock are drawn, then wiped; what the command says comes after them."""
    got = typed(environ)

    assert HIDE_CURSOR in got
    assert b"0:00:0" in got
    assert -1 < got.index(TITLE) < got.index(RESULT)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_that_is_to_be_still_is(environ, variables):
    """With NO_COLOR, and without a cursor that moves, the command says its result alone."""
    got = typed(environ | variables)

    assert RESULT in got
    assert TITLE not in got
    assert HIDE_CURSOR not in got


def test_a_pipe_gets_no_movement(environ):
    """Neither output has a title, a clock or an escape."""
    done = subprocess.run(DOWN, env=environ, capture_output=True, check=True)

    assert RESULT in done.stderr
    assert TITLE not in done.stderr
    assert b"\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("argument", "moves"), [("--json", False), ("--no-check", True)], ids=["JSON", "no JSON"]
)
def test_nothing_moves_next_to_json(monkeypatch, argument, moves):
    """A program reads the results then; a line that stays is printed as it is."""
    sent = io.StringIO()
    for name in ("results", "notes"):
        monkeypatch.setattr(output, name, output._Console(file=sent, force_terminal=True))
    monkeypatch.setattr(sys, "argv", ["sidecypher", "up", argument])

    with output.working("Passing"):
        pass
    with output.working("Staying", kept=True):
        pass

    assert ("Passing" in sent.getvalue()) is moves
    assert "Staying" in sent.getvalue()
    assert ("0:00:0" in sent.getvalue()) is moves
