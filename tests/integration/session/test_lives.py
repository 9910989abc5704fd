"""What sessions go through: waits, sub-workflows, cancels, forks, records, versions, bad input."""

import json
import time
from uuid import uuid4

import pytest
from neo4j.exceptions import ClientError

from sidecypher_procedures.names import LONGEST_NAME

ASK = {"statement": "?"}


def test_a_wait_ends_at_its_time(sessions):
    """A `wait` step parks its branch; whoever runs the session after its time goes on."""
    session = sessions.begin(
        {"root": ("wait", {"seconds": 600}), "end": ("set", {})}, [("root", "end")]
    )
    assert sessions.run(session)["pending"] == ["root"]
    [row] = sessions.call("history", session)
    assert row["state"] == "waiting"

    sessions.session.run(
        "MATCH (c:StepClaim {sessionId: $id}) SET c.leaseUntil = datetime()", id=session
    ).consume()
    assert sessions.run(session)["status"] == "completed"
    past = sessions.begin({"root": ("wait", {"until": "2020-01-01T00:00:00"})})
    assert sessions.run(past)["status"] == "completed"
    for wrong in ({"seconds": "x"}, {"until": "never"}, {"seconds": 1e9}, {"seconds": 1e300}):
        assert sessions.status(sessions.begin({"root": ("wait", wrong)})) == "error"


def test_a_request_may_have_a_time(sessions):
    """`timeoutMs` of a request is how long a person may take; then `onError` says what follows."""
    session = sessions.begin(
        {
            "root": ("request", ASK, {"timeoutMs": 600_000, "onError": "step:late"}),
            "late": ("set", {}),
            "end": ("set", {}),
        },
        [("root", "end")],
    )
    assert sessions.run(session)["status"] == "awaiting_input"
    sessions.session.run(
        "MATCH (c:StepClaim {sessionId: $id}) SET c.leaseUntil = datetime()", id=session
    ).consume()

    assert sessions.run(session)["status"] == "completed"
    assert {*sessions.memory(session)} == {"late"}
    assert sessions.errors(session) == ["Nobody has answered in time"]
    assert sessions.requests(session) == []
    with pytest.raises(ClientError, match="SC-959"):
        sessions.input(session, "x")


def test_an_answer_in_time_is_an_answer(sessions):
    """An answer before the time of its request ends the wait."""
    session = sessions.begin({"root": ("request", ASK, {"timeoutMs": 600_000})})
    assert sessions.input(session, "x")["status"] == "completed"
    assert sessions.call("history", session)[0]["state"] == "done"


def test_a_session_step_runs_another_workflow(sessions):
    """A sub-workflow gets an input, and its last output is that of the step."""
    child = sessions.define({"root": ("set", {"n": "@{SESSION_ID}.input.n"})})
    session = sessions.begin(
        {
            "root": ("session", {"workflow": child, "input": {"n": 7}}),
            "end": ("set", {"n": "@{SESSION_ID}.root.output.n"}),
        },
        [("root", "end")],
    )

    found = sessions.memory(session)
    assert found["end"] == [{"n": 7}]
    assert sessions.status(found["root"][0]["sessionId"]) == "completed"


def test_a_session_waits_for_the_person_whom_its_sub_workflow_asks(sessions):
    """The answer to the inner request lets both sessions end, in one call."""
    child = sessions.define({"root": ("request", ASK)})
    session = sessions.begin({"root": ("session", {"workflow": child})})
    [request] = sessions.call("awaiting", {"workflow": child})
    assert sessions.status(session) == "active"
    sessions.input(request["sessionId"], "x")

    assert sessions.status(session) == "completed"
    assert sessions.memory(session)["root"][0]["output"] == {"response": "x"}


def test_a_failed_sub_workflow_fails_its_step(sessions):
    """A sub-workflow that does not complete is an error of the step that started it."""
    child = sessions.define({"root": ("test.fails", {"text": "x"})})
    session = sessions.begin({"root": ("session", {"workflow": child})})

    assert sessions.status(session) == "error"
    assert "status `error`" in sessions.errors(session)[0]


