"""What differs from the files is told, mended and removed."""

import json
import os
import pty
import subprocess
import sys

import pytest

from sidecypher_schema import clean, connect, find_drift, migrate, repair
from sidecypher_schema.errors import ChainMismatch, StatementFailed

SCHEMA = """
CREATE CONSTRAINT own_key IF NOT EXISTS FOR (n:Own) REQUIRE n.key IS UNIQUE;
CREATE CONSTRAINT own_link IF NOT EXISTS FOR ()-[r:OWN]-() REQUIRE (r.a, r.b) IS UNIQUE;
CREATE INDEX own_old IF NOT EXISTS FOR (n:Own) ON (n.old);
CREATE INDEX own_name IF NOT EXISTS FOR (n:Own) ON (n.name, n.size);
CREATE TEXT INDEX own_text IF NOT EXISTS FOR (n:Own) ON (n.text);
CREATE FULLTEXT INDEX `own;words` IF NOT EXISTS FOR (n:Own|Other) ON EACH [n.a, n.b];
DROP INDEX own_old IF EXISTS;
"""


@pytest.fixture
def scripts(driver, session, own):
    """Some schema that has been applied."""
    found = own({"migrations/V1__schema.cypher": SCHEMA})
    migrate(driver, found)
    return found


def drift(driver, scripts):
    return [(each.what, each.problem) for each in find_drift(connect(driver), scripts)]


@pytest.mark.slow
def test_a_migrated_graph_has_none(driver, scripts):
    """Constraints and indexes of every kind are found again; one that was dropped is not missed."""
    assert drift(driver, scripts) == []


@pytest.mark.slow
@pytest.mark.usefixtures("scripts")
def test_what_was_dropped_is_told_and_created_again(server, session, own):
    """`validate` ends with 1 and names it; `repair` creates it; `validate` ends with 0."""
    dropped = [
        ("constraint", "own_key"),
        ("constraint", "own_link"),
        ("index", "own_name"),
        ("index", "own_text"),
        ("index", "own;words"),
    ]
    for what, name in dropped:
        session.run(f"DROP {what} `{name}`").consume()
    folder = ("--folder", str(own.folder), "--json")

    found = server.command("migrate", "validate", *folder)
    server.command("migrate", "repair", *folder)
    after = server.command("migrate", "validate", *folder)

    rows = json.loads(found.stdout)
    assert found.returncode == 1
    assert {row["problem"] for row in rows} == {"missing"}
    assert len(rows) == len(dropped)
    for what, name in dropped:
        assert [row for row in rows if row["what"] == what and name in row["name"]]
    assert (after.returncode, json.loads(after.stdout)) == (0, [])


def test_another_index_of_that_name_is_told(driver, session, scripts):
    """An index that has the name, but of another property, is different."""
    session.run("DROP INDEX own_name").consume()
    session.run("CREATE INDEX own_name FOR (n:Own) ON (n.other)").consume()
    try:
        assert drift(driver, scripts) == [("index", "different")]
    finally:
        session.run("DROP INDEX own_name").consume()


@pytest.mark.slow
def test_an_index_of_another_name_does_as_well(driver, session, own):
    """What a user has already created by another name is not missed."""
    session.run("CREATE INDEX users_own FOR (n:Own) ON (n.name)").consume()
    try:
        script = "CREATE INDEX own_name IF NOT EXISTS FOR (n:Own) ON (n.name)"
        scripts = own({"migrations/V1__a.cypher": script})
        migrate(driver, scripts)

        assert drift(driver, scripts) == []
        assert clean(driver, scripts).schema == ()
    finally:
        session.run("DROP INDEX users_own").consume()


@pytest.mark.slow
def test_schema_behind_use_is_watched(driver, session, own):
    """What follows `:use` with the graph's own name is told, created again and removed."""
    script = ":use system\nSHOW USERS;\n:use neo4j\nCREATE INDEX own_name FOR (n:Own) ON (n.name)"
    scripts = own({"migrations/V1__a.cypher": script})
    migrate(driver, scripts)
    session.run("DROP INDEX own_name").consume()
    assert drift(driver, scripts) == [("index", "missing")]

    assert len(repair(driver, scripts).created) == 1
    assert len(clean(driver, scripts).schema) == 1
    assert session.run("SHOW INDEXES YIELD name WHERE name = 'own_name'").value() == []


