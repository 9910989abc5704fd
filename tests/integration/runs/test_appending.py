"""`runs.append` and `runs.appendMany` on a real Neo4j."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from neo4j.exceptions import ClientError


def test_events_follow_each_other(runs):
    """Without parents an event follows the latest one, at the next place."""
    run = runs.new()
    rows = [runs.append(run, content=str(number)) for number in range(3)]

    assert [row["seq"] for row in rows] == [1, 2, 3]
    found = runs.events(run)
    assert [row["event"]["content"] for row in found] == ["0", "1", "2"]
    assert [row["parentIds"] for row in found] == [[], [rows[0]["id"]], [rows[1]["id"]]]
    assert runs.one("verify", run)["ok"]


def test_branches_are_joined(runs):
    """Events of one parent are branches; `join` follows all that nothing follows yet."""
    run = runs.new()
    first = runs.append(run)["id"]
    branches = [runs.append(run, parentIds=[first])["id"] for _ in range(3)]
    runs.append(run, join=True)

    assert runs.events(run)[-1]["parentIds"] == branches
    assert runs.one("verify", run)["ok"]


def test_a_parent_may_be_given_by_the_name_of_the_designs(runs):
    """`parentEventId` is `parentIds` with one id, also for who repeats the event."""
    run = runs.new()
    first = runs.append(run)["id"]
    for name in ("left", "right"):
        runs.append(run, id=name, parentEventId=first)
    assert runs.append(run, id="left", parentIds=[first])["duplicate"]
    assert runs.append(run, id="right", parentEventId=first)["duplicate"]

    assert [row["parentIds"] for row in runs.events(run)] == [[], [first], [first]]
    assert runs.one("verify", run)["ok"]


def test_every_event_has_a_timestamp(runs, session):
    """It is when the event was created, so that a query may order all steps by it."""
    run = runs.new()
    runs.append(run, "workflowStarted")
    runs.append(run, "userMessage", createdAt=datetime(2020, 1, 2, tzinfo=UTC))
    runs.append(run, "workflowCompleted")

    query = """
        MATCH (e:Event {runId: $run}) WHERE e.timestamp = e.createdAt
        RETURN e.seq ORDER BY e.timestamp
    """
    assert session.run(query, run=run).value() == [2, 1, 3]
    assert runs.one("verify", run)["ok"]


def test_the_same_event_is_written_once(runs):
    """An id that is there with the same content is a duplicate, and writes nothing."""
    run = runs.new()
    first = runs.append(run, id="e", content="text")
    again = runs.append(run, id="e", content="text")

    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert {name: first[name] for name in ("seq", "digest")} == {
        name: again[name] for name in ("seq", "digest")
    }
    with pytest.raises(ClientError, match=r"SC-905.*other content"):
        runs.append(run, id="e", content="another text")
    with pytest.raises(ClientError, match=r"SC-905.*another run"):
        runs.append(runs.new(), id="e", content="text")
    assert len(runs.events(run)) == 1


def test_many_are_appended_under_one_lock(runs):
    """A batch is a chain behind the latest event; parents may be of the same batch."""
    run = runs.new()
    runs.append(run)
    rows = runs.call(
        "appendMany",
        run,
        [
            {"type": "status", "id": "a"},
            {"type": "status", "id": "b", "parentIds": ["a"]},
            {"type": "status", "id": "c", "parentIds": ["a"]},
            {"type": "status", "join": True},
        ],
    )

    assert [row["seq"] for row in rows] == [2, 3, 4, 5]
    assert runs.events(run)[-1]["parentIds"] == ["b", "c"]
    assert runs.one("verify", run)["ok"]


def test_writers_of_one_run_queue(runs, driver):
    """Eight writers at once leave one chain without gaps."""
    run = runs.new()

    def write(_number):
        with driver.session() as session:
            for _ in range(25):
                session.run("CALL runs.append($run, {type: 'status'})", run=run).consume()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))

    assert [row["seq"] for row in runs.events(run)] == list(range(1, 201))
    assert runs.one("verify", run)["ok"]
    assert runs.one("state", run)["lastSeq"] == 200


@pytest.mark.parametrize("size", [8 * 1024, 8 * 1024 + 1, 1024 * 1024])
def test_a_long_text_comes_back(runs, session, size):
    """Up to the largest size a text is what it was; beyond 8 KiB it has its own node."""
    run = runs.new()
    runs.append(run, "userMessage", content="x" * size)

    assert runs.events(run)[0]["event"]["content"] == "x" * size
    payloads = session.run("MATCH (p:Payload) RETURN count(p)").single().value()
    assert payloads == (size > 8 * 1024)
    assert runs.one("verify", run)["ok"]


def test_words_of_long_texts_are_found(runs, session):
    """They are in nodes of their own, which have an index of their own."""
    run = runs.new()
    runs.append(run, "userMessage", id="long", content="zebra " + "x " * 9000)
    session.run("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()").consume()

    query = """
        CALL db.index.fulltext.queryNodes('payload_text', 'zebra') YIELD node
        MATCH (e:Event)-[:HAS_PAYLOAD]->(node) RETURN e.id
    """
    assert session.run(query).value() == ["long"]
    runs.one("deleteEvent", "long")
    session.run("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()").consume()
    assert session.run(query).value() == []


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({}, "SC-204.*`event.type`.*missing"),
        ({"type": "no such"}, "SC-204.*`event.type`.*toolCallResult"),
        ({"type": "x."}, "SC-204.*`event.type`.*`x.deployed`"),
        ({"type": "x.a b"}, "SC-204.*`event.type`.*`x.deployed`"),
        ({"type": "x." + 199 * "y"}, "SC-204.*`event.type`"),
        ({"type": "x.deployed", "toolName": "t"}, "SC-204.*no `toolName`"),
        ({"type": "status", "parentIds": ["none"]}, "SC-904"),
        ({"type": "status", "metadata": 1}, "SC-204.*`event.metadata`.*INTEGER where MAP"),
        (
            {"type": "status", "content": "x" * (1024 * 1024 + 1)},
            "SC-204.*`event.content`.*1048577 bytes",
        ),
        ({"type": "workflowState", "state": "asleep"}, "SC-204.*`event.state`.*`running`"),
        ({"type": "status", "colour": "red"}, "SC-204.*no field `colour`"),
        ({"type": "status", "toolName": "x"}, "SC-204.*no `toolName`"),
        ({"type": "reasoning", "summary": "a", "content": "b"}, "SC-204.*both"),
        ({"type": "workflowState"}, "SC-204.*lacks `state`"),
        ({"type": "toolCall", "args": 1}, "SC-204.*`event.args`.*neither"),
        ({"type": "toolCallResult", "content": 1}, "SC-204.*`event.content`.*neither"),
        ({"type": "userMessage", "content": {"n": 1}}, "SC-204.*has a MAP as `content`"),
        ({"type": "status", "parentIds": []}, "SC-204.*`event.parentIds`"),
        ({"type": "status", "parentIds": ["x"], "join": True}, "SC-204.*both"),
        ({"type": "status", "parentEventId": "x", "join": True}, "SC-204.*both.*`parentEventId`"),
        ({"type": "status", "parentEventId": "x", "parentIds": ["x"]}, "SC-204.*both"),
        ({"type": "status", "parentEventId": "none"}, "SC-904.*`none`"),
        ({"type": "status", "parentEventId": ""}, "SC-204.*`event.parentEventId`"),
    ],
)
def test_what_is_no_event_is_refused(runs, event, error):
    """The error names the thing, and nothing is stored."""
    run = runs.new()
    with pytest.raises(ClientError, match=error):
        runs.one("append", run, event)
    assert runs.events(run) == []


def test_callers_may_have_types_of_their_own(runs):
    """They begin with `x.`, have a text, are the same in both namings and bear no state."""
    run = runs.new()
    runs.append(run, "workflowStarted")
    runs.append(run, "x.deployed", id="d", content="to production", metadata={"build": 7})

    for naming in ("storage", "application"):
        [row] = runs.events(run, types=["x.deployed"], naming=naming)
        assert (row["type"], row["event"]["type"]) == ("x.deployed", "x.deployed")
        assert row["event"]["content"] == "to production"
    assert runs.append(run, "x.deployed", id="d", content="to production", metadata={"build": 7})[
        "duplicate"
    ]
    assert runs.one("state", run)["state"] == "running"
    assert [row["label"] for row in runs.call("timeline", run)] == ["workflowStarted", "x.deployed"]
    assert runs.one("verify", run)["ok"]


def test_the_result_of_a_tool_may_be_a_map(runs):
    """It is stored as JSON, and given again as that text it is a duplicate."""
    run = runs.new()
    runs.append(run, "toolCallResult", id="r", content={"b": [1], "a": "text"})

    text = '{"a":"text","b":[1]}'
    assert runs.events(run)[0]["event"]["content"] == text
    assert runs.append(run, "tool.result", id="r", content=text)["duplicate"]


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"type": "status", "colour": "red"}, r"SC-204.*`events\[1\]`"),
        ({"type": "status", "parentIds": ["none"]}, r"SC-904.*`events\[1\]`"),
        ({"type": "status", "id": "foreign"}, r"SC-905.*`events\[1\]`"),
        ({"type": "workflowStarted"}, r"SC-908.*`events\[1\]`"),
        ({"type": "status", "references": ["none"]}, r"SC-909.*`events\[1\]`"),
    ],
)
def test_of_many_the_one_that_cannot_be_is_named(runs, event, error):
    """By its number from 0, as fields are; nothing of the others is stored."""
    runs.append(runs.new(), id="foreign")
    run = runs.new()
    with pytest.raises(ClientError, match=error):
        runs.call("appendMany", run, [{"type": "workflowCompleted"}, event])
    assert runs.events(run) == []


def test_a_foreign_parent_is_refused(runs):
    """A parent of another run is an error, never silently the latest event."""
    other = runs.append(runs.new())["id"]
    with pytest.raises(ClientError, match=r"SC-904.*another run"):
        runs.append(runs.new(), parentIds=[other])


def test_an_unknown_run_has_no_rows_and_takes_no_events(runs):
    """What reads a run gives no row if there is none; what writes to it raises."""
    for name in ("get", "state", "events", "verify", "tree", "timeline", "conversation", "path"):
        assert runs.call(name, "none") == []
    assert runs.call("plan.history", "none") == []
    assert runs.call("toolCalls", "t", {"runId": "none"}) == []
    with pytest.raises(ClientError, match=r"SC-903.*`none`"):
        runs.append("none")


def test_whoever_looked_too_long_ago_is_refused(runs):
    """`expectedSeq` is the place of the latest event; a retry of what is there is no conflict."""
    run = runs.new()
    runs.append(run, id="one", options={"expectedSeq": 0})
    with pytest.raises(ClientError, match=r"SC-907"):
        runs.append(run, options={"expectedSeq": 0})
    assert runs.append(run, id="one", options={"expectedSeq": 0})["duplicate"]


def test_the_state_follows_the_events(runs):
    """The latest event that bears a state decides; a state that cannot follow is refused."""
    run = runs.new()
    told = [runs.one("state", run)["state"]]
    for event in (
        {"type": "workflow.started"},
        {"type": "status"},
        {"type": "workflowState", "state": "failed"},
        {"type": "workflow.state", "state": "running"},
        {"type": "workflowCompleted"},
    ):
        runs.append(run, event.pop("type"), **event)
        told.append(runs.one("state", run)["state"])

    assert told == ["pending", "running", "running", "error", "running", "completed"]
    with pytest.raises(ClientError, match=r"SC-908.*`completed` cannot become `running`"):
        runs.append(run, "workflowStarted")
    found = runs.one("get", run)["run"]
    assert found["state"] == found["status"] == "completed"
    assert found["startedAt"] <= found["completedAt"]


def test_many_states_are_told_at_once(runs):
    """The batch variant takes many runs; one that does not exist has no values."""
    ids = [runs.new() for _ in range(3)]
    runs.append(ids[1], "workflowStarted")
    rows = runs.call("state.batch", [[ids[0]], [ids[1]], ["none"], [ids[1]]])

    assert [row["state"] for row in rows] == ["pending", "running", None, "running"]
    assert [row["error"] for row in rows] == [None] * len(rows)


def test_who_waits_for_a_run_that_is_deleted_is_told(runs, beside):
    """The error says that the run is gone; nothing is acknowledged that was not written."""
    runs.new(id="gone")
    delete = "MATCH (r:WorkflowRun {id: 'gone'}) DETACH DELETE r"
    for call in ("append('gone', {type: 'status'})", "appendMany('gone', [{type: 'status'}])"):
        with pytest.raises(ClientError, match=r"SC-903.*`gone`"):
            beside(delete, f"CALL runs.{call}")
        runs.new(id="gone")
