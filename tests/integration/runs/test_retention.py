"""`runs.retain` on a real Neo4j."""

from pathlib import Path

import pytest
from neo4j.exceptions import ClientError
from neo4j.time import Duration

MONTH = Duration(days=30)


@pytest.fixture
def old(runs, session):
    """Make runs that ended some days ago; return their ids."""

    def make(run_type="old", days=40, number=1, state="completed"):
        ids = [runs.new(run_type) for _ in range(number)]
        for run in ids:
            runs.append(run, "workflowState", state=state)
        session.run(
            "MATCH (r:WorkflowRun) WHERE r.id IN $ids "
            "SET r.completedAt = datetime() - duration({days: $days})",
            ids=ids,
            days=days,
        ).consume()
        return ids

    return make


def left(session):
    return set(session.run("MATCH (r:WorkflowRun) RETURN r.id").value())


def names(rows):
    return {row["id"] for row in rows}


def test_nothing_happens_unless_it_is_wanted(runs, session, old):
    """By default it is only told which runs would be archived."""
    done, failed = old(), old(state="error")
    rows = runs.call("retain", "old", MONTH)

    assert {row["id"]: (row["state"], row["action"]) for row in rows} == {
        done[0]: ("completed", "archive"),
        failed[0]: ("error", "archive"),
    }
    assert {row["action"] for row in runs.call("retain", "old", MONTH, {"delete": True})} == {
        "delete"
    }
    assert left(session) == {*done, *failed}


def test_old_runs_are_archived(runs, session, server, old):
    """Those of the type that ended before the time are in files then, all others stay."""
    ended = old(number=3)
    others = [*old(days=20), *old("another"), runs.new("old")]
    rows = runs.call("retain", "old", MONTH, {"dryRun": False})

    assert names(rows) == set(ended)
    assert left(session) == set(others)
    assert runs.call("retain", "old", MONTH, {"dryRun": False}) == []
    folder = Path(server.environ["SIDECYPHER_RUNS_ARCHIVE_DIR"])
    for run in ended:
        row = runs.one("restore", run)
        assert (folder / row["file"]).is_file()
        assert runs.one("verify", run)["ok"]


def test_old_runs_are_deleted(runs, session, old):
    """With `delete` no file is made, and the run is gone for good."""
    [run] = old()
    runs.call("retain", "old", MONTH, {"dryRun": False, "delete": True})

    assert session.run("MATCH (n) RETURN count(n)").value() == [0]
    with pytest.raises(ClientError, match=r"SC-920"):
        runs.one("restore", run)


def test_those_that_ended_first_go_first(runs, session, old):
    """`limit` leaves the younger ones for the next call."""
    ids = [old(days=days)[0] for days in (40, 60, 50)]
    rows = runs.call("retain", "old", MONTH, {"dryRun": False, "delete": True, "limit": 2})

    assert names(rows) == {ids[1], ids[2]}
    assert left(session) == {ids[0]}


def test_a_call_takes_as_many_events_as_a_transaction_may_have(runs, session, old):
    """Runs that do not fit are left for the next call; one goes always, however long."""
    ids = [old(days=days)[0] for days in (70, 60, 50, 40)]
    session.run(
        "UNWIND range(0, 3) AS n MATCH (r:WorkflowRun {id: $ids[n]}) SET r.lastSeq = $seqs[n]",
        ids=ids,
        seqs=[15_000, 5_001, 14_999, 30_000],
    ).consume()

    options = {"dryRun": False, "delete": True}
    assert names(runs.call("retain", "old", MONTH)) == set(ids)
    for gone in (ids[:1], ids[1:3], ids[3:], []):
        assert names(runs.call("retain", "old", MONTH, options)) == set(gone)


def test_what_runs_or_awaits_something_is_never_touched(runs, session, old):
    """Neither a run that goes on, nor one whose plan awaits its review, nor one that is shared."""
    going, awaiting, shared = old(number=3)
    runs.append(going, "status")
    session.run(
        "MATCH (r:WorkflowRun {id: $id}) SET r.state = 'running', r.status = 'running'", id=going
    ).consume()
    session.run(
        "MATCH (e:Event {runId: $id}) SET e:Plan, e.status = 'pending_review'", id=awaiting
    ).consume()
    fork = runs.one("fork", shared, 1, {"type": "another"})["id"]

    for options in ({}, {"dryRun": False}, {"dryRun": False, "delete": True}):
        assert runs.call("retain", "old", MONTH, options) == []
    assert left(session) == {going, awaiting, shared, fork}


def test_a_plan_that_nobody_waits_for_holds_no_run(runs, old):
    """Neither an older version of a plan nor a deleted plan awaits its review."""
    [revised, deleted] = old(number=2)
    first = runs.one("plan.create", revised, {"content": "Wait.", "status": "pending_review"})
    second = runs.one("plan.revise", first["id"], "ann", {"content": "Go."})["id"]
    runs.one("plan.approve", second, "ann")
    gone = runs.one("plan.create", deleted, {"content": "Wait.", "status": "pending_review"})
    runs.one("deleteEvent", gone["id"])

    assert names(runs.call("retain", "old", MONTH)) == {revised, deleted}


