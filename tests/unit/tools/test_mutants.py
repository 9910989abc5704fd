"""The list of mutants fits the code."""

import contextlib
from dataclasses import replace

import pytest
from docs.pages import ROOT

from mutants import Mutant, killed_by, read_mutants

MUTANTS = read_mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_applied(mutant):
    """Its old text occurs once in its file, and the files of its tests have these tests."""
    assert mutant.problem(ROOT) == ""
    for test in mutant.tests:
        file, _, name = test.partition("::")
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_names_of_mutants_differ():
    """A name says what is broken, and the lines of the table are told apart by it."""
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_a_mutant_that_cannot_be_applied_says_why(tmp_path):
    """The file is gone, the text is gone or there twice, or nothing changes."""
    mutant = Mutant("a limit is off by one", "code.py", "a < b", "a <= b", ["tests/unit"])

    assert "occurs 0 times in code.py" in mutant.problem(tmp_path)
    (tmp_path / "code.py").write_text("if a < b and a < b:")
    assert "occurs 2 times in code.py" in mutant.problem(tmp_path)
    (tmp_path / "code.py").write_text("if a < b:")
    assert not mutant.problem(tmp_path)
    assert "its new text is its old text" in replace(mutant, new="a < b").problem(tmp_path)


class Told:
    """A copy in which pytest prints this."""

    def __init__(self, printed):
        self._printed = printed

    def with_faults(self, _mutants):
        return contextlib.nullcontext()

    def run(self, _tests):
        return 1, self._printed


def test_only_a_broken_fixture_leaves_several_mutants_untold():
    """pytest prints captured log lines, too, and an error among them is no fixture's."""
    mutants = [Mutant(name, "", "", "", [f"tests/{name}.py::test"]) for name in "ab"]
    log = "\nERROR    asyncio:base_events.py:1771 Task was destroyed\n"

    assert killed_by(Told(f"{log}FAILED tests/a.py::test - no\n"), mutants) == [True, False]
    with pytest.raises(SystemExit):
        killed_by(Told(f"{log}ERROR tests/a.py::test - no\n"), mutants)
