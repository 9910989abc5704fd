"""Rounds of sessions on a real Neo4j: order, branches, loops, joins, errors."""

import json

import pytest
from neo4j.exceptions import ClientError

ASK = {"statement": "Who?"}
ANSWER = "@{SESSION_ID}.ask.response"


def when(expected, reference=ANSWER):
    """The condition that a reference has a value."""
    return {"value": reference, "op": "equals", "expected": expected}


def test_a_session_follows_the_graph_to_its_end(sessions):
    """Steps run in the order of their edges; a session without a next step is completed."""
    session = sessions.begin(
        {"root": ("set", {"n": 1}), "b": ("set", {"n": "@{SESSION_ID}.root.n"})}, [("root", "b")]
    )

    found = sessions.get(session)
    assert found["memory"] == {"root": [{"n": 1}], "b": [{"n": 1}]}
    assert (found["status"], found["next_steps"], found["errors"]) == ("completed", [], [])


def test_a_request_waits_for_its_answer(sessions):
    """A request parks the session; the answer is its output, and the session goes on."""
    session = sessions.start(
        sessions.define(
            {"ask": ("request", ASK), "hello": ("reply", {"message": f"Hello {ANSWER} !"})},
            [("ask", "hello")],
            entry="ask",
        )
    )

    [request] = sessions.requests(session)
    assert (request["statement"], request["stepId"]) == ("Who?", "ask")
    assert sessions.status(session) == "awaiting_input"
    assert sessions.input(session, "Ann")["status"] == "completed"
    found = sessions.get(session)
    assert found["memory"] == {
        "ask": [{"response": "Ann"}],
        "hello": [{"message": "Hello Ann !"}],
    }
    assert found["chat_history"] == [
        {"role": "assistant", "content": "Who?"},
        {"role": "user", "content": "Ann"},
        {"role": "assistant", "content": "Hello Ann !"},
    ]
    assert sessions.requests(session) == []


def test_siblings_of_a_request_run_on(sessions):
    """A request parks only itself: its siblings run, and the session waits once they have."""
    session = sessions.begin(
        {
            "root": ("", {}),
            "a": ("set", {"x": 1}),
            "ask": ("request", ASK),
            "b": ("set", {"x": 2}),
            "c": ("set", {"x": 3}),
        },
        [("root", "a"), ("root", "ask"), ("root", "b"), ("b", "c")],
    )

    found = sessions.get(session)
    assert {*found["memory"]} == {"root", "a", "b", "c"}
    assert (found["status"], found["next_steps"]) == ("awaiting_input", ["ask"])
    assert sessions.input(session, "x")["status"] == "completed"


def test_conditions_count_after_an_answer(sessions):
    """Edges behind a request fire by the answer."""
    steps = {
        "root": ("", {}),
        "ask": ("request", ASK),
        "yes": ("set", {}),
        "no": ("set", {}),
    }
    edges = [("root", "ask"), ("ask", "yes", when("yes")), ("ask", "no", when("no"))]
    session = sessions.begin(steps, edges)
    sessions.input(session, "no")

    assert {*sessions.memory(session)} == {"root", "ask", "no"}


def test_a_missing_reference_makes_a_condition_false_and_is_told(sessions):
    """A condition on what is not there does not hold; the history has a warning."""
    session = sessions.begin(
        {"root": ("", {}), "never": ("set", {}), "also": ("set", {})},
        [("root", "never", when(1, "@{SESSION_ID}.root.x")), ("root", "also")],
    )

    found = sessions.get(session)
    assert ({*found["memory"]}, found["errors"]) == ({"root", "also"}, [])
    [warning] = [row for row in sessions.call("history", session) if row["state"] == "warning"]
    assert "@{SESSION_ID}.root.x" in warning["error"]


def test_a_loop_has_an_output_for_each_cycle(sessions):
    """References see the cycles of a step, from 0, and from -1 backwards."""
    session = sessions.begin(
        {
            "root": ("store.append", {"value": "@{SESSION_ID}.root.items|0"}),
            "seen": ("set", {"first": "@{SESSION_ID}.root[0]", "last": "@{SESSION_ID}.root[-2]|0"}),
        },
        [("root", "seen"), ("seen", "root")],
        maxOutputsPerStep=3,
    )

    found = sessions.get(session)
    assert (found["status"], len(found["memory"]["root"])) == ("error", 3)
    assert "maxOutputsPerStep" in found["errors"][0]["error"]
    assert found["memory"]["seen"][2] == {
        "first": found["memory"]["root"][0],
        "last": found["memory"]["root"][1],
    }


