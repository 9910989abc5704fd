"""What the commands print."""

import io

import pytest
from rich.text import Text

from sidecypher.cli import output
from sidecypher.errors import SidecypherError

ATTACK = "red \x1b[31m title \x1b]52;c;eA==\x07 \x9b2J back\rspace\x08"
# Rich itself drops some of them.
SHOWN = "red ?[31m title ?]52;c;eA== ?2J backspace"


@pytest.fixture
def printed(monkeypatch):
    """A wide terminal with colours; what it is sent."""
    sent = io.StringIO()
    for name in ("results", "notes"):
        console = type(getattr(output, name))(
            file=sent, force_terminal=True, color_system="truecolor", width=200, highlight=False
        )
        monkeypatch.setattr(output, name, console)
    return sent.getvalue


@pytest.mark.parametrize(
    "show",
    [
        lambda: output.show_text(ATTACK),
        lambda: output.show_facts({"title": ATTACK}),
        lambda: output.show_next("sidecypher call", ATTACK),
        lambda: output.show_table(ATTACK, [ATTACK], [[ATTACK, {"in": ATTACK}]]),
        lambda: output.show_error(SidecypherError(ATTACK, hint=ATTACK)),
        lambda: output.show_error(SidecypherError("it", details={"log_tail": [ATTACK, ATTACK]})),
        lambda: output.results.print(Text(ATTACK), soft_wrap=True),
    ],
)
def test_no_text_commands_the_terminal(show, printed):
    """A title at GitHub or a text of the graph is shown, with a mark for each control character."""
    show()

    assert SHOWN in printed()
    for command in ("\x1b]", "\x9b", "\x07", "\x08", "\r", "\x1b[31m title"):
        assert command not in printed()
