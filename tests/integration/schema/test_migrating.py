"""Scripts are applied once, in order, each statement in the transaction that it needs."""

import json

import pytest

from sidecypher_schema import connect, find_drift, migrate, overview, shipped_scripts
from sidecypher_schema.errors import (
    ChainMismatch,
    GraphUnavailable,
    StatementFailed,
)

CHAIN = """
    MATCH (before:__Neo4jMigration {migrationTarget: 'own'})-[link:MIGRATED_TO]->(one)
    RETURN before.version AS after, one {.*} AS one, link {.*} AS link ORDER BY link.at, after
"""
FIRST = """// The schema, then data.
CREATE CONSTRAINT own_key IF NOT EXISTS FOR (n:Own) REQUIRE n.key IS UNIQUE;
CREATE INDEX own_name IF NOT EXISTS FOR (n:Own) ON (n.name, n.size);
CREATE (:Own {key: 1});
CREATE (:Own {key: 2})
"""


def states(driver, scripts):
    return {row.version: row.state for row in overview(connect(driver), scripts)}


def everything(session):
    return session.run("MATCH (n) RETURN labels(n) AS labels, n {.*} AS n").data()


@pytest.mark.slow
def test_a_fresh_graph_is_migrated(driver, session, own):
    """All scripts run in the order of their versions, and the graph is what they say."""
    scripts = own(
        {
            "migrations/V10__last.cypher": "MATCH (n:Own {key: 1}) SET n.seen = n.early",
            "migrations/V2__early.cypher": "MATCH (n:Own {key: 1}) SET n.early = true;",
            "migrations/V1__first.cypher": FIRST,
            "migrations/R__again.cypher": "MERGE (:Own {key: 3})",
        }
    )

    done = migrate(driver, scripts)

    assert [script.version for script, _ in done.applied] == ["1", "2", "10", "R__again"]
    assert session.run("MATCH (n:Own {seen: true}) RETURN n.key").value() == [1]
    assert find_drift(connect(driver), scripts) == []


def test_the_chain_is_that_of_neo4j_migrations(driver, session, own):
    """Nodes and relationships have the names, properties and types of the Java tool."""
    scripts = own({"migrations/V001_1__a_b.cypher": "RETURN 1"})
    migrate(driver, scripts)

    [row] = session.run(CHAIN).data()
    assert row["after"] == "BASELINE"
    assert row["one"] == {
        "version": "001.1",
        "description": "a b",
        "type": "CYPHER",
        "repeatable": False,
        "source": "V001_1__a_b.cypher",
        "checksum": scripts.migrations[0].checksum,
        "migrationTarget": "own",
    }
    assert set(row["link"]) == {"at", "in", "by", "connectedAs"}
    assert row["link"]["connectedAs"] == "neo4j"
    assert str(row["link"]["at"].tzinfo) == "UTC"


def test_twice_changes_nothing(driver, session, own):
    """A second run applies nothing and writes nothing, not even a lock."""
    scripts = own({"migrations/V1__first.cypher": FIRST})
    migrate(driver, scripts)
    before = everything(session)

    assert migrate(driver, scripts).applied == ()
    assert everything(session) == before


def test_the_shipped_scripts_are_applied(driver, session):
    """What ships is applied to an empty graph, again and again."""
    migrate(driver)

    assert migrate(driver).applied == ()
    assert find_drift(connect(driver), shipped_scripts()) == []


def test_a_statement_that_fails_is_told_with_its_place(driver, session, own):
    """File, line and Neo4j's code are told; the chain stays at the script before."""
    scripts = own(
        {
            "migrations/V1__good.cypher": FIRST,
            "migrations/V2__bad.cypher": "CREATE (:Own {key: 9});\n\nCREATE (:Own {key: 1});",
            "migrations/V3__never.cypher": "CREATE (:Own {key: 10})",
        }
    )

    with pytest.raises(StatementFailed, match=r"Statement 2 of 2 in `V2__bad.cypher`, line 3") as e:
        migrate(driver, scripts)

    assert e.value.details["code"] == "Neo.ClientError.Schema.ConstraintValidationFailed"
    assert states(driver, scripts) == {"1": "applied", "2": "pending", "3": "pending"}
    assert session.run("MATCH (n:Own) RETURN n.key ORDER BY n.key").value() == [1, 2]


def test_a_script_that_cannot_be_planned_runs_not_at_all(driver, session, own):
    """A mistake in a later statement is found before the first one runs."""
    scripts = own({"migrations/V1__bad.cypher": "CREATE (:Own);\nCREATE (:Own;"})

    with pytest.raises(StatementFailed, match=r"line 2, was refused: Invalid input"):
        migrate(driver, scripts)

    assert session.run("MATCH (n:Own) RETURN count(n)").value() == [0]