def test_a_cycle_without_end_is_ended(sessions):
    """`maxRounds` ends a session that nobody answers, with an error that says so."""
    steps = {"root": ("set", {})}
    session = sessions.begin(steps, [("root", "root")], maxRounds=7)

    found = sessions.get(session)
    assert (found["status"], len(found["memory"]["root"])) == ("error", 7)
    assert found["errors"][0]["error"] == "The session has taken 7 rounds without an answer"


def test_an_answer_counts_rounds_anew(sessions):
    """A conversation may be longer than `maxRounds`."""
    session = sessions.begin(
        {"root": ("request", ASK), "a": ("set", {})}, [("root", "a"), ("a", "root")], maxRounds=3
    )
    for number in range(6):
        assert sessions.input(session, str(number))["status"] == "awaiting_input"

    assert len(sessions.memory(session)["root"]) == 6


def test_a_step_that_several_branches_reach_runs_once_a_round(sessions):
    """Branches that meet in one round run the step where they meet once."""
    session = sessions.begin(
        {name: ("set", {}) for name in ("root", "a", "b", "c")},
        [("root", "a"), ("root", "b"), ("a", "c"), ("b", "c")],
    )

    assert len(sessions.memory(session)["c"]) == 1


def test_a_join_waits_for_branches_that_can_still_reach_it(sessions):
    """`join: all` runs once, after the longest of its branches."""
    session = sessions.begin(
        {
            "root": ("", {}),
            "short": ("set", {}),
            "long": ("set", {}),
            "longer": ("request", ASK),
            "other": ("request", ASK),
            "join": ("set", {"answer": "@{SESSION_ID}.longer.response"}, {"join": "all"}),
        },
        [
            ("root", "short"),
            ("root", "long"),
            ("root", "other"),
            ("long", "longer"),
            ("short", "join"),
            ("longer", "join"),
        ],
    )

    assert "join" not in sessions.memory(session)
    [longer] = [each for each in sessions.requests(session) if each["stepId"] == "longer"]
    sessions.input(session, "done", requestId=longer["requestId"])
    assert sessions.memory(session)["join"] == [{"answer": "done"}]


def test_joins_that_only_wait_for_each_other_go_on(sessions):
    """Two joins in one loop do not block it for ever."""
    session = sessions.begin(
        {
            "root": ("", {}),
            "a": ("set", {}, {"join": "all"}),
            "b": ("set", {}, {"join": "all"}),
            "end": ("set", {}),
        },
        [
            ("root", "a"),
            ("root", "b"),
            ("a", "b", when(1, "@{SESSION_ID}.a.x|0")),
            ("b", "a", when(1, "@{SESSION_ID}.a.x|0")),
            ("a", "end"),
        ],
    )

    assert (sessions.status(session), {*sessions.memory(session)}) == (
        "completed",
        {"root", "a", "b", "end"},
    )


def test_an_error_is_no_success(sessions):
    """A failed step ends its branch by an error, and the session once all else has ended."""
    steps = {
        "root": ("", {}),
        "bad": ("test.fails", {"text": "secret"}),
        "after": ("set", {}),
        "ask": ("request", ASK),
    }
    session = sessions.begin(steps, [("root", "bad"), ("root", "ask"), ("bad", "after")])

    assert sessions.status(session) == "awaiting_input"
    assert sessions.input(session, "x")["status"] == "error"
    found = sessions.get(session)
    assert {*found["memory"]} == {"root", "ask"}
    assert [each["step_id"] for each in found["errors"]] == ["bad"]
    assert "secret" not in json.dumps(found["errors"])


@pytest.mark.parametrize(
    ("on_error", "ran"), [("continue", {"root", "after"}), ("step:mend", {"root", "mend"})]
)
def test_on_error_says_what_follows_a_failure(sessions, on_error, ran):
    """`continue` follows the edges all the same; `step:` goes to a step."""
    session = sessions.begin(
        {
            "root": ("", {}),
            "bad": ("test.fails", {"text": "x"}, {"onError": on_error}),
            "after": ("set", {}),
            "mend": ("set", {}),
        },
        [("root", "bad"), ("bad", "after")],
    )

    found = sessions.get(session)
    assert ({*found["memory"]}, found["status"], len(found["errors"])) == (ran, "completed", 1)


def test_a_failed_session_is_retried_from_the_failed_step(sessions, session):
    """`session.retry` runs the failed step again, and nothing that has an output."""
    failed = sessions.begin(
        {"root": ("set", {"n": 1}), "bad": ("test.fails", {"text": "x"}), "end": ("set", {})},
        [("root", "bad"), ("bad", "end")],
    )
    with pytest.raises(ClientError, match="SC-957"):
        sessions.one("retry", sessions.begin({"root": ("set", {})}))
    assert sessions.one("retry", failed)["status"] == "error"
    session.run("MATCH (t:STEP {id: 'bad'}) SET t.function = 'set'").consume()

    assert sessions.one("retry", failed)["status"] == "completed"
    found = sessions.get(failed)
    assert {name: len(outputs) for name, outputs in found["memory"].items()} == {
        "root": 1,
        "bad": 1,
        "end": 1,
    }
    assert len(found["errors"]) == 2