def test_cancelling_closes_everything(sessions):
    """A cancelled session has no open request, and neither have those that it waits for."""
    child = sessions.define({"root": ("request", ASK)})
    session = sessions.begin(
        {"root": ("", {}), "a": ("request", ASK), "b": ("session", {"workflow": child})},
        [("root", "a"), ("root", "b")],
    )
    [inner] = sessions.call("awaiting", {"workflow": child})
    assert sessions.one("cancel", session)["status"] == "cancelled"

    assert sessions.call("awaiting") == []
    assert sessions.status(inner["sessionId"]) == "cancelled"
    with pytest.raises(ClientError, match="SC-959"):
        sessions.input(session, "x")
    assert sessions.run(session)["status"] == "cancelled"


def test_a_fork_shares_what_was_before_an_execution(sessions):
    """A fork goes on from an execution with the outputs and messages before it; both live on."""
    session = sessions.begin(
        {"root": ("set", {"n": 1}), "ask": ("request", ASK), "end": ("set", {})},
        [("root", "ask"), ("ask", "end")],
    )
    sessions.input(session, "first")
    fork = sessions.one("fork", session, {"step": "ask", "id": "f"})
    assert fork == {
        "sessionId": "f",
        "forkedFrom": session,
        "status": "active",
        "pending": ["ask"],
    }
    assert sessions.memory("f") == {"root": [{"n": 1}]}
    sessions.run("f")
    sessions.input("f", "second")

    assert sessions.memory("f")["ask"] == [{"response": "second"}]
    assert sessions.memory(session)["ask"] == [{"response": "first"}]
    assert [each["content"] for each in sessions.get("f")["chat_history"]] == ["?", "second"]
    with pytest.raises(ClientError, match="SC-962"):
        sessions.one("fork", session, {"step": "ask", "cycle": 5})
    with pytest.raises(ClientError, match="SC-956"):
        sessions.one("fork", session, {"step": "ask", "id": "f"})


def test_a_running_session_stays_on_its_version(sessions):
    """A new definition is for new sessions; those that run end by the steps they began with."""
    workflow = sessions.define(
        {"root": ("request", ASK), "end": ("set", {"v": 1})}, [("root", "end")]
    )
    old = sessions.start(workflow)
    spec = {
        "steps": [
            {"id": "root", "function": "request", "input": ASK},
            {"id": "end", "function": "set", "input": {"v": 2}},
        ],
        "next": [{"from": "root", "to": "end"}],
    }
    assert sessions.one("define", workflow, spec)["version"] == 2
    new = sessions.start(workflow)
    for session in (old, new):
        sessions.input(session, "x")

    assert sessions.memory(old)["end"] == [{"v": 1}]
    assert sessions.memory(new)["end"] == [{"v": 2}]


def test_a_change_of_the_graph_changes_what_sessions_do(sessions, session):
    """Drawn steps are read when they are run: an edge that is added is followed."""
    session.run(
        "CREATE (:STEP {id: 'root', workflow: 'drawn', function: 'request', "
        'input: \'{"statement": "?"}\'})'
    ).consume()
    name = sessions.start("drawn")
    session.run(
        "MATCH (t:STEP {workflow: 'drawn', id: 'root'}) "
        "CREATE (t)-[:NEXT]->(:STEP {id: 'new', workflow: 'drawn', function: 'set'})"
    ).consume()
    sessions.input(name, "x")

    assert {*sessions.memory(name)} == {"root", "new"}


def test_next_steps_that_others_write_are_followed(sessions, session):
    """`next_steps` may be written by plain Cypher; a name without a step is an error."""
    name = sessions.begin({"root": ("request", ASK), "b": ("set", {})}, run=False)
    session.run("MATCH (s:SESSION {id: $id}) SET s.next_steps = ['b']", id=name).consume()
    assert sessions.run(name)["status"] == "completed"
    assert {*sessions.memory(name)} == {"b"}

    name = sessions.begin({"root": ("set", {})}, run=False)
    session.run("MATCH (s:SESSION {id: $id}) SET s.next_steps = ['x']", id=name).consume()
    assert sessions.run(name)["status"] == "error"
    assert sessions.get(name)["errors"][0]["step_id"] == "x"


