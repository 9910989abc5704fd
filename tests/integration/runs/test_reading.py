"""What is read of runs, on a real Neo4j."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from fix_waiting import wait_until
from neo4j.exceptions import ClientError

BLOCKED = "SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status"


def test_an_event_is_told_as_it_was_given(runs, session):
    """What `runs.events` tells can be appended to another run, in either naming."""
    session.run("CREATE (:Issue {id: '7'}), (:Plan {id: 'p'})").consume()
    run = runs.new()
    given = [
        {"type": "userMessage", "id": "m", "content": " text ", "metadata": {"n": [1, "a"]}},
        {"type": "tool.call", "id": "c", "toolName": "t", "toolCallId": "1", "args": {"a": 2}},
        {"type": "workflow.error", "id": "e", "message": "no disk", "parentIds": ["m"]},
        {"type": "reasoning", "id": "r", "summary": "so", "parentIds": ["c", "e"]},
        {"type": "llmResponse", "id": "l", "content": None, "executedBy": "a", "respondsTo": "m",
         "references": ["7"], "suggestsEditTo": "p"},
        {"type": "workflowState", "id": "s", "state": "running"},
    ]  # fmt: skip
    runs.call("appendMany", run, given)

    for naming in ("storage", "application"):
        told = [row["event"] for row in runs.events(run, naming=naming)]
        other = runs.new()
        renamed = [
            event
            | {"id": f"{naming}-{event['id']}"}
            | (
                {"parentIds": [f"{naming}-{name}" for name in event["parentIds"]]}
                if "parentIds" in event
                else {}
            )
            for event in told
        ]
        runs.call("appendMany", other, renamed)
        again = [row["event"] for row in runs.events(other, naming=naming)]
        assert [{**event, "id": None, "parentIds": None} for event in again] == [
            {**event, "id": None, "parentIds": None} for event in told
        ]


def test_events_are_listed_in_pages(runs):
    """`cursor` and `limit` give the next events, `types` only some."""
    run = runs.new()
    runs.call("appendMany", run, [{"type": "status", "content": str(n)} for n in range(5)])
    runs.append(run, "workflow.started")

    assert [row["seq"] for row in runs.events(run, cursor=2, limit=2)] == [3, 4]
    assert [row["seq"] for row in runs.events(run, types=["workflow.started"])] == [6]
    assert [row["type"] for row in runs.events(run, cursor=5, naming="application")] == [
        "workflow.started"
    ]
    assert runs.events(run, limit=0) == []
    for options in ({"limit": -1}, {"types": ["none"]}, {"naming": "mine"}, {"after": 1}):
        with pytest.raises(ClientError, match=r"SC-204.*`options"):
            runs.events(run, **options)


def test_a_run_is_found_again(runs):
    """Its id and type begin a run once; the id with another type is refused."""
    first = runs.one("create", "triage", {"id": "r", "metadata": {"a": 1}, "postToGithub": True})
    again = runs.one("create", "triage", {"id": "r"})

    assert (first["created"], again["created"]) == (True, False)
    with pytest.raises(ClientError, match=r"SC-906.*another type"):
        runs.one("create", "review", {"id": "r"})
    found = runs.one("get", "r")["run"]
    assert {name: found[name] for name in ("type", "workflowType", "state", "metadata")} == {
        "type": "triage",
        "workflowType": "triage",
        "state": "pending",
        "metadata": {"a": 1},
    }


@pytest.mark.parametrize(
    ("type_name", "options", "error"),
    [
        ("t", {"colour": "red"}, "SC-204.*`colour`"),
        ("t", {"id": " "}, "SC-204.*`options.id`"),
        ("t", {"metadata": "text"}, "SC-204.*`options.metadata`.*STRING where MAP"),
        (" ", {}, "SC-902.*`type` of 0"),
        ("t", {"triggeredBy": "none"}, "SC-909.*delivery `none`"),
    ],
)
def test_a_run_that_cannot_be_is_refused(runs, session, type_name, options, error):
    """The error names the thing, and no run is there."""
    with pytest.raises(ClientError, match=error):
        runs.one("create", type_name, options)
    assert session.run("MATCH (r:WorkflowRun) RETURN count(r) AS n").single()["n"] == 0


def test_who_began_a_run_is_linked(runs, session):
    """A run hangs on its user, who may be new, and on the delivery that triggered it."""
    session.run("CREATE (:GithubWebhookEvent {id: 'd'})").consume()
    run = runs.new(initiatedBy="ann", triggeredBy="d")

    assert session.run(
        "MATCH (:GithubWebhookEvent {id: 'd'})<-[:TRIGGERED_BY]-(r)-[:INITIATED_BY]->(u:User) "
        "RETURN r.id AS run, u.id AS user"
    ).data() == [{"run": run, "user": "ann"}]


def test_a_result_answers_the_latest_call_of_its_id(runs, session):
    """Ids of calls repeat; the call of another run is never answered."""
    runs.append(runs.new(), "toolCall", id="foreign", toolName="t", toolCallId="1")
    run = runs.new()
    for turn in ("first", "second"):
        runs.append(run, "toolCall", id=f"{turn}-call", toolName="t", toolCallId="1")
        metadata = {"isError": turn == "second"}
        runs.append(run, "toolCallResult", id=turn, toolCallId="1", metadata=metadata)

    assert session.run(
        "MATCH (c:ToolCall)-[:HAS_RESULT]->(r:ToolResult)-[:RESULT_OF]->(c) "
        "RETURN c.id AS call, r.id AS result, c.status AS status ORDER BY call"
    ).data() == [
        {"call": "first-call", "result": "first", "status": "completed"},
        {"call": "second-call", "result": "second", "status": "failed"},
    ]
    assert runs.one("verify", run)["ok"]


def test_the_result_of_a_run_is_what_it_completed_with(runs):
    """Forks that begin behind that have it too, and erasing the event erases it everywhere."""
    run = runs.new()
    runs.append(run, "workflowStarted")
    runs.append(run, "workflowCompleted", id="end", content="all is well")
    runs.append(run, content="archived")
    for seq in (1, 2, 3):
        runs.one("fork", run, seq, {"id": f"fork-{seq}"})

    def results():
        names = (run, "fork-1", "fork-2", "fork-3")
        return [runs.one("get", name)["run"].get("result") for name in names]

    assert results() == ["all is well", None, "all is well", "all is well"]
    assert runs.append(run, "workflowCompleted")["state"] == "completed"
    assert results()[0] == "all is well"
    runs.one("deleteEvent", "end")
    assert results() == [None] * 4


def test_a_long_text_is_no_result_of_a_run(runs):
    """Neither is it copied, nor does it hide the result before."""
    run = runs.new()
    runs.append(run, "workflowCompleted", content="ä" * 4097)
    assert "result" not in runs.one("get", run)["run"]
    runs.append(run, "workflowCompleted", content="ä" * 4096)
    assert len(runs.one("get", run)["run"]["result"]) == 4096


def test_metadata_and_result_of_a_run_are_replaced(runs):
    """Each by the option of its name; the other one stays, whatever is appended later."""
    run = runs.new(metadata={"a": 1})
    runs.one("update", run, {"metadata": {"b": [2]}})
    told = runs.one("update", run, {"result": "so far"})["run"]
    runs.append(run, "workflowStarted")

    assert runs.one("get", run)["run"]["result"] == "so far"
    assert (told["metadata"], told["result"]) == ({"b": [2]}, "so far")
    assert runs.one("update", run)["run"]["metadata"] == {"b": [2]}
    runs.append(run, "workflowCompleted", content="done")
    assert runs.one("get", run)["run"]["result"] == "done"
    for options in ({"result": "x" * 8193}, {"result": "cancelled"}, {"metadata": 1}):
        with pytest.raises(ClientError, match="SC-204"):
            runs.one("update", run, options)
    with pytest.raises(ClientError, match="SC-903"):
        runs.one("update", "none")


def test_a_cancelled_run_keeps_its_result(runs):
    """It says that the run is cancelled."""
    run = runs.new()
    runs.append(run, "workflowCancelled")

    with pytest.raises(ClientError, match=r"SC-908.*cancelled"):
        runs.one("update", run, {"result": "done"})
    assert runs.one("update", run, {"metadata": {"a": 1}})["run"]["result"] == "cancelled"


@pytest.mark.parametrize("name", ["respondsTo", "suggestsEditTo"])
def test_what_is_referred_to_must_be_there(runs, name):
    """An unknown target is an error, and nothing is stored."""
    run = runs.new()
    with pytest.raises(ClientError, match=r"SC-909.*`none`"):
        runs.append(run, **{name: "none"})
    assert runs.events(run) == []


def test_times_follow_the_order(runs, session, driver):
    """A writer that had to wait writes a later time than the one it waited for."""
    run = runs.new()
    append = "CALL runs.append($run, {type: 'status'})"
    with ThreadPoolExecutor(1) as pool, driver.session() as other:
        with other.begin_transaction() as holder:
            holder.run(append, run=run).consume()
            waiting = pool.submit(lambda: driver.execute_query(append, run=run))
            wait_until(lambda: session.run(BLOCKED).value())
            holder.run(append, run=run).consume()
            holder.commit()
        waiting.result()

    times = [row["createdAt"] for row in runs.events(run)]
    assert times == sorted(times)
    assert runs.one("get", run)["run"]["touchedAt"] == times[-1]


TIMES = """
    MATCH (e:Event) WHERE e.runId IN $ids
    WITH e ORDER BY e.createdAt RETURN e.seq