def test_a_retried_session_asks_again(sessions):
    """A request that was closed with its session is open again, whatever time it had."""
    steps = {name: ("set", {}) for name in ("root", "a", "b", "c")}
    session = sessions.begin(
        {**steps, "ask": ("request", ASK, {"timeoutMs": 3_600_000})},
        [("root", "ask"), ("root", "a"), ("a", "b"), ("b", "c")],
        maxRounds=3,
    )
    assert (sessions.status(session), sessions.requests(session)) == ("error", [])

    assert sessions.one("retry", session)["status"] == "awaiting_input"
    assert sessions.input(session, "Ann")["status"] == "completed"


def test_a_session_that_has_failed_asks_nobody(sessions):
    """What a step asks in the round that ends its session is no open request."""
    session = sessions.begin(
        {**{name: ("set", {}) for name in ("root", "a", "b", "c", "d")}, "ask": ("request", ASK)},
        [("root", "a"), ("a", "b"), ("b", "a"), ("root", "c"), ("c", "d"), ("d", "ask")],
        maxOutputsPerStep=1,
    )

    assert sessions.status(session) == "error"
    assert sessions.requests(session) == []


def test_a_session_runs_one_step_at_a_time(sessions):
    """`session.step` runs one step, in order; `run: false` runs none at the start."""
    session = sessions.begin({"root": ("set", {}), "b": ("set", {})}, [("root", "b")], run=False)
    assert sessions.memory(session) == {}
    assert sessions.one("step", session) == {
        "sessionId": session,
        "status": "active",
        "pending": ["b"],
    }
    assert sessions.one("step", session)["status"] == "completed"


def test_a_session_starts_once(sessions):
    """The same id is the same session, unless it is of another workflow."""
    workflow = sessions.define({"root": ("request", ASK)})
    assert sessions.start(workflow, id="s") == sessions.start(workflow, id="s") == "s"
    assert len(sessions.call("list")) == 1
    with pytest.raises(ClientError, match="SC-956"):
        sessions.begin({"root": ("set", {})}, id="s")


def test_the_input_of_a_session_is_a_step_to_references(sessions):
    """`@{SESSION_ID}.input` is what the session was started with."""
    session = sessions.begin(
        {"root": ("set", {"n": "@{SESSION_ID}.input.n"})}, input={"n": [1, {"a": None}]}
    )

    assert sessions.memory(session)["root"] == [{"n": [1, {"a": None}]}]


def test_a_join_that_only_waits_for_an_answer_is_not_due(sessions, session):
    """A blocked join beside an open request is due for nobody: the session awaits input."""
    name = sessions.begin(
        {
            "root": ("", {}),
            "a": ("set", {}),
            "ask": ("request", ASK),
            "join": ("set", {}, {"join": "all"}),
        },
        [("root", "a"), ("root", "ask"), ("a", "join"), ("ask", "join")],
    )
    found = "MATCH (s:SESSION {id: $id}) RETURN s.status AS status, s.lease_until AS due"
    assert session.run(found, id=name).data() == [{"status": "awaiting_input", "due": None}]
    assert sessions.input(name, "x")["status"] == "completed"


@pytest.mark.parametrize("call", ["session.input", "session.cancel"])
def test_a_step_cannot_change_its_own_session(sessions, session, call):
    """A step that answers or cancels its own session is refused, and nothing of it stays."""
    given = {"name": call, "arguments": ["self", "late"][: 2 if call == "session.input" else 1]}
    workflow = sessions.define(
        {
            "root": ("", {}),
            "ask": ("request", ASK),
            "set": ("set", {}),
            "self": ("procedure", given),
        },
        [("root", "ask"), ("root", "set"), ("set", "self")],
    )
    with pytest.raises(ClientError, match=r"SC-960|already exists"):
        sessions.start(workflow, id="self")
    assert session.run("MATCH (s:SESSION) RETURN s").data() == []


def test_a_value_of_a_session_is_never_cypher(sessions):
    """A reference in the statement of a `cypher` step is refused: an answer could be Cypher."""
    given = {"statement": "RETURN @{SESSION_ID}.root.response AS x"}
    name = sessions.begin({"root": ("request", ASK), "run": ("cypher", given)}, [("root", "run")])
    sessions.input(name, "1 + 1")

    assert sessions.status(name) == "error"
    assert "give its value by `parameters`" in sessions.errors(name)[0]
