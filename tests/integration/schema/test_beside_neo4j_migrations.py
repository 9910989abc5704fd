"""Our chain and that of the Java tool neo4j-migrations in one graph."""

import os
import subprocess
from pathlib import Path

import pytest

from sidecypher.runtime.java import Javas
from sidecypher_schema import connect, find_drift, migrate, shipped_scripts
from sidecypher_schema.checksum import checksum

TOOL = Path(__file__).parent / "neo4j_migrations"
SCRIPTS = {
    "V001__schema.cypher": "// A\nCREATE INDEX theirs IF NOT EXISTS FOR (n:Theirs) ON (n.x);\n",
    "V002_1__two_of_them.cypher": "CREATE (:Theirs {x: ';'});\n\n  CREATE (:Theirs {x: 'ö'}) ;\n",
    "V003__use.cypher": ":use neo4j;\n// said\nMERGE (:Theirs {x: 3});\n// the end\n",
    "V004__crlf.cypher": "RETURN 1;\r\nRETURN\t2",
    "R005__again.cypher": "MERGE (:Theirs {x: 5})",
}


@pytest.fixture(scope="session")
def classpath(tmp_path_factory):
    """The jars of the tool, by Maven."""
    file = tmp_path_factory.mktemp("tool") / "classpath"
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(TOOL / "pom.xml")]
    goal = ["dependency:build-classpath", f"-Dmdep.outputFile={file}"]
    subprocess.run([*command, *goal], check=True)
    return file.read_text()


@pytest.fixture
def theirs(server, session, classpath, tmp_path):
    """Run the tool on scripts of its own; return what it thinks of the graph then."""
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_bytes(text.encode())

    def run():
        done = subprocess.run(
            [
                *(Javas().javac().with_name("java"), "-XX:TieredStopAtLevel=1"),
                *("-cp", classpath, TOOL / "Apply.java"),
                *(server.facts["bolt"], tmp_path),
            ],
            env=os.environ | {"PASSWORD": server.password, "JAVA_TOOL_OPTIONS": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()[-1]

    yield run
    for statement in (
        "DROP INDEX theirs IF EXISTS",
        "DROP INDEX repeated_at__Neo4jMigration IF EXISTS",
        "DROP CONSTRAINT __Neo4jMigrationsLock__has_unique_id IF EXISTS",
        "DROP CONSTRAINT __Neo4jMigrationsLock__has_unique_name IF EXISTS",
    ):
        session.run(statement).consume()


def chains(session):
    query = (
        "MATCH (n:__Neo4jMigration) WHERE n.version <> 'BASELINE' "
        "RETURN coalesce(n.migrationTarget, '') AS target, count(n) AS count"
    )
    return {row["target"]: row["count"] for row in session.run(query)}


@pytest.mark.deep
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_both_go_on_whoever_was_first(driver, session, theirs, first):
    """Each tool applies its own scripts, twice, and finds its own chain valid."""
    scripts = shipped_scripts()
    steps = [lambda: migrate(driver, scripts), theirs]
    for step in steps if first == "ours" else steps[::-1]:
        step()
    counted = chains(session)

    assert counted == {"": len(SCRIPTS), "sidecypher": len(scripts.migrations)}
    assert theirs() == "VALID"
    assert migrate(driver, scripts).applied == ()
    assert find_drift(connect(driver), scripts) == []
    assert chains(session) == counted


@pytest.mark.deep
def test_checksums_are_theirs(session, theirs):
    """The numbers that we compute are those that the tool has recorded."""
    theirs()
    found = session.run(
        "MATCH (n:__Neo4jMigration) WHERE n.source IS NOT NULL RETURN n.source, n.checksum"
    ).values()
    # Theirs only ignores Windows' line ends when it is asked to.
    ours = {name: checksum(text) for name, text in SCRIPTS.items() if "crlf" not in name}

    assert {name: number for name, number in found if "crlf" not in name} == ours