"""


def test_each_event_of_a_batch_has_a_time_of_its_own(runs, session):
    """Ordered by time, events are in their order, also when the clock was set back."""
    run = runs.new()
    batch = [{"type": "userMessage", "content": str(number)} for number in range(1500)]
    runs.call("appendMany", run, batch)
    runs.append(run, "userMessage")
    assert session.run(TIMES, ids=[run]).value() == list(range(1, 1502))
    [differ] = session.run(
        "MATCH (m:Message) RETURN count(DISTINCT m.timestamp) AS n, "
        "all(m IN collect(m) WHERE m.timestamp = m.createdAt) AS same"
    ).data()
    assert differ == {"n": 1501, "same": True}
    assert runs.one("verify", run)["ok"]

    # The clock is set back: what was written before is from the future.
    session.run(
        "MATCH (n:Event|WorkflowRun) SET n.createdAt = n.createdAt + duration('PT1H'), "
        "n.touchedAt = n.touchedAt + duration('PT1H')"
    ).consume()
    fork = runs.one("fork", run, 1400)["id"]
    for each in (run, fork):
        runs.append(each, "workflowStarted")
        runs.call("appendMany", each, batch[:3])
        runs.append(each, "workflowCompleted")
    assert session.run(TIMES, ids=[run]).value() == list(range(1, 1507))
    session.run("MATCH (e:Event) WHERE e.runId = $run AND e.seq > 1400 DETACH DELETE e", run=run)
    assert session.run(TIMES, ids=[run, fork]).value() == list(range(1, 1406))


def test_a_restored_run_goes_on_in_order_of_time(runs, session):
    """What a run was touched at is in its archive."""
    run = runs.new()
    # The time of an event is in its digest, so only the run can be moved afterwards.
    runs.append(run, "error", createdAt=datetime.now(UTC) + timedelta(hours=1))
    session.run(
        "MATCH (r:WorkflowRun) SET r.createdAt = r.createdAt + duration('PT1H'), "
        "r.touchedAt = r.touchedAt + duration('PT1H')"
    ).consume()
    runs.append(run, "workflowState", state="error")
    runs.one("archive", run)
    runs.one("restore", run)
    runs.append(run, "workflowStarted")
    assert session.run(TIMES, ids=[run]).value() == [1, 2, 3]


def test_an_error_is_no_end(runs):
    """A run goes on after an error that it reports; whether it failed, its state says."""
    run = runs.new()
    rows = runs.call(
        "appendMany",
        run,
        [
            {"type": "workflowStarted"},
            {"type": "error", "content": "429, again"},
            {"type": "workflowCompleted"},
        ],
    )
    assert [row["state"] for row in rows] == ["running", "running", "completed"]

    failed = runs.new()
    assert runs.append(failed, "workflow.error", message="no disk")["state"] == "pending"
    for name in ("error", "failed"):
        assert runs.append(failed, "workflow.state", state=name)["state"] == "error"
    assert runs.one("get", failed)["run"]["completedAt"] is not None
    assert runs.append(failed, "workflowStarted")["state"] == "running"


def test_a_batch_that_starts_and_ends_a_run_tells_both(runs):
    """`startedAt` and `completedAt` are set by what happened within one batch, too."""
    run = runs.new()
    runs.call("appendMany", run, [{"type": "workflowStarted"}, {"type": "workflowCompleted"}])

    found = runs.one("get", run)["run"]
    assert found["startedAt"] <= found["completedAt"]


def test_a_run_that_nobody_touches_has_timed_out(runs, session):
    """It reads as `timedOut` after the setting; a duplicate does not touch it, an append does."""
    run = runs.new()
    runs.append(run, "workflowStarted", id="e")
    session.run("MATCH (r:WorkflowRun) SET r.touchedAt = datetime('2026-01-01T00:00Z')").consume()
    assert runs.one("state", run)["state"] == "timedOut"

    assert runs.append(run, "workflowStarted", id="e")["duplicate"]
    assert runs.one("get", run)["run"]["state"] == "timedOut"

    runs.append(run)
    assert runs.one("state", run)["state"] == "running"


def test_a_run_of_plain_cypher_can_be_read(runs, session):
    """It may lack what this namespace writes, and say `failed`."""
    session.run(
        "CREATE (:WorkflowRun {id: 'a'}), (:WorkflowRun {id: 'b', status: 'failed'})"
    ).consume()

    assert runs.one("state", "a") == {"id": "a", "state": "pending", "lastSeq": 0}
    assert runs.one("get", "b")["run"]["state"] == "error"
    assert runs.one("verify", "a")["ok"]
    assert runs.append("a")["seq"] == 1


def test_a_run_that_is_stored_as_failed_goes_on_as_one_in_error(runs, session):
    """It may be taken up again, and become nothing else."""
    session.run(
        "CREATE (:WorkflowRun {id: 'a', state: 'failed', status: 'failed'}), "
        "(:WorkflowRun {id: 'b', status: 'failed'})"
    ).consume()

    for run in ("a", "b"):
        with pytest.raises(ClientError, match=r"SC-908.*`error`"):
            runs.append(run, "workflowCompleted")
        assert runs.append(run, "workflowStarted")["state"] == "running"


FAULTS = {
    "SET e.content = 'another'": "content is not",
    "SET e.type = 'error'": "content is not",
    "SET e.createdAt = 'text'": "content is not",
    "SET e.given = 7": "content is not",
    "SET e.content = date()": "content is not",
    "SET e.content = 0.0 / 0.0": "content is not",
    "SET e.given = ['createdAt'], e.createdAt = localdatetime()": "content is not",
    "SET e.digest = '0'": "digest does not fit",
    "REMOVE e.contentDigest": "lacks",
    "SET e.seq = 9": "missing before",
    "DETACH DELETE e": "missing before",
    "WITH e MATCH ()-[n:NEXT]->(e) DELETE n": "follows no event",
    "WITH e MATCH (p {id: 'other'}) CREATE (p)-[:NEXT]->(e)": "not before it",
}


@pytest.mark.parametrize(("change", "reason"), FAULTS.items())
def test_a_change_is_found(runs, session, change, reason):
    """Whatever plain Cypher does to an event, `runs.verify` says where and what."""
    runs.append(runs.new(), id="other")
    run = runs.new()
    runs.call(
        "appendMany", run, [{"type": "status", "id": str(n), "content": "x"} for n in range(4)]
    )

    session.run(f"MATCH (e:Event {{id: '2'}}) {change}").consume()

    found = runs.one("verify", run)
    assert (found["ok"], found["firstBadSeq"]) == (False, 3)
    assert reason in found["reason"]


def test_lost_ends_and_changed_payloads_are_found(runs, session):
    """A run that ends too early, and a text that is kept elsewhere, are looked at as well."""
    run = runs.new()
    runs.append(run, "userMessage", content="x" * 9000)
    for another in ("another", 7):
        session.run("MATCH (p:Payload) SET p.content = $another", another=another).consume()
        assert "payload" in runs.one("verify", run)["reason"]

    run = runs.new()
    runs.append(run)
    runs.append(run, id="last")
    session.run("MATCH (e:Event {id: 'last'}) DETACH DELETE e").consume()
    assert runs.one("verify", run)["reason"] == "the run says that it has 2 events"


def test_a_given_time_is_kept(runs):
    """`createdAt` to the nanosecond is part of the event: another one is another event."""
    run = runs.new()
    moment = datetime(2026, 1, 2, 3, tzinfo=UTC)
    runs.append(run, id="e", createdAt=moment)

    assert runs.append(run, id="e", createdAt=moment)["duplicate"]
    with pytest.raises(ClientError, match="SC-905"):
        runs.append(run, id="e", createdAt=moment.replace(microsecond=1))
    assert runs.events(run)[0]["createdAt"].to_native() == moment


def nested(levels):
    """Return a MAP so deep, its maps and lists in turn."""
    value = {}
    for level in range(levels - 1, 0, -1):
        value = {"a": value} if level % 2 else [value]
    return value


DOORS = {
    "create": lambda runs, run, metadata: runs.one(
        "create", "t", {"id": "x", "metadata": metadata}
    ),
    "fork": lambda runs, run, metadata: runs.one("fork", run, 1, {"metadata": metadata}),
    "append": lambda runs, run, metadata: runs.append(run, metadata=metadata),
    "appendMany": lambda runs, run, metadata: runs.call(
        "appendMany", run, [{"type": "userMessage", "metadata": metadata}]
    ),
    "plan.create": lambda runs, run, metadata: runs.one(
        "plan.create", run, {"content": "b", "metadata": metadata}
    ),
    "plan.revise": lambda runs, run, metadata: runs.one(
        "plan.revise", "p", "ann", {"content": "b", "metadata": metadata}
    ),
    "plan.comment": lambda runs, run, metadata: runs.one(
        "plan.comment", "p", "ann", {"content": "b", "metadata": metadata}
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_accepted_can_be_read(runs, session, plan, door):
    """Metadata nest as deep as can be told again; what is deeper is refused where it is given."""
    run = plan(id="p")["runId"]
    with pytest.raises(ClientError, match=r"SC-204.*\.metadata`.*90 levels.*at most 89"):
        DOORS[door](runs, run, nested(90))
    before = session.run("MATCH (n) RETURN count(n)").value()
    assert before == [2]

    DOORS[door](runs, run, nested(89))
    for each in runs.call("list", {}):
        runs.one("get", each["id"])
        for row in runs.events(each["id"]):
            runs.call("path", row["id"])
        runs.call("conversation", each["id"])
    [stored] = session.run("MATCH (n) WHERE n.metadata IS NOT NULL RETURN n.metadata").value()
    assert stored.count("[") == 44


def test_one_event_makes_no_run_unreadable(runs, session):
    """What plain Cypher has stored deeper than can be told is told as null."""
    run = runs.new()
    runs.append(run, "userMessage", id="e", content="hello")
    session.run(
        "MATCH (n:Event|WorkflowRun) SET n.metadata = $deep", deep='{"a":' * 90 + "1" + "}" * 90
    ).consume()

    assert runs.events(run)[0]["event"]["metadata"] is None
    assert runs.one("get", run)["run"]["metadata"] is None
    assert [row["content"] for row in runs.call("conversation", run)] == ["hello"]
