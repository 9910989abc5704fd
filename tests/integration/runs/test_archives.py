"""`runs.archive`, `runs.restore` and `runs.retain` on a real Neo4j."""

import json
from pathlib import Path
from pprint import pformat

import pytest
from neo4j.exceptions import ClientError, Neo4jError

LONG = 9000 * "x"

# All that the graph has of a run, but for what locks set.
GRAPH = """
    MATCH (n) WHERE n:Event OR n:WorkflowRun OR n:Payload
    WITH apoc.coll.sort(labels(n)) AS labels, properties(n) AS properties,
        COLLECT {
            MATCH (n)-[l]-(o)
            WITH [type(l), startNode(l) = n, properties(l), coalesce(o.id, o.sha, o.sha256)] AS link
            RETURN link ORDER BY link[0], link[1], link[3], link[2]
        } AS links
    WHERE properties.content IS NOT NULL OR NOT 'Payload' IN labels
    RETURN labels, apoc.map.removeKey(properties, 'lock') AS properties, links
    ORDER BY labels[0], properties.id, properties.sha256
"""


@pytest.fixture
def archives(server):
    """The folder of archives; there are none yet."""
    folder = Path(server.environ["SIDECYPHER_RUNS_ARCHIVE_DIR"])
    for file in folder.glob("*/*"):
        file.unlink()
    return folder


@pytest.fixture
def ended(runs, session, archives):
    """A run that has ended and has some of everything."""
    session.run(
        "CREATE (:Issue {id: '7'}), (:Repository {id: '8'}), (:GithubWebhookEvent {id: 'd'}), "
        "(:PullRequest {id: '9'})"
    ).consume()
    run = runs.new(id="r1", initiatedBy="ann", triggeredBy="d", metadata={"a": [1, "b"]})
    events = [
        {"type": "workflowStarted", "id": "start"},
        {"type": "userMessage", "id": "long", "content": LONG},
        {"type": "userMessage", "id": "same", "content": LONG, "parentIds": ["start"]},
        {"type": "toolCall", "id": "call", "toolName": "t", "toolCallId": "1", "join": True},
        {"type": "toolCallResult", "id": "result", "toolCallId": "1", "content": "ä\n\u2028"},
        {"type": "llmResponse", "id": "draft"},
        {"type": "llmResponse", "id": "plan", "executedBy": "a", "respondsTo": "long",
         "references": ["7"], "metadata": {"n": 1.5}},
        {"type": "workflowCompleted", "id": "end"},
    ]  # fmt: skip
    runs.call("appendMany", run, events)
    runs.one("deleteEvent", "same")
    # What other procedures, and others, may write beside it.
    session.run(
        """
        MATCH (r:WorkflowRun {id: 'r1'}), (p:Event {id: 'plan'}), (i:Issue {id: '7'}),
            (q:PullRequest {id: '9'}), (d:Event {id: 'draft'})
        SET p:Plan, p.status = 'approved', p.version = 1, p.several = [1, 2], p.none = [],
            p.when = date('2026-02-28'), p.long = duration('P1M2DT3.000000004S'),
            p.moment = datetime('2026-01-02T03:04:05.123456789[Europe/Berlin]'),
            p.time = time('01:02:03.000000004+05:30'), p.here = localdatetime('0001-02-03T04:05'),
            p.at = point({x: 1, y: 2}), p.above = point({longitude: 1, latitude: 2, height: 3}),
            p.small = 1e-300, p.big = 9223372036854775807, p.no = 0.0 / 0.0, p.less = -1.0 / 0.0,
            p.bytes = $bytes, d:Plan, d.status = 'draft', d.version = 1
        CREATE (i)-[:HAS_RUNS]->(r), (r)-[:BASED_ON_ISSUE]->(i), (r)-[:BASED_ON]->(i),
            (r)-[:BASED_ON_COMMIT]->(:Commit {sha: 'c'}), (q)-[:GENERATED_BY]->(r),
            (b:User {id: 'bob'})-[:APPROVES {timestamp: localtime('01:02:03'), version: 1}]->(p),
            (b)-[:APPROVES {version: 2}]->(p), (b)-[:APPROVES]->(p), (b)-[:APPROVES]->(p),
            (p)-[:PREVIOUS_VERSION]->(d), (p)-[:SAME {n: 1}]->(p), (r)-[:SAME]->(r),
            (p)-[:IMPLEMENTS]->(i), (:Note {id: 'n'})
        """,
        bytes=b"\x00\xff",
    ).consume()
    return run


