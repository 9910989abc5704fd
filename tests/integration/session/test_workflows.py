"""The workflows of the pages about sessions, run as they are printed, and in other ways."""

import json
from itertools import pairwise

import pytest
from docs.pages import ROOT, blocks, headings
from fix_waiting import wait_until
from neo4j.exceptions import ClientError

PAGES = sorted((ROOT / "docs").glob("session*.md"))
FIRST = "Your first session"
TRIAGE = "Triage issues with an approval"
ANSWERS = 'Answer questions until "bye"'
REVIEW = "Review a plan"
LIMIT = "Approve within a time limit"
BRANCHES = "Let the first of two branches decide"
REPORT = "Fan out and join"
# What the model says to each story of the page.
MODEL = {
    TRIAGE: {"label": "docs", "reason": "The title names the README."},
    ANSWERS: {"text": "Nodes and relationships.", "followup": "Do you want an example?"},
}


def story(title):
    """Return the queries below a heading, each with the rows that are shown below it."""
    [page] = [page for page in PAGES if title in headings(page)]
    lines = page.read_text(encoding="utf-8").splitlines()
    begin = next(n for n, line in enumerate(lines, 1) if line.lstrip("# ") == title)
    end = next((n for n, line in enumerate(lines[begin:], begin) if line.startswith("#")), None)
    of_it = [
        block
        for block in blocks("cypher", "text", "json", pages=[page])
        if begin < block.line <= (end or len(lines))
    ]
    shown = {
        block.text: [json.loads(f"[{line}]") for line in after.text.splitlines()]
        for block, after in pairwise([*of_it, None])
        if block.info == "cypher" and after is not None and after.info == "text"
    }
    return [(each.text, shown.get(each.text)) for each in of_it if each.info == "cypher"]


def procedures():
    """Return the headings of the procedures."""
    titles = headings(ROOT / "docs/session-procedures.md")
    return [title for title in titles if title.startswith("session.")]


@pytest.fixture
def tell(session, outside):
    """Run the blocks below a heading, each in a transaction of its own, and compare their rows."""

    def told(title, most=None):
        if title in MODEL:
            outside.says(json.dumps(MODEL[title]))
        queries = story(title)[:most]
        for query, rows in queries:
            if title in {LIMIT, BRANCHES} and "session.run(" in query:
                wait_until(lambda: is_due(session))
            found = session.run(query).values()
            assert rows is None or found == rows, query
        return len(queries)

    return told


def is_due(session):
    """Return whether a wait is over, by the clock of Neo4j."""
    query = "MATCH (c:StepClaim) RETURN c.leaseUntil < datetime.realtime()"
    return all(is_over for is_over in session.run(query).value() if is_over is not None)


@pytest.mark.parametrize("title", [FIRST, TRIAGE, ANSWERS, REVIEW, LIMIT, BRANCHES, REPORT])
def test_a_story_of_the_page_runs_as_it_is_printed(tell, session, title):
    """Each query returns the rows that are shown below it, and every session ends as it is told."""
    assert tell(title) >= 3

    ended = session.run("MATCH (s:SESSION) WHERE s.id <> 'h2' RETURN DISTINCT s.status").value()
    assert {*ended} <= {"completed", "cancelled"}


def test_the_examples_of_procedures_run_after_the_first_session(tell):
    """The examples of the worker and of the procedures return the rows below them."""
    tell(FIRST)

    assert sum(tell(title) for title in ["The worker", *procedures()]) >= 8


@pytest.mark.parametrize("title", [FIRST, TRIAGE, ANSWERS, REVIEW, LIMIT, REPORT])
def test_the_workflows_of_the_page_have_no_findings(tell, sessions, session, title):
    """`session.validate` finds nothing in them, neither errors nor warnings."""
    tell(title, 1)

    for name in session.run("MATCH (w:WORKFLOW) RETURN w.name").value():
        assert sessions.call("validate", name) == []


# Triage


def test_a_model_is_not_asked_within_the_transaction_of_the_caller(tell, sessions, outside):
    """`session.start` leaves a `generate` step `pending`; `session.run` asks the model, once."""
    tell(TRIAGE, 2)
    assert outside.requests == []

    assert sessions.run("t1")["status"] == "awaiting_input"
    [request] = outside.requests
    assert request["body"]["messages"] == [
        {"role": "system", "content": "You label issues."},
        {"role": "user", "content": "Spelling error in the README file"},
    ]
    assert sessions.run("t1")["pending"] == []
    assert len(outside.requests) == 1


def test_a_declined_suggestion_records_nothing(tell, sessions, session):
    """With `no` the edge to the `cypher` step does not fire; another answer is refused before."""
    tell(TRIAGE, 4)
    with pytest.raises(ClientError, match="SC-958"):
        sessions.input("t1", "perhaps")

    assert sessions.input("t1", "no")["status"] == "completed"
    assert {*sessions.memory("t1")} == {"input", "root", "suggest", "approve", "skip"}
    assert session.run("MATCH (d:Decision) RETURN count(d)").single().value() == 0


