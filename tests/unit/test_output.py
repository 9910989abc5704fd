"""What the commands print."""

import io
import json
import math

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


def test_numbers_that_json_lacks_are_printed_as_texts(capsys):
    """What `--json` prints is JSON, also where a FLOAT is none: other programs refuse `NaN`."""
    output.show_json([{"score": math.nan}, {"range": [-math.inf, 0.5, math.inf]}])

    printed = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert printed == [{"score": "NaN"}, {"range": ["-Infinity", 0.5, "Infinity"]}]


@pytest.mark.parametrize("is_watched", [True, False])
def test_text_is_neither_markup_nor_a_format(printed, monkeypatch, is_watched):
    """A name of the command line is shown as it was given, with brackets and braces."""
    monkeypatch.setattr(output, "_is_watched", lambda: is_watched)
    text = "demo.x[/] {0} [red]"

    output.show_table(text, [f"column {text}"], [])
    with output.working(f"work {text}", kept=True):
        pass
    with output.phase_bars() as on_phase:
        on_phase(f"phase {text}", 1, 2)
    with output.download_bar(f"load {text}") as on_bytes:
        on_bytes(1, 2)

    for what in ("column", "work", "load", *(["phase"] if is_watched else [])):
        assert f"{what} {text}" in printed()
