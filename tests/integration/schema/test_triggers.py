"""Triggers are checked, installed, waited for, and stopped while scripts run."""

import subprocess
import sys
from dataclasses import dataclass, replace

import pytest
from fix_waiting import wait_until
from neo4j.exceptions import ClientError

from sidecypher_schema import (
    Graph,
    clean,
    connect,
    find_drift,
    migrate,
    own_scripts,
    repair,
    shipped_scripts,
)
from sidecypher_schema.apoc import find_apoc
from sidecypher_schema.errors import (
    GraphUnavailable,
    StatementFailed,
    TriggerRefused,
)

GUARD = """// trigger: own-guard
// phase: before
// params: {"word": "forbidden"}

UNWIND coalesce($assignedLabels['OwnGuarded'], []) AS n
CALL apoc.util.validate(n.name = $word, 'own-guard says no; %s', [n.name])
RETURN count(*);
"""
BAD = {
    "no phase": (GUARD.replace("before", "whenever"), "The phase of the trigger `own-guard`"),
    "no name": (GUARD.replace("own-guard\n", "\n"), "does not name its trigger"),
    "no Cypher": (GUARD.replace("RETURN count(*)", "RETURN count("), r"line 5, cannot be planned"),
    "no such procedure": (GUARD.replace("apoc.util.validate", "apoc.no"), "cannot be planned"),
    "unknown parameter": (GUARD.replace("$word", "$wrod"), r"uses `\$wrod`"),
    "two statements": (GUARD + "RETURN 1", "has 2 statements instead of one"),
    "no parameters": (GUARD.replace('{"word"', '{"word'), "are not a JSON object"),
}


def installed(session):
    return {
        row["name"]: row for row in session.run("CALL apoc.trigger.list()") if "own" in row["name"]
    }


def drift(driver, scripts):
    return [(each.what, each.problem) for each in find_drift(connect(driver), scripts)]


def paused(driver):
    return {name for name, one in find_apoc(connect(driver)).triggers().items() if one.paused}


def fail_without(connection):
    connection.close()
    raise StatementFailed("the first")


def write_forbidden(session):
    session.run("CREATE (:OwnGuarded {name: 'forbidden'})").consume()


def test_a_trigger_is_at_work_when_the_run_ends(driver, session, own):
    """The next write meets it: the run has waited until Neo4j shows it."""
    done = migrate(driver, own({"triggers/guard.cypher": GUARD}))

    with pytest.raises(ClientError, match="own-guard says no; forbidden"):
        write_forbidden(session)

    session.run("CREATE (:OwnGuarded {name: 'allowed'})").consume()
    assert done.triggers == ("own-guard",)
    assert migrate(driver, own({})).triggers == ()


@pytest.mark.parametrize(("text", "told"), BAD.values(), ids=BAD)
def test_a_bad_trigger_is_refused_before_anything_runs(driver, session, own, text, told):
    """What would make every write fail is not installed, and no script runs."""
    with pytest.raises(TriggerRefused, match=told):
        migrate(
            driver,
            own({"triggers/guard.cypher": text, "migrations/V1__a.cypher": "CREATE (:Own)"}),
        )

    assert installed(session) == {}
    assert session.run("MATCH (n:Own) RETURN count(n)").value() == [0]


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True], ids=["good", "failing"])
def test_scripts_run_without_triggers(driver, session, own, fails):
    """Triggers are stopped while scripts run and at work afterwards, also after a failure."""
    migrate(driver, own({"triggers/guard.cypher": GUARD}))
    script = "CREATE (:OwnGuarded {name: 'forbidden'});" + ("RETURN 1 / 0;" if fails else "")
    if fails:
        with pytest.raises(StatementFailed):
            migrate(driver, own({"migrations/V1__bulk.cypher": script}))
    else:
        migrate(driver, own({"migrations/V1__bulk.cypher": script}))

    with pytest.raises(ClientError, match="own-guard says no"):
        write_forbidden(session)


@dataclass(frozen=True, slots=True)
class Cut(Graph):
    """A graph whose connection is lost when a trigger is given an order."""

    order: str
    trigger: str

    def run(self, query, parameters=None, database=None):
        if self.order in query and (parameters or {}).get("name") == self.trigger:
            raise GraphUnavailable("The connection is cut")
        return Graph.run(self, query, parameters, database)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["trigger.stop", "trigger.start"])
def test_triggers_start_again_when_one_cannot_be_stopped_or_started(driver, session, own, order):
    """Where the connection fails at one of them, the others are at work all the same."""
    other = GUARD.replace("own-guard", "own-other").replace("OwnGuarded", "OwnOther")
    scripts = own({"triggers/guard.cypher": GUARD, "triggers/other.cypher": other})
    migrate(driver, scripts)
    whole = connect(driver)
    names = [one.name for one in find_apoc(whole).triggers().values() if one.target is not None]
    apoc = replace(find_apoc(whole), graph=Cut(driver, whole.database, order, names[1]))

    with pytest.raises(GraphUnavailable, match="is cut"), apoc.stopped():
        pass

    left = {names[1]} if order == "trigger.start" else set()
    wait_until(lambda: paused(driver) == left)
    migrate(driver)
    migrate(driver, scripts)
    assert paused(driver) == set()


