"""The tests on a Neo4j that somebody else runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (
    *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
    *("tests/integration/test_functions.py", "-k", "stand_in"),
)


def run(**variables):
    """Run some tests on a server by pytest, and return what that printed."""
    # This run's own variables would make the other one a worker of it.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        COMMAND, env=kept | variables, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout


@pytest.mark.deep
def test_tests_run_on_the_neo4j_that_is_named(server, session):
    """`SIDECYPHER_TEST_NEO4J_URI` starts none: the tests run on that one, and wipe its graph."""
    session.run("CREATE (:Left)").consume()

    printed = run(
        SIDECYPHER_TEST_NEO4J_URI=server.facts["bolt"],
        SIDECYPHER_TEST_NEO4J_PASSWORD=server.password,
    )

    assert "3 passed" in printed, printed
    assert session.run("MATCH (n:Left) RETURN count(n)").single(strict=True).value() == 0


@pytest.mark.slow
def test_a_neo4j_without_its_password_is_refused():
    """Without the password no test runs, and one line names the variable to set."""
    printed = run(SIDECYPHER_TEST_NEO4J_URI="bolt://127.0.0.1:1")

    assert "SIDECYPHER_TEST_NEO4J_PASSWORD is not: set it" in printed
    assert "passed" not in printed