def test_a_changed_script_is_accepted_without_running(driver, session, own):
    """`repair` writes the new checksum; the script does not run again."""
    migrate(driver, own({"migrations/V1__a.cypher": "CREATE (:Own)"}))
    changed = own({"migrations/V1__a.cypher": "CREATE (:Own {key: 1})"})
    assert drift(driver, changed) == [("script", "changed")]

    done = repair(driver, changed)

    assert done.accepted == ("V1__a.cypher",)
    assert drift(driver, changed) == []
    assert session.run("MATCH (n:Own) RETURN count(n)").value() == [1]


@pytest.mark.slow
def test_a_script_without_a_file_is_forgotten(driver, session, own):
    """`repair` takes it out of the chain; what came before and after stays."""
    migrate(driver, own({f"migrations/V{n}__a.cypher": f"RETURN {n}" for n in range(1, 4)}))
    (own.folder / "migrations/V2__a.cypher").unlink()
    scripts = own({})
    assert drift(driver, scripts) == [("script", "missing")]

    assert repair(driver, scripts).forgotten == ("V2__a.cypher",)
    assert drift(driver, scripts) == []
    assert migrate(driver, scripts).applied == ()


@pytest.mark.slow
def test_folded_scripts_are_accepted_by_repair(driver, session, own):
    """A graph that had three scripts accepts the one they were folded into; no index is dropped."""
    index = "CREATE INDEX own_{0} IF NOT EXISTS FOR (n:Own) ON (n.{0});\n"
    before = [index.format(name) for name in ("a", "b", "c")]
    migrate(driver, own({f"migrations/V{n}__a.cypher": text for n, text in enumerate(before, 1)}))
    ids = session.run("SHOW INDEXES YIELD id, name WHERE name STARTS WITH 'own_'").values()
    for number in (2, 3):
        (own.folder / f"migrations/V{number}__a.cypher").unlink()
    folded = own({"migrations/V1__a.cypher": "".join(before)})
    with pytest.raises(ChainMismatch):
        migrate(driver, folded)

    done = repair(driver, folded)

    assert (done.accepted, len(done.forgotten), done.created) == (("V1__a.cypher",), 2, ())
    assert drift(driver, folded) == []
    assert migrate(driver, folded).applied == ()
    assert session.run("SHOW INDEXES YIELD id, name WHERE name STARTS WITH 'own_'").values() == ids


@pytest.mark.slow
def test_repair_tells_what_cannot_be_created(driver, session, scripts):
    """A constraint that the data contradicts is refused with file and line."""
    session.run("DROP CONSTRAINT own_key").consume()
    session.run("UNWIND [1, 1] AS key CREATE (:Own {key: key})").consume()

    with pytest.raises(StatementFailed, match=r"`V1__schema.cypher`, line 2"):
        repair(driver, scripts)


@pytest.mark.slow
def test_clean_removes_what_scripts_made_and_no_data(server, session, own, scripts, names):
    """Chain, constraints and indexes go; every node of the user's stays."""
    session.run("CREATE (:Own {key: 1})-[:OWN]->(:Users {key: 2})").consume()

    done = server.command("migrate", "clean", "--folder", str(own.folder), "--yes", "--json")

    assert json.loads(done.stdout)["scripts"] == ["V1__schema.cypher"]
    assert {name for name in names() if "own" in name or "Migration" in name} == set()
    assert session.run("MATCH (n) RETURN n.key ORDER BY n.key").value() == [1, 2]


@pytest.mark.slow
def test_clean_leaves_the_chain_of_others(driver, session, own, scripts):
    """Another chain in the same graph, and what keeps it unique, stay."""
    migrate(driver)
    clean(driver, scripts)

    assert migrate(driver).applied == ()
    found = session.run("SHOW CONSTRAINTS YIELD name RETURN name").value()
    assert "unique_version___Neo4jMigration" in found


@pytest.mark.slow
def test_clean_asks_and_refuses_without_a_terminal(server, own, scripts):
    """Without `--yes` it asks; where nobody can answer, or with a no, nothing is removed."""
    command = [sys.executable, "-m", "sidecypher", "migrate", "clean", "--folder", own.folder]
    ours, theirs = pty.openpty()
    os.write(ours, b"n\n")
    asked = subprocess.run(
        command, env=server.environ, stdin=theirs, capture_output=True, text=True, check=False
    )
    os.close(ours)
    os.close(theirs)
    alone = subprocess.run(
        command,
        env=server.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    info = server.command("migrate", "info", "--folder", str(own.folder), "--json")

    assert (asked.returncode, alone.returncode) == (1, 1)
    assert "Remove the schema" in asked.stderr
    assert "SC-711" in asked.stderr
    assert "there is no terminal" in alone.stderr
    assert [row["state"] for row in json.loads(info.stdout)] == ["applied"]
