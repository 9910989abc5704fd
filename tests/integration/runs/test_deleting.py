"""`runs.deleteEvent` on a real Neo4j."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j.exceptions import ClientError

LONG = 9000 * "x"


def node(session, event):
    return session.run("MATCH (e:Event {id: $id}) RETURN properties(e)", id=event).single()[0]


def test_what_an_event_says_goes_and_its_place_stays(runs, session):
    """Content, names, metadata and links are gone; the rest of the history does not change."""
    session.run("CREATE (:Issue {id: '7'}), (:Plan {id: 'p'})").consume()
    run = runs.new()
    runs.append(run, "userMessage", id="first", content="hello")
    metadata = {"model": "m", "status": "s", "isError": True, "errorMessage": "e", "secret": "x"}
    event = {"id": "e", "content": "secret", "metadata": metadata, "executedBy": "a",
             "respondsTo": "first", "references": ["7"], "suggestsEditTo": "p"}  # fmt: skip
    written = runs.append(run, "llmResponse", **event)
    runs.append(run, id="last")

    assert runs.one("deleteEvent", "e") == {"id": "e", "seq": 2, "runId": run, "deleted": True}
    assert runs.one("deleteEvent", "e")["deleted"] is False

    assert [row["id"] for row in runs.events(run)] == ["first", "last"]
    assert runs.events(run)[-1]["parentIds"] == ["e"]
    assert runs.one("verify", run)["ok"]
    assert node(session, "e").keys() == {
        *("id", "runId", "seq", "type", "role", "createdAt", "timestamp", "runState"),
        *("contentDigest", "digest", "digestVersion", "agentDigest", "deletedAt"),
    }
    left = session.run("MATCH (:Event {id: 'e'})-[l]-() RETURN type(l) AS t ORDER BY t").value()
    assert left == ["NEXT", "NEXT", "PART_OF"]
    again = runs.append(run, "llmResponse", **event)
    assert (again["duplicate"], again["seq"], again["digest"]) == (True, 2, written["digest"])
    assert "content" not in node(session, "e")
    with pytest.raises(ClientError, match=r"SC-905.*other content"):
        runs.append(run, "llmResponse", id="e")


def test_a_run_goes_on_behind_a_deleted_event(runs):
    """The latest event may be deleted; what comes next follows it."""
    run = runs.new()
    for name in ("a", "b"):
        runs.append(run, id=name, content=name)
    runs.one("deleteEvent", "b")
    runs.append(run, id="c")
    runs.append(run, id="d", parentIds=["b"])

    assert [row["seq"] for row in runs.events(run)] == [1, 3, 4]
    assert [row["parentIds"] for row in runs.events(run)] == [[], ["b"], ["b"]]
    assert runs.one("verify", run)["ok"]


def test_a_deleted_event_keeps_its_effect_on_the_state(runs):
    """A run does not become another one because it forgets."""
    run = runs.new()
    runs.append(run, "workflowStarted", id="start")
    runs.append(run, "workflowState", id="state", state="error")
    runs.one("deleteEvent", "state")

    assert runs.one("state", run) == {"id": run, "state": "error", "lastSeq": 2}
    assert runs.one("state", runs.one("fork", run, 2)["id"])["state"] == "error"
    assert runs.one("verify", run)["ok"]


def test_a_shared_text_stays_for_the_others(runs, session):
    """A long text is erased with the last event that has it, and may be written anew."""
    run = runs.new()
    for name in ("a", "b"):
        runs.append(run, "userMessage", id=name, content=LONG)

    runs.one("deleteEvent", "a")
    assert [row["event"]["content"] for row in runs.events(run)] == [LONG]
    runs.one("deleteEvent", "b")
    assert session.run("MATCH (p:Payload) RETURN p.content").value() == [None]
    runs.append(run, "userMessage", content=LONG)
    assert [row["event"]["content"] for row in runs.events(run)] == [LONG]
    assert runs.one("verify", run)["ok"]


def test_a_text_is_written_and_erased_at_once(runs, driver):
    """Whoever appends a text that another one is just erasing has it all the same."""
    run, other = runs.new(), runs.new()

    def erase(number):
        with driver.session() as session:
            session.execute_write(
                lambda tx: tx.run(
                    "CALL runs.append($run, {type: 'status', id: $id, content: $text}) YIELD id "
                    "CALL runs.deleteEvent(id) YIELD deleted RETURN deleted",
                    run=other, id=f"gone-{number}", text=LONG,
                ).consume()
            )  # fmt: skip

    def write(number):
        with driver.session() as session:
            session.execute_write(
                lambda tx: tx.run(
                    "CALL runs.append($run, {type: 'status', id: $id, content: $text})",
                    run=run, id=f"kept-{number}", text=LONG,
                ).consume()
            )  # fmt: skip
            runs_left = session.run("CALL runs.events($run) YIELD event RETURN event", run=run)
            assert all(event["content"] == LONG for event in runs_left.value())
            session.run("CALL runs.deleteEvent($id)", id=f"kept-{number}").consume()

    with ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(each, number) for number in range(8) for each in (erase, write)]
        for each in busy:
            each.result()

    assert runs.one("verify", run)["ok"]
    assert runs.one("verify", other)["ok"]


def test_a_deleted_call_and_its_result_part(runs, session):
    """A call keeps the status that its deleted result gave it; a deleted call is not answered."""
    run = runs.new()
    for number in ("1", "2"):
        runs.append(run, "toolCall", id=f"call{number}", toolName="t", toolCallId=number, args={})
        runs.append(run, "toolCallResult", id=f"result{number}", toolCallId=number)
    runs.one("deleteEvent", "result1")
    runs.one("deleteEvent", "call2")
    runs.append(run, "toolCallResult", toolCallId="2")

    assert session.run("MATCH ()-[l:HAS_RESULT|RESULT_OF]-() RETURN count(l)").value() == [0]
    assert node(session, "call1")["status"] == "completed"
    assert "status" not in node(session, "call2")
    assert runs.one("verify", run)["ok"]


def test_a_deleted_plan_keeps_its_life(runs, session):
    """Status, version and reviewers stay, the text and the editor's words go."""
    run = runs.new()
    runs.append(run, "llmResponse", id="plan", content="secret")
    session.run(
        "MATCH (p:Event {id: 'plan'}) SET p:Plan, p.status = 'approved', p.version = 2, "
        "p.editMessage = 'secret', p.editedBy = 'ann' CREATE (:User {id: 'bob'})-[:APPROVES]->(p)"
    ).consume()
    runs.one("deleteEvent", "plan")

    left = node(session, "plan")
    assert (left["status"], left["version"], left["editedBy"]) == ("approved", 2, "ann")
    assert "secret" not in left.values()
    assert session.run("MATCH (:User)-[a:APPROVES]->(:Plan) RETURN count(a)").value() == [1]


def test_a_shared_event_is_deleted_in_every_run(runs):
    """A fork has no copy, so what is deleted is gone there, and it goes on."""
    run = runs.new()
    for name in ("a", "b"):
        runs.append(run, id=name, content=name)
    fork = runs.one("fork", run, 2)["id"]

    assert runs.one("deleteEvent", "a")["runId"] == run
    runs.append(fork, id="c", parentIds=["a"])
    assert [row["id"] for row in runs.events(fork)] == ["b", "c"]
    assert runs.one("verify", fork)["ok"]


def test_an_event_that_is_not_there_is_told(runs):
    """The error names it."""
    with pytest.raises(ClientError, match=r"SC-911.*`none`"):
        runs.one("deleteEvent", "none")


def test_what_is_erased_by_other_means_is_still_found(runs, session):
    """`deletedAt` hides no change of what a deleted event keeps."""
    run = runs.new()
    for name in ("a", "b"):
        runs.append(run, id=name, content=name)
    runs.one("deleteEvent", "a")
    session.run("MATCH (e:Event {id: 'a'}) SET e.contentDigest = '0'").consume()

    assert runs.one("verify", run)["firstBadSeq"] == 1