def test_a_recorded_session_is_a_run(sessions, session, outside):
    """`record: true` mirrors a session as a run, whose history can be verified."""
    outside.says("hello")
    workflow = sessions.define(
        {
            "root": ("request", ASK),
            "say": ("generate", {"user": "x"}),
            "find": ("cypher", {"statement": "RETURN 1 AS n"}),
            "bad": ("test.fails", {"text": "x"}),
        },
        [("root", "say"), ("say", "find"), ("find", "bad")],
    )
    name = sessions.start(workflow, record=True)
    sessions.input(name, "Ann")
    sessions.run(name)
    sessions.one("retry", name)

    found = session.run("CALL runs.events($id) YIELD type, event RETURN *", id=name).data()
    assert [row["type"] for row in found] == [
        "workflowStarted",
        "status",
        "userMessage",
        "llmResponse",
        "toolCall",
        "toolCallResult",
        "error",
        "workflowState",
        "workflowState",
        "error",
        "workflowState",
    ]
    assert found[2]["event"]["content"] == '"Ann"'
    [state] = session.run("CALL runs.verify($id) YIELD ok", id=name).data()
    assert state == {"ok": True}
    linked = (
        "MATCH (:SESSION {id: $id})-[:RECORDED_AS]->(r) RETURN r.type AS type, r.state AS state"
    )
    assert session.run(linked, id=name).data() == [{"type": workflow, "state": "error"}]


def test_ids_of_any_length_can_be_recorded(sessions, session):
    """An event has a digest as its id if the ids of session and step leave it too little room."""
    step = "s" * LONGEST_NAME
    workflow = sessions.define(
        {"root": ("set", {}), step: ("cypher", {"statement": "RETURN 1 AS n"})}, [("root", step)]
    )
    name = sessions.start(workflow, record=True, id=str(uuid4()).ljust(LONGEST_NAME, "x"))
    assert sessions.run(name)["status"] == "completed"
    found = session.run("CALL runs.events($id) YIELD type", id=name).value()
    assert found == ["workflowStarted", "status", "toolCall", "toolCallResult", "workflowCompleted"]


def test_the_run_of_a_session_may_be_archived(sessions, session):
    """It leaves the graph, and comes back with its relationship to the session."""
    workflow = sessions.define({"root": ("set", {"a": 1})})
    name = sessions.start(workflow, record=True)
    assert sessions.run(name)["status"] == "completed"

    session.run("CALL runs.archive($id)", id=name).consume()
    assert session.run("MATCH (r:WorkflowRun {id: $id}) RETURN r", id=name).data() == []
    session.run("CALL runs.restore($id)", id=name).consume()

    linked = "MATCH (:SESSION {id: $id})-[:RECORDED_AS]->(r) RETURN r.id AS id"
    assert session.run(linked, id=name).data() == [{"id": name}]


def test_properties_are_exported_for_older_tools(sessions, session):
    """`exportProperties` keeps what older engines have as JSON; too much ends the session."""
    name = sessions.begin({"root": ("reply", {"message": "Hi"})}, exportProperties=True)
    [found] = session.run("MATCH (s:SESSION {id: $id}) RETURN s {.*} AS s", id=name).data()
    assert json.loads(found["s"]["memory"]) == {"root": [{"message": "Hi"}]}
    assert json.loads(found["s"]["errors"]) == []
    assert json.loads(found["s"]["chat_history"]) == [{"role": "assistant", "content": "Hi"}]

    text = "x" * 400_000
    name = sessions.begin(
        {"root": ("set", {"text": text})}, [("root", "root")], exportProperties=True
    )
    assert sessions.status(name) == "error"
    assert "exportProperties" in sessions.errors(name)[0]


def test_a_large_output_is_an_error_of_its_step(sessions):
    """An output of over 1 MiB is refused, and nothing of it is stored."""
    given = {"statement": "RETURN reduce(t = '', n IN range(1, 20) | t + $x) AS x"}
    name = sessions.begin({"root": ("cypher", {**given, "parameters": {"x": "x" * 500_000}})})

    found = sessions.get(name)
    assert (found["status"], found["memory"]) == ("error", {})
    assert "bytes" in found["errors"][0]["error"]