def graph(session):
    """Return all of it as text: what is not a number is not equal to itself."""
    return pformat(session.run(GRAPH).data())


def archived(session):
    """Return the ids of what is left of runs in the graph."""
    return session.run("MATCH (n) WHERE n:Event OR n:WorkflowRun RETURN n.id AS id").value()


def test_a_run_comes_back_as_it_was(runs, session, archives, ended):
    """Every node, value, label and relationship is in the file, and is the same when restored."""
    before = graph(session)
    row = runs.one("archive", ended)

    assert (row["id"], row["events"]) == (ended, 8)
    assert archived(session) == []
    assert session.run("MATCH (p:Payload) RETURN p.content").value() == [None]
    file = archives / row["file"]
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert lines[0]["run"][1] == ended
    assert lines[-1]["end"] == [9, sum("relationship" in line for line in lines), row["digest"]]
    assert file.stat().st_mode & 0o077 == 0

    assert runs.one("restore", ended) == row
    assert graph(session) == before
    assert runs.one("verify", ended)["ok"]
    assert runs.append(ended, "workflowCompleted", id="end")["duplicate"]
    assert runs.one("archive", ended) == row


def test_each_is_told_again_to_who_missed_the_answer(runs, session, ended):
    """To archive again changes nothing; to restore again is refused."""
    row = runs.one("archive", ended)
    assert runs.one("archive", ended) == row
    runs.one("restore", ended)
    with pytest.raises(ClientError, match=r"SC-906.*in the graph"):
        runs.one("restore", ended)
    assert len(archived(session)) == 9


def test_a_rolled_back_transaction_changes_nothing(runs, session, driver, ended):
    """The file is there and the run too; it goes on, and is archived as it is then."""
    with driver.session() as other, other.begin_transaction() as transaction:
        transaction.run("CALL runs.archive($run)", run=ended).consume()
        transaction.rollback()
    runs.one("deleteEvent", "long")
    before = graph(session)
    runs.one("archive", ended)
    with driver.session() as other, other.begin_transaction() as transaction:
        transaction.run("CALL runs.restore($run)", run=ended).consume()
        transaction.rollback()
    assert archived(session) == []

    runs.one("restore", ended)
    assert graph(session) == before


def test_a_run_that_is_needed_stays(runs, session, ended):
    """It has to have ended, no plan may await its review, and no fork may share its events."""
    running = runs.new()
    for event in (None, "workflowStarted"):
        if event:
            runs.append(running, event)
        with pytest.raises(ClientError, match=r"SC-917.*has not ended"):
            runs.one("archive", running)
    session.run("MATCH (p:Plan) SET p.status = 'pending_review'").consume()
    with pytest.raises(ClientError, match=r"SC-917.*awaits its review"):
        runs.one("archive", ended)
    session.run("MATCH (p:Plan) SET p.status = 'rejected'").consume()
    runs.one("fork", ended, 8, {"id": "fork"})
    with pytest.raises(ClientError, match=r"SC-917.*forks"):
        runs.one("archive", ended)
    session.run("MATCH (n:Note), (e:Event {id: 'end'}) CREATE (n)-[:ABOUT]->(e)").consume()
    runs.one("archive", "fork")
    with pytest.raises(ClientError, match=r"SC-917.*Event `end`.*`ABOUT`"):
        runs.one("archive", ended)
    session.run("MATCH ()-[a:ABOUT]->() DELETE a").consume()
    session.run("MATCH (e:Event {id: 'end'}) SET e.content = 'another'").consume()
    with pytest.raises(ClientError, match=r"SC-917.*`runs.verify`"):
        runs.one("archive", ended)
    with pytest.raises(ClientError, match=r"SC-903.*`none`"):
        runs.one("archive", "none")
    assert len(archived(session)) == 11


