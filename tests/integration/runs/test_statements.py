"""Every statement of the `runs` procedures, as the server plans it."""

import importlib
import pkgutil
from collections.abc import Mapping

import pytest

from sidecypher_procedures import runs as package


def constants():
    """Yield the texts that are constants of any module of the package, each with its name."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if not name.isupper():
                continue
            texts = value.values() if isinstance(value, Mapping) else [value]
            for number, text in enumerate(texts):
                yield f"{info.name}.{name}[{number}]", text


# Conditions and parts of statements are planned with those that have them.
STATEMENTS = {
    name: text
    for name, text in constants()
    if isinstance(text, str)
    and text.lstrip().startswith(("CALL", "MATCH", "MERGE", "UNWIND"))
    and ("MATCH (" in text or "MERGE (" in text)
    and "{}" not in text
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_begins_at_an_index(session, name):
    """It reads neither all nodes nor all of a label, whatever the graph has grown to."""
    waiting = [session.run(f"EXPLAIN {STATEMENTS[name]}").consume().plan]
    found = []
    while waiting:
        plan = waiting.pop()
        found.append(plan["operatorType"].partition("@")[0])
        waiting += plan.get("children", ())

    assert [each for each in found if each.endswith("Scan") and "Index" not in each] == []
    assert [each for each in found if "IndexSeek" in each]