def test_a_session_is_found_by_its_state(sessions):
    """`session.list` filters and pages, newest first."""
    workflow = sessions.define({"root": ("request", ASK)})
    names = [sessions.start(workflow) for _ in range(5)]
    sessions.input(names[0], "x")

    assert [row["id"] for row in sessions.call("list")] == names[::-1]
    assert [row["id"] for row in sessions.call("list", {"status": "completed"})] == names[:1]
    first = sessions.call("list", {"limit": 2, "workflow": workflow})
    rest = sessions.call("list", {"cursor": first[-1]["cursor"], "workflow": workflow})
    assert [row["id"] for row in first + rest] == names[::-1]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_pages_of_sessions_end_whatever_the_zone_of_the_server_is(sessions, session, zone):
    """Neo4j writes times in its zone, and the pages of `session.list` have each session once."""
    workflow = sessions.define({"root": ("set", {})})
    names = [sessions.start(workflow) for _ in range(3)]
    moved = """
        MATCH (s:SESSION {workflow: $workflow})
        SET s.created_at = datetime({datetime: s.created_at, timezone: $zone})
    """
    session.run(moved, workflow=workflow, zone=zone).consume()

    found, page = [], {"limit": 1, "workflow": workflow}
    while (rows := sessions.call("list", page)) and len(found) < 4:
        found += [row["id"] for row in rows]
        page["cursor"] = rows[0]["cursor"]

    assert found == names[::-1]


def test_a_session_is_waited_for(sessions, driver):
    """`session.waitFor` answers once the session has the status, or the time is over."""
    name = sessions.begin({"root": ("request", ASK)})
    began = time.monotonic()
    assert sessions.one("waitFor", name, "completed", 0.3)["reached"] is False
    assert time.monotonic() - began < 5
    assert sessions.one("waitFor", name, "awaiting_input", 60)["reached"] is True
    with pytest.raises(ClientError, match="SC-955"):
        sessions.one("waitFor", "nobody", "completed", 1)


@pytest.mark.parametrize(
    ("text", "value", "missing"),
    [
        ("@{SESSION_ID}.root.n", 1, []),
        ("n is @{SESSION_ID}.root.n !", "n is 1 !", []),
        ("@{SESSION_ID}.root.x|none", "none", []),
        ("@{SESSION_ID}.root.x", None, ["@{SESSION_ID}.root.x"]),
        ("plain", "plain", []),
    ],
)
def test_a_text_is_resolved_for_a_session(sessions, text, value, missing):
    """`session.resolve` shows what a text becomes, and what is missing."""
    name = sessions.begin({"root": ("set", {"n": 1})})
    assert sessions.one("resolve", name, text) == {"value": value, "missing": missing}


def test_other_sessions_are_out_of_reach(sessions):
    """A reference to another session is missing, unless the setting allows it."""
    other = sessions.begin({"root": ("set", {"secret": 1})})
    name = sessions.begin({"root": ("set", {"x": f"@{{{other}}}.root.secret|nothing"})})

    assert sessions.memory(name)["root"] == [{"x": "nothing"}]


@pytest.mark.parametrize(
    ("properties", "error"),
    [
        ({"input": '{"statement": '}, "is not JSON at line 1, column 15"),
        ({"input": '{"a": 1, "a": 2}'}, "the key `a` twice"),
        ({"input": "[1]"}, "is not a JSON object"),
        ({"input": '{"x": "@{SESSION_ID"}'}, "character 1"),
        ({"function": "nobody.knows"}, "There is no function `nobody.knows`"),
        ({"function": "reqest"}, "did you mean `request`"),
        ({"input": '{"x": "@{SESSION_ID}.later.y"}'}, "`@{SESSION_ID}.later.y` is not there"),
    ],
)
def test_a_step_that_cannot_be_run_is_a_located_error(sessions, session, properties, error):
    """What plain Cypher wrote is read when it is run; the error names what is wrong, and where."""
    step = {"id": "root", "workflow": "drawn", "function": "set", **properties}
    session.run("CREATE (t:STEP) SET t = $step", step=step).consume()
    name = sessions.start("drawn")

    assert sessions.status(name) == "error"
    assert error in sessions.errors(name)[0]
    found = sessions.call("validate", "drawn")
    assert [row["severity"] for row in found] == ["error"]
    if "later" not in error:
        assert error in found[0]["message"]