@pytest.mark.slow
def test_a_failure_is_told_also_when_triggers_cannot_be_started(server, driver, session, own):
    """What went wrong first is raised; the next run starts the triggers."""
    scripts = own({"triggers/guard.cypher": GUARD})
    migrate(driver, scripts)

    with (
        server.driver() as lost,
        pytest.raises(StatementFailed, match="the first"),
        find_apoc(connect(lost)).stopped(),
    ):
        fail_without(lost)

    assert ("trigger", "stopped") in drift(driver, scripts)
    migrate(driver, scripts)
    migrate(driver)
    assert drift(driver, scripts) == []
    assert drift(driver, shipped_scripts()) == []


def test_a_changed_trigger_replaces_the_old_one(driver, session, own):
    """A trigger whose file has changed is drift, and installed anew."""
    migrate(driver, own({"triggers/guard.cypher": GUARD}))
    changed = own({"triggers/guard.cypher": GUARD.replace("says no", "says never")})
    assert drift(driver, changed) == [("trigger", "changed")]

    migrate(driver, changed)

    with pytest.raises(ClientError, match="own-guard says never"):
        write_forbidden(session)
    assert drift(driver, changed) == []


def test_a_trigger_that_was_stopped_or_dropped_is_drift(driver, session, own):
    """What somebody does to a trigger by hand is told, and undone by a run."""
    scripts = own({"triggers/guard.cypher": GUARD})
    migrate(driver, scripts)
    for order, problem in (("stop", "stopped"), ("drop", "pending")):
        with driver.session(database="system") as system:
            system.run(f"CALL apoc.trigger.{order}('neo4j', 'own-guard')").consume()
        wait_until(lambda told=problem: drift(driver, scripts) == [("trigger", told)])
        migrate(driver, scripts)

        assert drift(driver, scripts) == []


def test_a_trigger_without_a_file_is_dropped(driver, session, own):
    """When its file is gone, a run drops the trigger, and only those of this chain."""
    migrate(driver, own({"triggers/guard.cypher": GUARD}))
    (own.folder / "triggers/guard.cypher").unlink()
    scripts = own({})
    assert drift(driver, scripts) == [("trigger", "missing")]

    migrate(driver, scripts)

    assert installed(session) == {}


def test_a_trigger_of_somebody_else_is_left_alone(driver, session, own):
    """A name that is taken is refused; the trigger that has it stays."""
    with driver.session(database="system") as system:
        system.run(
            "CALL apoc.trigger.install('neo4j', 'own-guard', 'RETURN 1', {phase: 'after'})"
        ).consume()
    try:
        wait_until(lambda: installed(session))
        for bring in (migrate, repair):
            with pytest.raises(TriggerRefused, match="that sidecypher has not installed"):
                bring(driver, own({"triggers/guard.cypher": GUARD}))

        assert installed(session)["own-guard"]["query"] == "RETURN 1"
    finally:
        find_apoc(connect(driver)).drop(["own-guard"])


@pytest.mark.slow
def test_a_trigger_of_other_scripts_is_left_alone(driver, session, own):
    """Scripts of one's own can neither replace a trigger that ships, nor drop it later."""
    migrate(driver)
    guard = find_apoc(connect(driver)).triggers()["rules-guard"]
    for bring in (migrate, repair):
        with pytest.raises(TriggerRefused, match="`rules-guard` that came with the scripts of"):
            bring(driver, own({"triggers/guard.cypher": GUARD.replace("own-guard", "rules-guard")}))
    (own.folder / "triggers/guard.cypher").unlink()
    migrate(driver, own({}))

    assert find_apoc(connect(driver)).triggers()["rules-guard"] == guard


_MIGRATE = """
import sys
from pathlib import Path
import neo4j
from sidecypher_schema import migrate, own_scripts

uri, password, folder = sys.argv[1:]
with neo4j.GraphDatabase.driver(uri, auth=("neo4j", password)) as driver:
    migrate(driver, own_scripts(Path(folder), "other"), lease=1)
"""


@pytest.mark.slow
def test_triggers_that_a_killed_run_has_stopped_are_started(
    server, driver, session, own, tmp_path_factory
):
    """The next run of any folder starts them; what an operator has stopped stays stopped."""
    migrate(driver)
    migrate(driver, own({"triggers/guard.cypher": GUARD}))
    with driver.session(database="system") as system:
        system.run("CALL apoc.trigger.stop('neo4j', 'own-guard')").consume()
    wait_until(lambda: paused(driver) == {"own-guard"})
    folder = tmp_path_factory.mktemp("other")
    script = folder / "migrations/V1__slow.cypher"
    script.parent.mkdir()
    script.write_text("CALL apoc.util.sleep(60000)")
    arguments = [server.facts["bolt"], server.password, str(folder)]
    with subprocess.Popen([sys.executable, "-c", _MIGRATE, *arguments]) as running:
        try:
            wait_until(lambda: "rules-guard" in paused(driver))
        finally:
            running.kill()
    # Neo4j sleeps on, which keeps the next test waiting.
    session.run(
        "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS query "
        "WHERE query STARTS WITH 'CALL apoc.util.sleep' "
        "TERMINATE TRANSACTIONS id YIELD message RETURN message"
    ).consume()

    assert ("trigger", "rules-guard", "stopped") in problems(driver, own_scripts(folder, "other"))
    script.write_text("RETURN 1")
    scripts = own_scripts(folder, "other")
    migrate(driver, scripts, wait=30)
    try:
        assert paused(driver) == {"own-guard"}
        assert problems(driver, scripts) == []
        assert session.run("MATCH (t:__SidecypherStoppedTrigger) RETURN t").data() == []
    finally:
        clean(driver, scripts)


def problems(driver, scripts):
    return [(each.what, each.name, each.problem) for each in find_drift(connect(driver), scripts)]
