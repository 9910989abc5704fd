"""Steps that run outside of a transaction, and what `session.run` may do in whose."""

import threading
import time

import pytest
from fix_waiting import wait_until
from neo4j.exceptions import ClientError

GENERATE = ("generate", {"user": "Say @{SESSION_ID}.root.word"})


def test_a_generated_text_is_an_output(sessions, outside):
    """A `generate` step is left by the transaction of a start, and run by `session.run`."""
    outside.says("Hello.")
    session = sessions.begin(
        {"root": ("set", {"word": "hello"}), "say": GENERATE, "end": ("set", {})},
        [("root", "say"), ("say", "end")],
    )
    assert sessions.one("step", session)["pending"] == ["say"]
    assert outside.requests == []

    assert sessions.run(session) == {"sessionId": session, "status": "completed", "pending": []}
    assert sessions.memory(session)["say"] == [{"response": "Hello."}]
    [request] = outside.requests
    assert request["body"]["messages"] == [{"role": "user", "content": "Say hello"}]
    assert request["body"]["model"] == "small"


def test_an_answer_is_checked_against_its_schema(sessions, outside):
    """JSON beside the schema is asked for once more; what is wrong then is an error of the step."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    steps = {"root": ("generate", {"user": "A number", "schema": schema})}
    outside.says('{"n": "one"}', '{"n": 1}')
    session = sessions.begin(steps)
    assert sessions.run(session)["status"] == "completed"
    assert sessions.memory(session)["root"] == [{"n": 1}]

    outside.says('{"n": "secret"}')
    session = sessions.begin(steps)
    assert sessions.run(session)["status"] == "error"
    [error] = sessions.errors(session)
    assert "`$.n` does not satisfy `type`" in error
    assert "secret" not in error


def test_steps_that_wait_run_side_by_side(sessions, outside):
    """Bodies outside of a transaction run at the same time, and their outputs are all there."""
    together = threading.Barrier(3)

    def answer(request):
        together.wait(20)
        return 200, {"n": request["body"]["n"]}

    outside.answer = answer
    url = f"{outside.url}/x"
    steps = {str(n): ("api", {"url": url, "method": "POST", "json": {"n": n}}) for n in range(3)}
    session = sessions.begin(
        {"root": ("", {}), **steps, "join": ("set", {}, {"join": "all"})},
        [("root", name) for name in steps] + [(name, "join") for name in steps],
    )

    assert sessions.run(session)["status"] == "completed"
    memory = sessions.memory(session)
    assert [memory[name][0]["response"] for name in steps] == [{"n": 0}, {"n": 1}, {"n": 2}]
    keys = [request["headers"]["idempotency-key"] for request in outside.requests]
    assert sorted(keys) == [f"{session}/{n}/0" for n in range(3)]


def test_no_lock_is_held_while_a_body_runs(sessions, outside, driver):
    """While a model answers, others write the session."""
    going, on = threading.Event(), threading.Event()

    def answer(_request):
        going.set()
        assert on.wait(30)
        return 200, {"choices": [{"message": {"content": "x"}}]}

    outside.answer = answer
    session = sessions.begin({"root": ("generate", {"user": "x"})})
    done = []

    def run():
        with driver.session() as other:
            done.append(other.run("CALL session.run($id)", id=session).data())

    thread = threading.Thread(target=run)
    thread.start()
    assert going.wait(30)
    sessions.session.run("MATCH (s:SESSION {id: $id}) SET s.note = 'x'", id=session).consume()
    [claimed] = sessions.call("history", session)
    assert (claimed["state"], claimed["stepId"]) == ("running", "root")
    # Nobody else runs it meanwhile.
    assert sessions.run(session)["pending"] == ["root"]
    on.set()
    thread.join(30)
    assert [row["status"] for [row] in done] == ["completed"]
    assert len(outside.requests) == 1


def test_a_session_of_an_open_transaction_is_left_to_its_caller(sessions, outside, session):
    """In the transaction that starts a session only steps of a transaction run; none waits."""
    workflow = sessions.define(
        {"root": ("set", {}), "say": ("generate", {"user": "x"})}, [("root", "say")]
    )
    with session.begin_transaction() as transaction:
        call = "CALL session.start($workflow) YIELD sessionId CALL session.run(sessionId)"
        began = time.monotonic()
        [row] = transaction.run(
            f"{call} YIELD status, pending RETURN sessionId, status, pending", workflow=workflow
        ).data()
        assert (row["status"], row["pending"]) == ("active", ["say"])
        assert time.monotonic() - began < 10
        transaction.commit()
    outside.says("x")

    assert sessions.run(row["sessionId"])["status"] == "completed"


def test_a_lock_of_the_caller_is_not_waited_for(sessions, outside, session):
    """A caller who has locked the session by other means is told what is left."""
    outside.says("x")
    name = sessions.begin({"root": ("generate", {"user": "x"})})
    with session.begin_transaction() as transaction:
        transaction.run("MATCH (s:SESSION {id: $id}) SET s.note = 1", id=name).consume()
        [row] = transaction.run("CALL session.run($id)", id=name).data()
        assert row["pending"] == ["root"]
        transaction.rollback()

    assert sessions.run(name)["status"] == "completed"


def test_a_body_has_its_time(sessions, outside):
    """`timeoutMs` ends a body; `retries` try it again, under the same key."""
    tries = []

    def answer(request):
        tries.append(request["headers"]["idempotency-key"])
        if len(tries) == 1:
            time.sleep(1)
        return 200, {"n": len(tries)}

    outside.answer = answer
    options = {"timeoutMs": 200, "retries": 1, "backoffMs": 1}
    session = sessions.begin({"root": ("api", {"url": outside.url}, options)})
    wait_until(lambda: sessions.run(session)["status"] == "completed")

    assert sessions.memory(session)["root"][0]["response"] == {"n": 2}
    assert tries == [f"{session}/root/0"] * 2
    [row] = sessions.call("history", session)
    assert (row["state"], row["tries"]) == ("done", 2)


@pytest.mark.parametrize(
    ("url", "error"),
    [
        ("http://127.0.0.1:1/", "not allowed"),
        ("http://localhost/", "not allowed"),
        ("https://example.org/", "not allowed"),
        ("file:///etc/passwd", "not allowed"),
        ("not a url", "not allowed"),
        (7, "not allowed"),
    ],
)
def test_an_api_step_calls_allowed_hosts_only(sessions, outside, url, error):
    """Loopback and other hosts are refused unless the setting names them."""
    session = sessions.begin({"root": ("api", {"url": url})})

    assert sessions.run(session)["status"] == "error"
    assert error in sessions.errors(session)[0]
    assert outside.requests == []


def test_functions_of_authors_run_where_they_fit(sessions):
    """A plain `@step` runs inside the transaction, an async one outside; both see their input."""
    session = sessions.begin(
        {"root": ("test.upper", {"text": "a"}), "b": ("test.later", {"text": "b"})}, [("root", "b")]
    )
    assert sessions.memory(session) == {"root": ["A"]}

    assert sessions.run(session)["status"] == "completed"
    assert sessions.memory(session)["b"] == [{"text": "b", "key": f"{session}/b/0"}]


def test_arguments_of_an_authors_function_are_checked(sessions):
    """A missing or wrong argument is an error of the step that names it."""
    session = sessions.begin({"root": ("test.upper", {"text": 7})})

    assert sessions.status(session) == "error"
    assert "`text`" in sessions.errors(session)[0]


def test_a_cypher_step_reads_unless_it_says_otherwise(sessions, session):
    """A READ step that writes fails the call and writes nothing; a WRITE step writes."""
    read = {"statement": "UNWIND $names AS name RETURN name", "parameters": {"names": ["a", "b"]}}
    found = sessions.begin({"root": ("cypher", read)})
    assert sessions.memory(found)["root"] == [
        {"rows": [{"name": "a"}, {"name": "b"}], "row": {"name": "a"}}
    ]
    written = {"statement": "CREATE (n:Written {n: $n}) RETURN n", "parameters": {"n": 1}}
    workflow = sessions.define({"root": ("cypher", written)})
    with pytest.raises(ClientError, match=r"[Ww]rite|read"):
        sessions.start(workflow)
    assert session.run("MATCH (n:Written|SESSION {workflow: $w}) RETURN n", w=workflow).data() == []

    found = sessions.begin({"root": ("cypher", {**written, "mode": "WRITE"})})
    assert sessions.memory(found)["root"][0]["row"] == {"n": {"n": 1}}
    assert len(session.run("MATCH (n:Written) RETURN n").data()) == 1


def test_a_procedure_step_calls_a_procedure_of_the_sidecar(sessions):
    """Arguments are values; a procedure that the sidecar does not have is an error."""
    given = {"name": "runs.create", "arguments": ["triage", {"id": "r1"}]}
    session = sessions.begin({"root": ("procedure", given)})
    assert sessions.memory(session)["root"][0]["row"]["id"] == "r1"

    session = sessions.begin({"root": ("procedure", {"name": "dbms.components"})})
    assert "has no procedure" in sessions.errors(session)[0]
    session = sessions.begin({"root": ("procedure", {"name": "runs.create('x') //"})})
    assert "unusable name" in sessions.errors(session)[0]