def test_a_fork_is_restored_after_its_origin(runs, session, ended):
    """Its file has its own events only; those that it shares must be there."""
    runs.one("fork", ended, 7, {"id": "fork"})
    runs.append("fork", "workflowCompleted", id="own", parentIds=["plan", "long"])
    before = graph(session)
    row = runs.one("archive", "fork")
    assert row["events"] == 1
    runs.one("archive", ended)

    with pytest.raises(ClientError, match=r"SC-909.*`r1`"):
        runs.one("restore", "fork")
    runs.one("restore", ended)
    runs.one("restore", "fork")
    assert graph(session) == before
    assert runs.one("verify", "fork")["ok"]


def test_what_a_run_refers_to_must_be_there(runs, session, ended):
    """Users, agents and commits are written anew by their key; anything else is named."""
    runs.one("archive", ended)
    session.run("MATCH (n) WHERE n:User OR n:AIAgent OR n:Commit DETACH DELETE n").consume()
    session.run("MATCH (i:Issue) DETACH DELETE i").consume()
    with pytest.raises(ClientError, match=r"SC-909.*Issue `7`"):
        runs.one("restore", ended)
    assert archived(session) == []

    session.run("CREATE (:Issue {id: '7'})").consume()
    runs.one("restore", ended)
    assert session.run(
        "MATCH (n) WHERE n:User OR n:AIAgent OR n:Commit RETURN count(n)"
    ).value() == [4]


@pytest.mark.parametrize("order", [("r1", "other"), ("other", "r1")])
def test_of_runs_that_refer_to_each_other_the_first_comes_back_last(runs, session, ended, order):
    """The file of that one names an event of the other, which has to be there."""
    other = runs.new(id="other")
    runs.append(other, "userMessage", id="own", respondsTo="long")
    runs.append(other, "workflowCompleted")
    before = graph(session)
    for run in order:
        runs.one("archive", run)

    with pytest.raises(ClientError, match=r"SC-909.*Event"):
        runs.one("restore", order[0])
    for run in reversed(order):
        runs.one("restore", run)
    assert graph(session) == before
    for run in order:
        runs.one("archive", run)
        runs.one("restore", run)
        assert graph(session) == before


def test_a_restore_waits_for_another_one(runs, beside, ended):
    """The second of two finds the run in the graph, and no raw error of a constraint."""
    runs.one("archive", ended)

    restore = f"CALL runs.restore('{ended}') YIELD id RETURN id"
    with pytest.raises(ClientError, match=r"SC-906.*is in the graph"):
        beside(restore, restore)
    assert runs.one("verify", ended)["ok"]


def test_archived_runs_are_listed(runs, session, archives, ended):
    """By id, in pages, with the file that each is in; one that is restored is not listed."""
    files = {}
    for run in ("b", "a", "c"):
        runs.append(runs.new(id=run), "workflowCompleted")
        row = runs.one("archive", run)
        files[run] = {"id": run, "file": row["file"], "digest": row["digest"]}

    assert runs.call("archives") == [files[run] for run in "abc"]
    assert runs.call("archives", {"limit": 1}) == [files["a"]]
    assert runs.call("archives", {"cursor": "a"}) == [files["b"], files["c"]]
    runs.one("restore", "b")
    assert [row["id"] for row in runs.call("archives")] == ["a", "c"]


def test_a_deleted_run_is_gone_for_good(runs, session, archives, ended):
    """Only what other runs use of it stays; there is no archive of it."""
    row = runs.one("delete", ended)

    assert row == {"id": ended, "events": 8}
    assert archived(session) == []
    assert session.run("MATCH (p:Payload) RETURN p.content").value() == [None]
    with pytest.raises(ClientError, match="SC-903"):
        runs.one("delete", ended)
    with pytest.raises(ClientError, match="SC-920"):
        runs.one("restore", ended)


