"""The current lane's Neo4j: other names of types, and no APOC."""

import json

import pytest

from sidecypher_schema import (
    Drift,
    clean,
    connect,
    find_drift,
    migrate,
    own_scripts,
    shipped_scripts,
)

pytestmark = pytest.mark.slow

SCHEMA = """
CREATE CONSTRAINT own_key IF NOT EXISTS FOR (n:Own) REQUIRE n.key IS UNIQUE;
CREATE FULLTEXT INDEX own_words IF NOT EXISTS FOR (n:Own|Other) ON EACH [n.a, n.b];
CREATE (:Own {key: 7});
"""
TRIGGER = "// trigger: own-guard\n// phase: before\nRETURN 1"


@pytest.fixture
def driver(current_server):
    """A driver of the current lane's server."""
    with current_server.driver() as driver:
        yield driver


def test_everything_but_triggers_is_applied(current_server, driver, tmp_path):
    """Without APOC a run warns which triggers are left out, does the rest, and drift tells them."""
    for path, text in (("migrations/V1__a", SCHEMA), ("triggers/guard", TRIGGER)):
        file = tmp_path / f"{path}.cypher"
        file.parent.mkdir()
        file.write_text(text)
    command = ("migrate", "--folder", str(tmp_path))
    first = current_server.command(*command)
    second = current_server.command(*command, "--json")
    scripts = own_scripts(tmp_path)
    drift = find_drift(connect(driver), scripts)
    found = driver.execute_query("MATCH (n:Own) RETURN n.key AS key").records
    clean(driver, scripts)
    driver.execute_query("MATCH (n:Own) DETACH DELETE n")

    assert first.returncode == 0, first.stderr
    assert "Neo4j has no APOC, so triggers are left out: own-guard" in " ".join(
        first.stderr.split()
    )
    assert json.loads(second.stdout)["left_out"] == ["own-guard"]
    assert [record["key"] for record in found] == [7]
    assert drift == [Drift("trigger", "own-guard", "unavailable")]


def test_the_shipped_scripts_are_applied(driver):
    """What ships is applied there as well, twice."""
    migrate(driver)

    assert migrate(driver).applied == ()
    assert find_drift(connect(driver), shipped_scripts()) == [
        Drift("trigger", "rules-guard", "unavailable")
    ]