@pytest.mark.parametrize(
    ("edge", "error"),
    [
        ({"conditions": "[{"}, "`conditions` is not JSON at line 1"),
        ({"conditions": '[{"value": 1, "op": "is"}]'}, "`conditions[0].op`"),
        ({"condition": ["@{x"]}, "`condition[0]`"),
        ({"function": "condition.like", "input": "{}"}, "`function` is not a condition"),
    ],
)
def test_a_condition_that_cannot_be_read_is_a_located_error(sessions, session, edge, error):
    """The step before such an edge does not run, so that nothing is recorded without a way on."""
    session.run(
        "CREATE (a:STEP {id: 'root', workflow: 'drawn', function: 'set'})-[n:NEXT]->"
        "(:STEP {id: 'b', workflow: 'drawn', function: 'set'}) SET n = $edge",
        edge=edge,
    ).consume()
    name = sessions.start("drawn")

    found = sessions.get(name)
    assert (found["status"], found["memory"]) == ("error", {})
    assert error in found["errors"][0]["error"]
    assert error in sessions.call("validate", "drawn")[0]["message"]


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ({"steps": []}, "SC-204"),
        ({"steps": [{"id": "a", "function": "set"}]}, "no entry step `root`"),
        ({"steps": [{"id": "root", "function": "set", "inputs": {}}]}, "`input`"),
        ({"steps": [{"id": "root", "function": "sett"}]}, "did you mean `set`"),
        (
            {
                "steps": [{"id": "root", "function": "set"}],
                "next": [{"from": "root", "to": "nowhere"}],
            },
            "names the step `nowhere`",
        ),
        (
            {"steps": [{"id": "root", "function": "set"}, {"id": "root", "function": "set"}]},
            "Several steps have this id",
        ),
        ({"steps": [{"id": "root", "function": "request"}]}, "It has no `statement`"),
        (
            {"steps": [{"id": "root", "function": "set", "input": {"x": "@{SESSION_ID}.y.z"}}]},
            "names a step that is not there",
        ),
    ],
)
def test_a_wrong_workflow_is_not_defined(sessions, session, spec, error):
    """`session.define` refuses what would fail, with its place; nothing is written."""
    with pytest.raises(ClientError) as raised:
        sessions.one("define", "wrong", spec)

    assert error in str(raised.value)
    assert session.run("MATCH (n:STEP|WORKFLOW) RETURN n").data() == []


def test_a_workflow_without_a_root_cannot_be_started(sessions, session):
    """Without an entry step, or with several, no session is started."""
    for workflow in ("nobody", None):
        with pytest.raises(ClientError, match="SC-954"):
            sessions.start(workflow)
    session.run("UNWIND [1, 2] AS n CREATE (:STEP {id: 'root', function: 'set'})").consume()
    with pytest.raises(ClientError, match="SC-953"):
        sessions.start(None)
    assert session.run("MATCH (s:SESSION) RETURN s").data() == []


@pytest.mark.parametrize(
    ("request_", "answer", "error"),
    [
        ({"options": ["yes", "no"]}, "maybe", "none of the 2 options"),
        ({"schema": {"type": "integer", "minimum": 1}}, 0, "minimum"),
        ({"schema": {"type": "object", "required": ["a"]}}, {}, "required"),
    ],
)
def test_an_answer_of_the_wrong_form_is_refused(sessions, request_, answer, error):
    """The request stays open, and takes a right answer."""
    name = sessions.begin({"root": ("request", {**ASK, **request_})})
    with pytest.raises(ClientError, match=f"SC-958.*{error}"):
        sessions.input(name, answer)
    assert len(sessions.requests(name)) == 1


def test_an_answer_is_given_once(sessions):
    """The same answer again is accepted, another one is a conflict; so is one to no request."""
    name = sessions.begin({"root": ("request", ASK), "end": ("set", {})}, [("root", "end")])
    [request] = sessions.requests(name)
    for _ in range(2):
        assert sessions.input(name, {"a": [1]}, requestId=request["requestId"])["accepted"]
    with pytest.raises(ClientError, match="SC-959"):
        sessions.input(name, "other", requestId=request["requestId"])
    with pytest.raises(ClientError, match="SC-959"):
        sessions.input(name, "x", requestId="nobody")
    with pytest.raises(ClientError, match="SC-955"):
        sessions.input("nobody", "x")
    assert sessions.memory(name)["root"] == [{"response": {"a": [1]}}]


def test_one_of_several_requests_has_to_be_named(sessions):
    """With two open requests an answer needs `requestId`."""
    name = sessions.begin(
        {"root": ("", {}), "a": ("request", ASK), "b": ("request", ASK)},
        [("root", "a"), ("root", "b")],
    )
    with pytest.raises(ClientError, match="2 open requests"):
        sessions.input(name, "x")
    for request in sessions.requests(name):
        sessions.input(name, request["stepId"], requestId=request["requestId"])

    assert sessions.memory(name)["a"] == [{"response": "a"}]
    assert sessions.memory(name)["b"] == [{"response": "b"}]
    assert sessions.status(name) == "completed"