def test_a_run_that_others_need_is_not_deleted(runs):
    """Neither one that goes on, nor one whose events a fork shares."""
    run = runs.new()
    runs.append(run)
    with pytest.raises(ClientError, match=r"SC-917.*not ended"):
        runs.one("delete", run)
    runs.append(run, "workflowCompleted")
    fork = runs.one("fork", run, 2)["id"]
    with pytest.raises(ClientError, match="SC-917"):
        runs.one("delete", run)
    runs.one("delete", fork)
    assert runs.one("delete", run)["events"] == 2


def test_an_event_id_that_was_given_again_is_told(runs, session, ended):
    """Nothing is written, and the run can be restored once the other event has gone."""
    before = graph(session)
    runs.one("archive", ended)
    other = runs.new(id="other")
    runs.append(other, "workflowCompleted", id="plan")
    with pytest.raises(ClientError, match=r"SC-905.*`plan`"):
        runs.one("restore", ended)
    assert set(archived(session)) == {"other", "plan"}

    runs.one("archive", other)
    runs.one("restore", ended)
    assert graph(session) == before


def test_what_is_attached_meanwhile_is_not_lost(runs, session, beside, ended):
    """A relationship that comes between the file and the deletion ends it; the next call has it."""
    attach = "MATCH (e:Event {id: 'plan'}) CREATE (:User {id: 'eve'})-[:REVIEWS]->(e)"
    with pytest.raises(Neo4jError):
        beside(attach, "CALL runs.archive('r1')")
    before = graph(session)
    assert "REVIEWS" in before

    runs.one("archive", ended)
    runs.one("restore", ended)
    assert graph(session) == before


def test_who_waits_for_a_run_that_leaves_is_told(runs, beside, ended):
    """An append that waited finds no run any more; to archive it once more changes nothing."""
    archive = "CALL runs.archive('r1')"
    with pytest.raises(ClientError, match=r"SC-903.*`r1`"):
        beside(archive, "CALL runs.append('r1', {type: 'status'})")
    runs.one("restore", ended)
    [row] = beside(archive, archive)
    assert runs.one("restore", ended) == row


def changed(text):
    return text.replace(b"toolCall", b"toolcall", 1)


