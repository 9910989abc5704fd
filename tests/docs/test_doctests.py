"""Examples in docstrings."""

import doctest
import importlib
import logging
import pkgutil

import pytest
import structlog

TOOLS = ("command_reference", "procedure_reference", "relock", "schema_picture")
PACKAGES = ("sidecypher", "sidecypher_procedures", "sidecypher_schema", "sidecypher_plugin")


def modules():
    """Return the names of the tools and all modules; a `__main__` runs when imported."""
    names = [*TOOLS, *PACKAGES]
    for package in PACKAGES:
        folder = importlib.import_module(package).__path__
        names += [found.name for found in pkgutil.walk_packages(folder, package + ".")]
    return sorted(name for name in names if not name.endswith("__main__"))


@pytest.fixture
def quiet():
    """Send no log lines to the output that examples are compared with."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", modules())
def test_docstring_examples_give_what_they_say(name):
    """Every example in a docstring runs and prints what stands below it."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    told = []
    for example in doctest.DocTestFinder().find(importlib.import_module(name)):
        runner.run(example, out=told.append)

    assert runner.summarize(verbose=False).failed == 0, "".join(told)