def test_an_answer_of_the_model_beside_its_schema_is_repaired(tell, sessions, outside):
    """A label that is not in the schema is asked for once more, and the second answer counts."""
    tell(TRIAGE, 2)
    wrong, right = {"label": "urgent", "reason": ""}, MODEL[TRIAGE]
    outside.says(json.dumps(wrong), json.dumps(right))

    assert sessions.run("t1")["status"] == "awaiting_input"
    assert sessions.memory("t1")["suggest"] == [right]
    assert len(outside.requests) == 2


# Questions and answers


def test_a_conversation_goes_on_until_bye(tell, sessions, outside):
    """Each cycle asks what the model proposed, and sends the conversation so far."""
    tell(ANSWERS, 3)
    for number in range(2, 5):
        [request] = sessions.requests("a1")
        assert request["statement"] == "Do you want an example?"
        sessions.input("a1", f"Question {number}?")
        assert sessions.run("a1")["status"] == "awaiting_input"

    sent = outside.requests[-1]["body"]["messages"]
    assert [each["content"] for each in sent if each["role"] == "user"][:4] == [
        "What is a graph?",
        "Question 2?",
        "Question 3?",
        "Question 4?",
    ]
    assert sessions.input("a1", "bye")["status"] == "completed"
    memory = sessions.memory("a1")
    assert {name: len(outputs) for name, outputs in memory.items()} == {
        "root": 5,
        "answer": 4,
        "say": 4,
        "end": 1,
    }


# Plans


@pytest.mark.parametrize(("decision", "status"), [("approve", "approved"), ("reject", "rejected")])
def test_a_reviewer_approves_or_rejects_a_plan(tell, sessions, session, decision, status):
    """The decision of the answer is what happens to the plan; its message may be missing."""
    tell(REVIEW, 1)
    assert session.run("MATCH (p:Plan) RETURN p.status").value() == ["pending_review"]

    assert sessions.input("p1", {"decision": decision, "user": "bob"})["status"] == "completed"
    assert session.run("MATCH (p:Plan) RETURN p.status").value() == [status]


def test_an_answer_beside_its_schema_leaves_the_request_open(tell, sessions):
    """An answer without a user is refused, and the next one is accepted."""
    tell(REVIEW, 1)
    with pytest.raises(ClientError, match="SC-958"):
        sessions.input("p1", {"decision": "approve"})

    assert len(sessions.requests("p1")) == 1
    assert sessions.input("p1", {"decision": "reject", "user": "bob"})["status"] == "completed"


# Time limits


def test_an_answer_in_time_ends_the_limit(tell, sessions):
    """After an answer the step of the time-out never runs, and nothing fails."""
    tell(LIMIT, 1)

    assert sessions.input("l1", "no")["status"] == "completed"
    found = sessions.get("l1")
    assert found["memory"]["answered"] == [{"message": "Decided in time: no"}]
    assert ({*found["memory"]}, found["errors"]) == ({"root", "answered"}, [])


def test_an_answer_after_the_time_is_refused(tell, sessions):
    """A request whose time is over is closed: no answer changes the decision."""
    tell(LIMIT)

    with pytest.raises(ClientError, match="SC-959"):
        sessions.input("l1", "yes")
    assert {*sessions.memory("l1")} == {"late"}


def test_the_branch_of_the_answer_decides(tell, sessions, session):
    """It runs at once when the answer comes first; the end of the wait then changes nothing."""
    tell(BRANCHES, 1)
    [request] = sessions.call("awaiting", {"workflow": "question"})
    sessions.input(request["sessionId"], "yes")

    decided = [{"message": "Decided in time: yes"}]
    assert sessions.memory("d1")["answered"] == decided
    wait_until(lambda: is_due(session))
    assert sessions.run("d1")["status"] == "completed"
    found = sessions.get("d1")
    assert {*found["memory"]} == {"input", "root", "ask", "answered", "limit"}
    assert found["errors"] == []


def test_the_branch_of_the_wait_closes_the_question(tell, sessions):
    """After the time no request is open, and the failure of `ask` is recorded."""
    tell(BRANCHES)

    assert sessions.call("awaiting") == []
    found = sessions.get("d1")
    assert {*found["memory"]} == {"input", "root", "limit", "close", "late"}
    assert [each["step_id"] for each in found["errors"]] == ["ask"]


# A fan-out


def test_a_join_runs_once_after_all_branches(tell, sessions):
    """The report waits for the person, and runs once, behind the three branches."""
    tell(REPORT, 1)
    assert {*sessions.memory("r1")} == {"root", "graph", "github"}

    sessions.input("r1", "Hello.")
    order = [row["stepId"] for row in sessions.call("history", "r1")]
    assert order[-1] == "text"
    assert sorted(order[:-1]) == ["github", "graph", "note", "root"]