DAMAGES = {
    "a changed letter": changed,
    "a lost line": lambda text: b"".join(
        text.splitlines(keepends=True)[:3] + text.splitlines(keepends=True)[4:]
    ),
    "a lost end": lambda text: b"".join(text.splitlines(keepends=True)[:-1]),
    "half of it": lambda text: text[: len(text) // 2],
    "nothing": lambda _text: b"",
    "more of it": lambda text: 2 * text,
    "no text": lambda text: b"\xff\x00" + text,
    "an unknown kind": lambda text: b'{"colour":["red"]}\n' + text,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_not_restored(runs, session, archives, damage):
    """Whatever happens to a file is found before anything is written."""
    run = runs.new(id="damaged")
    runs.append(run, "workflowCompleted", id="toolCall")
    file = archives / runs.one("archive", run)["file"]
    whole = file.read_bytes()
    file.write_bytes(damage(whole))

    for name in ("restore", "archive"):
        with pytest.raises(ClientError, match=r"SC-919"):
            runs.one(name, run)
    assert archived(session) == []
    file.write_bytes(whole)
    assert runs.one("restore", run)["events"] == 1
    file.unlink()
    session.run("MATCH (n) WHERE n:WorkflowRun OR n:Event DETACH DELETE n").consume()
    with pytest.raises(ClientError, match=r"SC-920.*`damaged` was not archived"):
        runs.one("restore", run)


def test_what_is_rolled_back_is_not_restored(runs, session, driver, archives, ended):
    """A transaction that restores, changes and archives leaves the older archive as the latest."""
    before = graph(session)
    row = runs.one("archive", ended)
    whole = (archives / row["file"]).read_bytes()
    with driver.session() as other, other.begin_transaction() as transaction:
        transaction.run("CALL runs.restore($run)", run=ended).consume()
        transaction.run("CALL runs.deleteEvent('long')").consume()
        [changed] = transaction.run("CALL runs.archive($run)", run=ended).data()
        transaction.rollback()

    assert (archives / row["file"]).read_bytes() == whole
    assert changed["file"] != row["file"]
    assert runs.one("archive", ended) == row
    assert runs.one("restore", ended) == row
    assert graph(session) == before


def test_what_was_archived_last_is_restored(runs, session, archives, ended):
    """Each archive has a file of its own; the graph says which one the run was moved to."""
    first = runs.one("archive", ended)
    runs.one("restore", ended)
    runs.one("deleteEvent", "long")
    before = graph(session)
    second = runs.one("archive", ended)
    assert {file.name for file in archives.glob("*/*")} == {
        Path(row["file"]).name for row in (first, second)
    }

    assert runs.one("archive", ended) == second
    assert runs.one("restore", ended) == second
    assert graph(session) == before
    assert session.run("MATCH (a:ArchivedRun) RETURN count(a)").value() == [0]


def test_the_archive_of_another_run_is_not_replaced(runs, session, archives, ended):
    """Neither who uses an id again nor who writes it by plain Cypher can have it replaced."""
    before = graph(session)
    row = runs.one("archive", ended)
    whole = (archives / row["file"]).read_bytes()
    created = json.loads(whole.splitlines()[0])["run"][2]["$datetime"]
    for same in (True, False):
        if same:
            session.run(
                "CREATE (:WorkflowRun {id: $id, createdAt: datetime($created), type: 't', "
                "state: 'completed', status: 'completed', lastSeq: 0})",
                id=ended,
                created=created,
            ).consume()
        else:
            runs.new(id=ended)
            runs.append(ended, "workflowCompleted")
        with pytest.raises(ClientError, match=r"SC-906.*Another run.*ArchivedRun"):
            runs.one("archive", ended)
        session.run("MATCH (n) WHERE n:WorkflowRun OR n:Event DETACH DELETE n").consume()

    assert (archives / row["file"]).read_bytes() == whole
    assert runs.one("restore", ended) == row
    assert graph(session) == before


def test_an_archive_from_before_the_graph_named_it_is_restored(runs, session, archives, ended):
    """Its file has no digest in its name; of several archives somebody has to choose."""
    before = graph(session)
    row = runs.one("archive", ended)
    session.run("MATCH (a:ArchivedRun) DELETE a").consume()
    file = archives / row["file"]
    old = file.with_name(f"{file.name.split('.')[0]}.jsonl")
    file.rename(old)

    assert runs.one("archive", ended)["file"] == f"{old.parent.name}/{old.name}"
    assert runs.one("restore", ended)["digest"] == row["digest"]
    assert graph(session) == before
    assert runs.one("archive", ended) == row
    session.run("MATCH (a:ArchivedRun) DELETE a").consume()
    with pytest.raises(ClientError, match=rf"SC-920.*has 2 archives.*{file.name}, {old.name}"):
        runs.one("restore", ended)
    old.unlink()
    assert runs.one("restore", ended) == row


def test_a_file_under_the_name_of_another_is_not_restored(runs, archives, ended):
    """The name says the digest of what is in the file."""
    file = archives / runs.one("archive", ended)["file"]
    runs.one("restore", ended)
    runs.one("deleteEvent", "long")
    (archives / runs.one("archive", ended)["file"]).write_bytes(file.read_bytes())

    with pytest.raises(ClientError, match=r"SC-919.*not that of its name"):
        runs.one("restore", ended)


def test_any_id_has_a_file(runs, archives):
    """An id is not a part of a path, whatever it looks like."""
    for run in ("../../up", "a/b", "\U0001f600" * 50, "x" * 200, " a "):
        runs.new(id=run)
        runs.append(run, "workflowCompleted")
        file = archives / runs.one("archive", run)["file"]
        assert file.resolve().is_relative_to(archives)
        runs.one("restore", run)


def test_a_folder_that_cannot_be_used_is_told(runs, archives, session, ended):
    """The error has no path, and the run is still there."""
    folder = archives / "neo4j"
    kept = archives / "kept"
    folder.mkdir(exist_ok=True)
    folder.rename(kept)
    try:
        folder.touch()
        with pytest.raises(ClientError, match=r"SC-918.*SIDECYPHER_RUNS_ARCHIVE_DIR") as told:
            runs.one("archive", ended)
    finally:
        folder.unlink()
        kept.rename(folder)
    assert str(archives) not in str(told.value)
    assert len(archived(session)) == 9


CRASHES = {
    "while it writes": ("sidecypher_procedures.runs.archive_format", "encode_line", 5),
    "before it is durable": ("os", "fsync", 1),
    "before it has its name": ("pathlib:Path", "replace", 1),
    "before its name is durable": ("os", "fsync", 2),
    "before it is read back": ("sidecypher_procedures.runs.archive_format", "decode_line", 1),
    "before the run is deleted": ("sidecypher_procedures.runs.archives", "remove", 1),
    "after the run is deleted": ("sidecypher_procedures.runs.archive_graph", "release", 1),
}


def crashes(moments, shallow):
    """Parameters for the moments of a crash, of which all but one are for `make test-deep`."""
    return [
        pytest.param(moment, id=name, marks=() if name == shallow else pytest.mark.deep)
        for name, moment in moments.items()
    ]


def die(server, session, moment, statement):
    """Have a sidecar kill itself at a moment of a call, and wait for another one."""
    pid = server.sidecar.pid
    owner, name, call = moment
    session.run(
        "CALL test.dieAt($owner, $name, $call)", owner=owner, name=name, call=call
    ).consume()
    with pytest.raises(Neo4jError):
        session.run(statement).consume()
    server.await_successor(pid)
    server.await_sidecar()


@pytest.mark.slow
@pytest.mark.parametrize("moment", crashes(CRASHES, "before its name is durable"))
def test_a_crash_while_it_is_archived_loses_nothing(runs, session, server, ended, moment):
    """The run is in the graph, whole; it can be archived then, and restored."""
    before = graph(session)
    die(server, session, moment, "CALL runs.archive('r1')")

    assert graph(session) == before
    row = runs.one("archive", ended)
    assert archived(session) == []
    assert runs.one("restore", ended) == row
    assert graph(session) == before


RESTORE_CRASHES = {
    "while nodes are there only": ("sidecypher_procedures.runs.archive_graph", "_relate", 1),
    "before it is compared": ("sidecypher_procedures.runs.archives", "digest_of", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", crashes(RESTORE_CRASHES, "before it is compared"))
def test_a_crash_while_it_is_restored_leaves_no_half(runs, session, server, ended, moment):
    """Nothing of the run is in the graph, its file is as it was, and it can be restored."""
    before = graph(session)
    row = runs.one("archive", ended)
    die(server, session, moment, "CALL runs.restore('r1')")

    assert archived(session) == []
    assert runs.one("restore", ended) == row
    assert graph(session) == before


@pytest.mark.slow
@pytest.mark.parametrize("commit", [True, False])
def test_a_sidecar_may_die_before_the_commit(runs, session, server, ended, commit):
    """What it has done is the transaction's: it is committed, or not at all."""
    before = graph(session)
    with session.begin_transaction() as transaction:
        transaction.run("CALL runs.archive('r1')").consume()
        pid = server.sidecar.pid
        server.kill_sidecar()
        server.await_successor(pid)
        server.await_sidecar()
        if commit:
            transaction.commit()
        else:
            transaction.rollback()

    if commit:
        assert archived(session) == []
        runs.one("restore", ended)
    assert graph(session) == before
