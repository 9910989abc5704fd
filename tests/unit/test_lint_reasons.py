"""What the linter may ignore has a reason."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.mark.slow
def test_each_rule_that_is_ignored_has_its_reason_beside_it():
    """In pyproject.toml a comment follows each code of a rule that ruff is to ignore."""
    text = PROJECT.read_text(encoding="utf-8")
    linting = text.partition("[tool.ruff.lint]")[2].partition("[tool.ruff.lint.pydocstyle]")[0]
    ignored = [line for line in linting.splitlines() if re.match(r' +"[A-Z]+\d*"', line)]

    assert ignored
    assert [line for line in ignored if not re.search(r'", +# \w', line)] == []
