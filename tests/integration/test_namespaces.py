"""Every statement of the procedures `runs.*` and `session.*`, as the server plans it."""

import importlib
import pkgutil
from collections.abc import Mapping

import pytest

from sidecypher_procedures import runs, session

# All steps without a workflow are one: to read, or to draw, it is to read them.
DRAWN = ("._READ_DRAWN[0]", ".CHART[0]")


def constants():
    """Yield the texts that are constants of any module of the packages, each with its name."""
    packages = [
        info
        for package in (runs, session)
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    for info in packages:
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
    and text.lstrip().startswith(("CALL", "CYPHER", "MATCH", "MERGE", "UNWIND"))
    and ("MATCH (" in text or "MERGE (" in text)
    and "{}" not in text
    and not name.endswith(DRAWN)
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
    assert [each for each in found if "Seek" in each]
