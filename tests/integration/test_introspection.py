"""What `sidecypher.*` tells and does inside Neo4j."""

import json
import time

import pytest
from docs.pages import ROOT, blocks
from fix_waiting import promised
from neo4j.exceptions import ClientError, Neo4jError


def test_the_sidecar_tells_about_itself(session, server):
    """Version, identity and what is loaded are those of the sidecar that runs."""
    sidecar = server.sidecar
    row = session.run("CALL sidecypher.info()").single()

    assert (row["pid"], row["generation"]) == (sidecar.pid, sidecar.generation)
    assert (row["procedures"], row["leftOut"]) == (sidecar.procedures, len(sidecar.left_out))


def test_procedures_are_listed_as_neo4j_shows_them(session):
    """Every procedure of the plugin is in service, with its mode."""
    namespaces = ["test", "sidecypher", "github"]
    shown = session.run(
        "SHOW PROCEDURES YIELD name, mode WHERE split(name, '.')[0] IN $namespaces "
        "RETURN name, mode ORDER BY name",
        namespaces=namespaces,
    )
    listed = session.run(
        "CALL sidecypher.procedures() YIELD name, kind, mode, problem "
        "WHERE kind = 'procedure' AND problem IS NULL AND split(name, '.')[0] IN $namespaces "
        "RETURN name, mode ORDER BY name",
        namespaces=namespaces,
    )

    assert [record.values() for record in listed] == [record.values() for record in shown]


@pytest.mark.slow
def test_every_sample_call_is_a_statement(session, server):
    """Neo4j plans each call that `sidecypher procedures` offers for pasting."""
    listed = json.loads(server.command("procedures", "--json").stdout)
    assert {"test.nodeItself", "test.backwards", "fn.caption"} <= {each["name"] for each in listed}

    for each in listed:
        session.run(f"EXPLAIN {each['sample']}").consume()


def test_the_reference_is_what_neo4j_shows(session):
    """docs/reference.md has the signature of each shipped procedure as `SHOW PROCEDURES` does."""
    written = [block.text.strip() for block in blocks("text", pages=[ROOT / "docs/reference.md"])]
    shown = session.run("SHOW PROCEDURES YIELD signature").value()

    assert [signature for signature in written if signature not in shown] == []


def test_all_is_well(session):
    """Every check of `/readyz` is fine."""
    rows = session.run(
        "CALL sidecypher.health() YIELD check, ok, problem RETURN check, ok, problem"
    )

    assert {record["check"]: record["problem"] for record in rows if not record["ok"]} == {}


def test_running_calls_are_seen_with_their_user(driver, session):
    """A call with rows left is shown to others, with its user and database."""
    with driver.session(fetch_size=10) as other:
        stream = iter(other.run("CALL test.closing('seen') YIELD value RETURN value"))
        next(stream)
        rows = session.run("CALL sidecypher.running() YIELD name, user, database, rows RETURN *")
        found = {record["name"]: record for record in rows}

    assert found["test.closing"]["user"] == "neo4j"
    assert found["test.closing"]["database"] == "neo4j"
    assert found["test.closing"]["rows"] > 0


def test_procedures_that_reach_others_are_for_administrators(session):
    """Neo4j knows which procedures ask for an administrator."""
    rows = session.run(
        "SHOW PROCEDURES YIELD name, admin WHERE name STARTS WITH 'sidecypher.' "
        "RETURN name, admin ORDER BY name"
    )

    assert {record["name"]: record["admin"] for record in rows} == {
        "sidecypher.cache": False,
        "sidecypher.cluster": False,
        "sidecypher.call": True,
        "sidecypher.callWrite": True,
        "sidecypher.clearCache": True,
        "sidecypher.graphSize": True,
        "sidecypher.health": False,
        "sidecypher.info": False,
        "sidecypher.changes": False,
        "sidecypher.dropChanges": False,
        "sidecypher.migrations": False,
        "sidecypher.procedures": False,
        "sidecypher.reload": True,
        "sidecypher.running": True,
    }


@pytest.mark.parametrize("args", ["['Ann']", "{value: 'Ann'}"])
def test_a_procedure_is_called_by_its_name(session, args):
    """Each row is a MAP of the columns."""
    row = session.run(f"CALL sidecypher.call('test.echo', {args}) YIELD row RETURN row").single()

    assert row["row"] == {"value": "Ann"}


def test_values_and_streams_go_through_a_call_by_name(session):
    """Temporal values keep their types, and pages follow each other."""
    kept = session.run(
        "WITH datetime('2024-02-29T10:11:12.123456789[Europe/Berlin]') AS at "
        "CALL sidecypher.call('test.echoAny', [at]) YIELD row RETURN row.value = at AS same"
    ).single()
    total = session.run(
        "CALL sidecypher.call('test.count', [5000]) YIELD row RETURN sum(row.value) AS total"
    ).single()

    assert kept["same"]
    assert total["total"] == sum(range(5_000))


@pytest.mark.parametrize("name", ["test.briefAsync", "test.briefSpin"])
def test_a_call_by_name_has_the_timeout_of_its_procedure(session, name):
    """The plugin allows 5 minutes; the 0.3 s of the procedure itself end the call."""
    begun = time.monotonic()

    with pytest.raises(Neo4jError, match=rf"\[SC-213\] `{name}` did not answer"):
        session.run(f"CALL sidecypher.call('{name}', [20])").consume()

    assert time.monotonic() - begun < promised(1.3)


def test_a_procedure_of_a_worker_process_is_called_by_its_name(session):
    """Where a body runs is not its caller's business."""
    query = "CALL sidecypher.call('process.echo', [[1, 'a']]) YIELD row RETURN row.value AS value"

    assert session.run(query).single()["value"] == [1, "a"]


def test_a_write_by_name_is_the_callers(session):
    """`sidecypher.callWrite` runs in the caller's transaction; `sidecypher.call` writes nothing."""
    session.run("CALL sidecypher.callWrite('test.touch.batch', [[['a'], ['b']]])").consume()

    assert session.run("MATCH (n:Touched) RETURN count(n) AS n").single()["n"] == 2
    with pytest.raises(ClientError, match="has the mode WRITE"):
        session.run("CALL sidecypher.call('test.touch', ['c'])").consume()


def test_a_reload_without_a_change_changes_nothing(session):
    """Nothing is imported again, and nothing is told."""
    assert session.run("CALL sidecypher.reload()").data() == []
