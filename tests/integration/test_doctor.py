"""`sidecypher doctor` on a real installation, and on what is broken there."""

import json

import pytest

from sidecypher.cli.doctor.checking import examine
from sidecypher.cli.doctor.checks import CHECKS
from sidecypher.cli.doctor.subject import Subject

SECRET = "ghp_" + "5ec2e7" * 6


@pytest.fixture
def examined(server, driver):
    """Looks at the shared installation with further variables; gives findings by group and name."""
    server.await_sidecar()

    def examined(**variables):
        with Subject({}, server.environ | variables, None) as subject:
            return {(c.group, c.name): finding for c, finding in examine(CHECKS, subject)}

    return examined


def test_nothing_is_wrong_with_what_runs(examined):
    """Where all is up, each part is told as it is, and nothing is an error."""
    found = examined()

    assert {key: each for key, each in found.items() if each.state == "ERROR"} == {}
    assert found["Neo4j", "version"].found.startswith("Neo4j 5.26.")
    assert "the embedded one" in found["Neo4j", "version"].found
    assert found["Neo4j", "APOC"].state == "OK"
    assert found["Neo4j", "offered"].found.startswith("all ")
    assert found["Neo4j", "call"].state == "OK"
    assert found["Neo4j", "clock"].state == "OK"
    assert found["Procedures", "plugin"].found.startswith("it fits those of the sidecar")
    assert found["Processes", "sidecars"].found == "1 is ready"
    assert found["Schema", "migrations"].state == found["Schema", "triggers"].state == "OK"
    assert found["Secrets", "private files"].found.startswith("5 of them")
    assert found["GitHub", "limits"].found.startswith("core ")
    assert found["GitHub", "clock"].state == "OK"


def test_the_command_prints_a_line_for_each_check_and_no_secret(server, driver):
    """Every check has a line, the summary counts them, and no secret is anywhere."""
    planted = {"SIDECYPHER_GITHUB_TOKEN": SECRET, "SIDECYPHER_NEO4J_PASSWORD": SECRET}
    done = server.command("doctor", **planted)

    assert done.returncode == 0, done.stdout
    assert done.stdout.count("\n  OK ") + done.stdout.count("\n  WARN ") == len(CHECKS)
    assert done.stdout.splitlines()[-1].startswith(f"{len(CHECKS)} checks: ")
    assert [s for s in (*server.secrets, SECRET) if s in done.stdout + done.stderr] == []


def test_the_json_has_what_the_lines_have(server, driver):
    """`--json` prints one document with a member for each check."""
    done = server.command("doctor", "--json")
    told = json.loads(done.stdout)

    assert done.returncode == 0
    assert told["ok"] is True
    assert sum(told["counts"].values()) == len(told["checks"]) == len(CHECKS)
    assert [
        each for each in told["checks"] if bool(each["way_out"]) == (each["state"] == "OK")
    ] == []