def test_corrected_and_migrated_again(driver, session, own):
    """After a failure the run goes on where it stopped."""
    files = {"migrations/V1__a.cypher": "CREATE (:Own)", "migrations/V2__b.cypher": "RETURN 1 / 0"}
    with pytest.raises(StatementFailed, match="/ by zero"):
        migrate(driver, own(files))

    done = migrate(driver, own(files | {"migrations/V2__b.cypher": "RETURN 1"}))

    assert [script.version for script, _ in done.applied] == ["2"]


def test_statements_that_begin_their_own_transactions(driver, session, own):
    """`CALL { ... } IN TRANSACTIONS` runs outside of any other transaction."""
    scripts = own(
        {
            "migrations/V1__many.cypher": """
                CREATE (:Own {key: 0});
                UNWIND range(1, 9) AS key CALL (key) { CREATE (:Own {key: key}) }
                IN TRANSACTIONS OF 2 ROWS;
                MATCH (n:Own) SET n.done = true;
            """
        }
    )
    migrate(driver, scripts)

    assert session.run("MATCH (n:Own {done: true}) RETURN count(n)").value() == [10]


def test_statements_for_the_system_database(driver, session, own):
    """`:use system` sends what follows there, `:use neo4j` back."""
    scripts = own(
        {
            "migrations/V1__users.cypher": ":use system\n"
            "CREATE USER own SET PASSWORD 'own-secret' CHANGE NOT REQUIRED;\n"
            ":use neo4j\nCREATE (:Own);"
        }
    )
    try:
        migrate(driver, scripts)

        assert "own" in session.run("SHOW USERS YIELD user RETURN user").value()
        assert session.run("MATCH (n:Own) RETURN count(n)").value() == [1]
    finally:
        session.run("DROP USER own IF EXISTS").consume()


def test_a_repeatable_script_runs_when_it_has_changed(driver, session, own):
    """It runs again after a change, and the chain remembers both runs."""
    migrate(driver, own({"migrations/R__size.cypher": "MERGE (n:Own) SET n.size = 1"}))
    changed = own({"migrations/R__size.cypher": "MERGE (n:Own) SET n.size = 2"})
    assert states(driver, changed) == {"R__size": "changed"}

    migrate(driver, changed)

    assert states(driver, changed) == {"R__size": "applied"}
    assert session.run("MATCH (n:Own) RETURN n.size").value() == [2]
    assert session.run("MATCH ()-[r:REPEATED]->() RETURN count(r)").value() == [1]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"V1__a": "RETURN 2"}, "`V1__a.cypher` is not what was applied"),
        ({"V1__a": None}, "`V1__a.cypher` was applied, and there is no such file"),
        ({"V0_5__late": "RETURN 1"}, "`V0_5__late.cypher` comes before what is applied"),
    ],
    ids=["changed", "gone", "late"],
)
def test_files_that_are_not_those_applied_are_refused(driver, session, own, change, told):
    """A run begins only where the files go on from what was applied."""
    migrate(driver, own({"migrations/V1__a.cypher": "RETURN 1"}))
    for name, content in change.items():
        if content is None:
            (own.folder / f"migrations/{name}.cypher").unlink()
    written = {f"migrations/{name}.cypher": text for name, text in change.items() if text}

    with pytest.raises(ChainMismatch, match=told):
        migrate(driver, own(written))


def test_no_server_is_an_error_of_ours(server):
    """A server that cannot be reached is told by code, without a traceback."""
    with server.driver(port=1) as nowhere, pytest.raises(GraphUnavailable):
        migrate(nowhere)


@pytest.mark.slow
def test_the_procedure_tells_what_the_graph_has(driver, session):
    """`sidecypher.migrations()` has a row for each script that ships."""
    pending = session.run("CALL sidecypher.migrations() YIELD state").value()
    migrate(driver)
    rows = session.run("CALL sidecypher.migrations()").data()

    assert set(pending) == {"pending"}
    assert [row["source"] for row in rows] == [s.source for s in shipped_scripts().migrations]
    assert {row["state"] for row in rows} == {"applied"}
    assert rows[0]["installedAt"].year >= 2026


def test_a_dry_run_writes_nothing(server, driver, session, own, names):
    """`dry-run` prints the statements that would run; graph and schema stay as they are."""
    own({"migrations/V1__first.cypher": FIRST})
    before = names()

    done = server.command("migrate", "dry-run", "--folder", str(own.folder), "--json")

    [script] = json.loads(done.stdout)["scripts"]
    assert [each["line"] for each in script["statements"]] == [2, 3, 4, 5]
    assert (names(), everything(session)) == (before, [])