def test_a_run_that_cannot_be_archived_holds_up_no_others(runs, session, old):
    """It is told, and the others leave."""
    first, second = old(days=60)[0], old()[0]
    session.run("MATCH (r:WorkflowRun {id: $id}) CREATE (:Note)-[:ABOUT]->(r)", id=first).consume()
    rows = runs.call("retain", "old", MONTH, {"dryRun": False})

    assert {row["id"]: row["action"] for row in rows} == {first: "stay", second: "archive"}
    assert left(session) == {first}


# What may be wrong with a run, and how `runs.archive` tells of it.
OBSTACLES = {
    "an archive of an earlier run": ("CREATE (:ArchivedRun {id: r.id, digest: 'd'})", "SC-906"),
    "a time that is a text": ("SET r.createdAt = '2026-01-01'", "SC-917.*`createdAt`"),
    "a time without zone": ("SET r.createdAt = localdatetime()", "SC-917.*`createdAt`"),
    "a text that is a date": ("SET e.content = date()", "SC-917.*`runs.verify`"),
}


@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES)
def test_whatever_holds_one_run_holds_no_others(runs, session, old, obstacle):
    """The run stays, whole, and is told at every call; the others leave."""
    change, error = obstacle
    first, second = old(days=60)[0], old()[0]
    session.run(
        f"MATCH (r:WorkflowRun {{id: $id}})<-[:PART_OF]-(e:Event) {change} RETURN r", id=first
    ).consume()
    rows = runs.call("retain", "old", MONTH, {"dryRun": False})

    assert {row["id"]: row["action"] for row in rows} == {first: "stay", second: "archive"}
    assert left(session) == {first}
    assert session.run("MATCH (e:Event) RETURN count(e)").value() == [1]
    with pytest.raises(ClientError, match=error):
        runs.one("archive", first)


@pytest.mark.parametrize("text", [b"\xff\n", b""], ids=["a damaged file", "an empty file"])
def test_a_file_that_was_damaged_is_written_anew(runs, session, server, old, text):
    """What would have its name is the same, so the run leaves and can be restored."""
    [run] = old()
    file = runs.one("archive", run)["file"]
    runs.one("restore", run)
    (Path(server.environ["SIDECYPHER_RUNS_ARCHIVE_DIR"]) / file).write_bytes(text)

    assert [row["action"] for row in runs.call("retain", "old", MONTH, {"dryRun": False})] == [
        "archive"
    ]
    assert left(session) == set()
    assert runs.one("restore", run)["file"] == file


def test_those_that_stay_do_not_count(runs, session, old):
    """`limit` is how many leave, so that many older ones that stay hold up no younger one."""
    staying, leaving = old(days=60, number=5), old(number=2)
    session.run(
        """
        MATCH (first:WorkflowRun {id: $ids[0]})
        UNWIND range(0, 4) AS number
        MATCH (r:WorkflowRun {id: $ids[number]})
        SET r.completedAt = datetime({datetime: first.completedAt, timezone: $zones[number]})
        CREATE (:Note)-[:ABOUT]->(r)
        """,
        ids=staying,
        zones=["Z", "Europe/Berlin", "+01:00", "UTC", "Z"],
    ).consume()
    for number in (1, 1, 0):
        rows = runs.call("retain", "old", MONTH, {"dryRun": False, "limit": 1})
        told = [row["action"] for row in rows]
        assert (told.count("stay"), told.count("archive")) == (5, number)

    assert left(session) == set(staying)
    assert not left(session) & set(leaving)


def test_a_run_that_is_stored_as_failed_has_ended(runs, session, old):
    """Plain Cypher may have written it so, and in one of its properties only."""
    [run] = old(state="error")
    session.run("MATCH (r:WorkflowRun) SET r.status = 'failed' REMOVE r.state").consume()
    for dry in (True, False):
        [row] = runs.call("retain", "old", MONTH, {"dryRun": dry})
        assert (row["id"], row["state"], row["action"]) == (run, "error", "archive")

    assert left(session) == set()
    runs.one("restore", run)
    assert runs.one("state", run)["state"] == "error"
    assert runs.append(run, "workflowStarted")["state"] == "running"


def test_a_file_outlives_the_run(runs, session, old):
    """What is deleted for good may be in a file from before, with what it said then."""
    [run] = old()
    text = runs.append(run, "status", content="secret")["id"]
    runs.one("archive", run)
    runs.one("restore", run)
    runs.one("deleteEvent", text)
    assert len(runs.call("retain", "old", MONTH, {"dryRun": False, "delete": True})) == 1
    assert left(session) == set()

    runs.one("restore", run)
    assert runs.events(run)[-1]["event"]["content"] == "secret"


@pytest.mark.parametrize(
    ("age", "options", "error"),
    [
        (Duration(days=-1), {}, "SC-902.*negative"),
        (Duration(months=1, seconds=-1), {}, "SC-902.*negative"),
        (MONTH, {"limit": 0}, "SC-204.*`options.limit`"),
        (MONTH, {"limit": 1001}, "SC-204.*`options.limit`"),
        (MONTH, {"dryRun": "no"}, "SC-204.*`options.dryRun`"),
        (MONTH, {"colour": "red"}, "SC-204.*`colour`"),
    ],
)
def test_what_is_no_retention_is_refused(runs, old, age, options, error):
    """The error names the thing, and the run stays."""
    [run] = old()
    with pytest.raises(ClientError, match=error):
        runs.call("retain", "old", age, {"dryRun": False, **options})
    assert runs.one("state", run)["state"] == "completed"
