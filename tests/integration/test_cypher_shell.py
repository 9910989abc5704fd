"""The real cypher-shell runs the samples of docs/samples, and tells errors as Neo4j's own."""

import os
import subprocess
from pathlib import Path

import pytest
from fix_waiting import wait_until

from sidecypher.host.settings import load_settings
from sidecypher.runtime.download import fetch
from sidecypher.runtime.lockfile import Lock

DATA = Path(__file__).parents[1] / "data"
SAMPLES = Path(__file__).parents[2] / "docs" / "samples"

SHOWN = {
    "issue": """\
merged
1
number, title, state, labels
1, "Spelling error in the README file", "open", ["bug"]
""",
    "rules": """\
status, reason
"active", "recency"
status, reason, contradicts
"active", "recency", 1
text, status, reason
"casual tone", "active", "recency"
"formal tone", "contested", "recency"
""",
    "run": """\
id, seq
"sample", 1
seq, state
2, "completed"
seq, type
1, "userMessage"
2, "workflowCompleted"
""",
    "sidecar": """\
version, procedures, leftOut
"{version}", {procedures}, {leftOut}
check, ok
"event loop", TRUE
"procedures", TRUE
"bodies", TRUE
"workers", TRUE
"not stopping", TRUE
""",
}
"""What the samples show on an empty graph, and of a sidecar that does nothing else."""


@pytest.fixture(scope="module")
def jars():
    """cypher-shell and what it needs, from a lock of its own: `up` does not fetch it.

    The lock names what `mvn dependency:list` tells of `org.neo4j:cypher-shell`.
    """
    lock = Lock.from_json((DATA / "cypher-shell.json").read_bytes())
    return fetch(lock, load_settings({}).cache_dir)


@pytest.fixture
def shell(server, session, java, jars):
    """Run it on a file, or on statements."""

    def run(*arguments, statements=None):
        path = os.pathsep.join(map(str, jars.jars("lib")))
        address = ("-a", server.facts["bolt"], "-u", "neo4j")
        return subprocess.run(
            [java.executable, "-cp", path, jars.lock.main_class, *address, *arguments],
            input=statements,
            env={**os.environ, "NEO4J_PASSWORD": server.password},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*.cypher")), ids=lambda file: file.stem)
def test_a_sample_shows_what_it_is_for(shell, session, sample):
    """Each sample runs to its end on an empty graph, and shows its rows."""
    # Calls that other tests have left behind are shown as well, until they end.
    wait_until(lambda: not session.run("CALL sidecypher.running() YIELD name").data(), 120)
    facts = session.run("CALL sidecypher.info() YIELD version, procedures, leftOut").single()

    done = shell("-f", str(sample))

    assert done.returncode == 0, done.stderr
    assert done.stdout == SHOWN[sample.stem].format(**facts)


@pytest.mark.slow
def test_an_error_is_told_with_its_code(shell):
    """What a procedure or a trigger refuses ends the shell with 1, with code and reason."""
    refused = shell(statements="CALL rules.add({userId: 'ann'}, {method: 'rule'});")
    vetoed = shell(statements="CREATE (:StyleRule {ruleId: 'mine', user: 'eve', text: 'x'});")

    assert (refused.returncode, vetoed.returncode) == (1, 1)
    assert "[SC-204]" in refused.stderr
    assert "The StyleRule `mine` has no Extraction." in vetoed.stderr
