"""Checks and commands of an installed package, as the guide of authors shows them."""

import json
import sys
from functools import partial

import pytest
from fix_acme import CHECKS, COMMANDS, install_acme
from fix_modules import write

NO_GITHUB = {"SIDECYPHER_GITHUB_BASE_URL": "http://127.0.0.1:9"}
QUEUE = """
from sidecypher import Row, procedure

class Queue(Row):
    waiting: int
    limit: int | None

@procedure("acme.queue")
def queue() -> Queue:
    return Queue(waiting={waiting}, limit={limit})
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs the package of the page, in a folder of its own."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "acme"]:
        monkeypatch.delitem(sys.modules, name)
    return partial(install_acme, tmp_path)


@pytest.fixture
def acme(run, package, tmp_path):
    """Runs the doctor with the checks of the page; gives the finding of the package."""
    package(checks=CHECKS)

    def acme(waiting, limit):
        write(tmp_path, "mine/queue.py", QUEUE.format(waiting=waiting, limit=limit))
        _, out, _ = run("doctor", "--json", "--procedures", str(tmp_path / "mine"), **NO_GITHUB)
        [found] = [each for each in json.loads(out)["checks"] if each["group"] == "Acme"]
        return found

    return acme


@pytest.mark.parametrize(
    ("waiting", "limit", "finding"),
    [
        (1, 10, ("OK", "1 messages wait", "")),
        (11, 10, ("WARN", "11 messages wait", "Start another worker.")),
        (1, None, ("WARN", "could not check: the queue has no limit", "Set ACME_LIMIT.")),
    ],
)
def test_a_check_of_a_package_is_in_the_report(acme, waiting, limit, finding):
    """The doctor runs the checks of an entry point, which may call procedures."""
    told = acme(waiting, limit)

    assert tuple(told.values()) == ("Acme", "queue", *finding)


def test_a_package_whose_checks_cannot_be_loaded_hides_no_other(run, package):
    """It is an error of its own, with the type of the exception, and the report goes on."""
    package(checks="raise RuntimeError('hunter2')")

    code, out, err = run("doctor", "--json", **NO_GITHUB)
    [told] = [each for each in json.loads(out)["checks"] if each["group"] == "Checks"]

    assert (code, told["name"], told["state"]) == (1, "acme", "ERROR")
    assert "RuntimeError" in told["found"]
    assert "hunter2" not in out + err


def test_a_command_of_a_package_is_listed_and_talks_to_neo4j(run, package):
    """The help has it; where nothing runs, its error is shown as that of any command."""
    package(commands=COMMANDS)

    _, listed, _ = run("--help")
    code, out, err = run("acme")

    assert " acme " in listed
    assert "Show how many messages wait." in listed
    assert (code, out) == (1, "")
    assert "[SC-310]" in err


def test_a_command_that_cannot_be_loaded_hides_no_other(run, package):
    """The help lists it with the reason, and calling it is an error with a hint."""
    package(commands="raise RuntimeError('hunter2')")

    _, listed, _ = run("--help")
    code, _, err = run("acme")

    assert "RuntimeError" in listed
    assert " status " in listed
    assert code == 1
    assert err.startswith("error: The command `acme` cannot be loaded: RuntimeError [SC-103]")
    assert "hunter2" not in listed + err


def test_a_package_cannot_replace_a_command(run, package):
    """`status` stays ours, whatever a package calls its own."""
    package(points='[sidecypher.commands]\nstatus = "acme.commands:messages"\n', commands=COMMANDS)

    _, out, _ = run("status", "--json")

    assert json.loads(out)["running"] is False
