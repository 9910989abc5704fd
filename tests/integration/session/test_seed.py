"""Seed 002 as it is printed, and the example workflows of the engines that it comes from."""

import json

import pytest
from docs.pages import ROOT, blocks, code_in, rows, section

PAGE = "docs/session.md"
LANGUAGE = "docs/session-language.md"
# As people draw it, without `workflow`; its functions have the names of the seed's files.
DRAWN = """
    CREATE (root:STEP {id: 'root', description: 'The entry point.'}),
    (ask:STEP {id: 'get-question', function: 'utils.request.request', input: $ask}),
    (answer:STEP {id: 'generate-answer', function: 'utils.generate.generate', input: $answer}),
    (say:STEP {id: 'provide-answer', function: 'utils.reply.reply', input: $say}),
    (more:STEP {id: 'generate-followup', function: 'utils.generate.generate', input: $more}),
    (root)-[:NEXT]->(ask)-[:NEXT]->(answer)-[:NEXT]->(say)-[:NEXT]->(more)-[:NEXT]->(ask)
"""
ASK = {"query": "@{SESSION_ID}.generate-followup.response|What would you like to know?"}
ANSWER = {
    "model": "gpt-4o-mini",
    "temperature": 0.7,
    "system": "You answer questions.",
    "user": "@{SESSION_ID}.get-question.response",
    "include_history": True,
    "response_key": "response",
}
SAY = {"response": "@{SESSION_ID}.generate-answer.response"}
MORE = {
    "model": "gpt-4-turbo",
    "system": "You ask a further question.",
    "user": "@{SESSION_ID}.generate-answer.response",
    "include_history": True,
    "max_tokens": 100,
    "response_key": "response",
}


def draw(session, statement, **inputs):
    """Draw steps by plain Cypher; their inputs are JSON texts."""
    texts = {name: json.dumps(value) for name, value in inputs.items()}
    session.run(statement, texts).consume()


def draw_seed(session):
    draw(session, DRAWN, ask=ASK, answer=ANSWER, say=SAY, more=MORE)


# The seed


def test_the_steps_of_the_seed_run_as_they_are_drawn(sessions, session, outside):
    """STEP nodes without a workflow are one workflow: question, answer, reply, next question."""
    draw_seed(session)
    outside.says("Nodes.", "Of what kind?", "Two.", "Why?")
    started = sessions.one("start", None, {"id": "s"})
    assert started == {"sessionId": "s", "status": "awaiting_input", "pending": []}
    assert sessions.requests("s")[0]["statement"] == "What would you like to know?"

    for question in ("What is a graph?", "Which kinds?"):
        assert sessions.input("s", question)["status"] == "active"
        assert sessions.run("s")["status"] == "awaiting_input"

    assert sessions.memory("s") == {
        "root": [{}],
        "get-question": [{"response": "What is a graph?"}, {"response": "Which kinds?"}],
        "generate-answer": [{"response": "Nodes."}, {"response": "Two."}],
        "provide-answer": [{"message": "Nodes."}, {"message": "Two."}],
        "generate-followup": [{"response": "Of what kind?"}, {"response": "Why?"}],
    }
    assert sessions.requests("s")[0]["statement"] == "Why?"


def test_a_session_is_the_map_of_the_seed(sessions, session, outside):
    """`session.get` has each key that the seed prints, with its type, and `workflow` besides."""
    draw_seed(session)
    outside.answer = lambda _: (400, {})
    sessions.start(None, id="s")
    sessions.input("s", "What is a graph?")
    sessions.run("s")

    found = sessions.get("s")
    [error] = found.pop("errors")
    assert error.pop("timestamp").endswith("Z")
    created = found.pop("created_at")
    assert created == session.run("MATCH (s:SESSION) RETURN s.created_at").single().value()
    assert error == {"step_id": "generate-answer", "error": error["error"]}
    assert found == {
        "id": "s",
        "workflow": None,
        "memory": {"root": [{}], "get-question": [{"response": "What is a graph?"}]},
        "next_steps": [],
        "status": "error",
        "chat_history": [
            {"role": "assistant", "content": "What would you like to know?"},
            {"role": "user", "content": "What is a graph?"},
        ],
    }


def test_the_node_of_a_session_has_the_properties_of_the_seed(sessions, session):
    """The SESSION node has `id`, `next_steps`, `created_at` and `status` with the seed's types."""
    draw_seed(session)
    sessions.start(None, id="s")

    query = """
        MATCH (s:SESSION {id: 's'})
        RETURN valueType(s.next_steps) AS steps, valueType(s.created_at) AS created, s {.*} AS node
    """
    found = session.run(query).single()
    assert found["steps"] == "LIST<STRING NOT NULL> NOT NULL"
    assert found["created"] == "ZONED DATETIME NOT NULL"
    assert (found["node"]["next_steps"], found["node"]["status"]) == (
        ["get-question"],
        "awaiting_input",
    )
    assert found["node"].keys().isdisjoint({"memory", "errors", "chat_history"})


def test_exported_properties_are_the_json_texts_of_the_seed(sessions, session, outside):
    """With `exportProperties` the node also has `memory`, `errors` and `chat_history`."""
    draw_seed(session)
    outside.says("Nodes.")
    sessions.start(None, id="s", exportProperties=True)
    sessions.input("s", "What is a graph?")
    sessions.run("s")

    node = session.run("MATCH (s:SESSION {id: 's'}) RETURN s {.*}").single().value()
    found = sessions.get("s")
    for name in ("memory", "errors", "chat_history"):
        assert json.loads(node[name]) == found[name]


def test_a_changed_connection_changes_what_follows(sessions, session, outside):
    """The flow is in the graph only: without the edge back, the session ends."""
    draw_seed(session)
    sessions.start(None, id="s")
    back = "MATCH (:STEP {id: 'generate-followup'})-[n:NEXT]->() DELETE n"
    session.run(back).consume()

    outside.says("Nodes.")
    sessions.input("s", "What is a graph?")
    assert sessions.run("s")["status"] == "completed"


def test_the_map_of_the_page_is_a_real_one(sessions):
    """The MAP that docs/session.md shows is that of its first session, but for the time."""
    shown = json.loads(
        next(each.text for each in blocks("json", pages=[ROOT / PAGE]) if '"h1"' in each.text)
    )
    sessions.one(
        "define",
        "hello",
        {
            "steps": [
                {
                    "id": "root",
                    "function": "request",
                    "input": {"statement": "What is your name?"},
                },
                {
                    "id": "greet",
                    "function": "reply",
                    "input": {"message": "Hello @{SESSION_ID}.root.response !"},
                },
            ],
            "next": [{"from": "root", "to": "greet"}],
        },
    )
    sessions.start("hello", id="h1")
    sessions.input("h1", "Ann")

    found = sessions.get("h1")
    del found["created_at"], shown["created_at"]
    assert found == shown
    keys = [code for row in rows(section(PAGE, "How it works"), "key") for code in code_in(row[0])]
    assert {*keys} == {*shown, "created_at"}


# References


REFERENCES = rows(section(LANGUAGE, "References"), "text")
ENGINES = [("", 1), ("graphie", 2), ("luna", 3)]


@pytest.fixture
def resolve(sessions, session):
    """Resolve a text for a session with the memory that the page shows."""
    shown = blocks("json", pages=[ROOT / LANGUAGE])
    memory = json.loads(next(each.text for each in shown if each.text.startswith('{\n  "ask"')))
    outputs = [
        {"sessionId": "s", "stepId": step, "cycle": cycle, "seq": cycle, "value": json.dumps(value)}
        for step, values in memory.items()
        for cycle, value in enumerate(values)
    ]
    query = "UNWIND $outputs AS each CREATE (o:OUTPUT) SET o = each"
    session.run(query, outputs=outputs).consume()

    def resolved(text, compat=""):
        query = "MERGE (s:SESSION {id: 's'}) SET s.compat = nullIf($compat, '')"
        session.run(query, compat=compat).consume()
        return sessions.one("resolve", "s", text)

    return resolved


def assert_becomes(found, text, cell):
    """Compare what a text becomes with a cell: JSON, or words if it is an error."""
    if code_in(cell):
        assert found == {"value": json.loads(code_in(cell)[0]), "missing": []}
    else:
        assert (found["value"], len(found["missing"])) == (None, 1), text


@pytest.mark.parametrize("row", [each for each in REFERENCES if len(each) == 3], ids=str)
def test_a_reference_of_the_page_becomes_what_it_says(resolve, row):
    """Each line of the table of references is true for the memory above it."""
    [text] = code_in(row[0])

    assert_becomes(resolve(text), text, row[1])


@pytest.mark.parametrize(("compat", "column"), ENGINES)
def test_references_of_older_engines_become_what_the_page_says(resolve, compat, column):
    """Each line of the table of older engines is true, in the column of each engine."""
    table = [each for each in REFERENCES if len(each) == 4]
    assert table

    for row in table:
        [text] = code_in(row[0])
        assert_becomes(resolve(text, compat), text, row[column])


# The engines that the seed comes from


def test_the_question_loop_of_graphie(sessions, session, outside):
    """Its names of functions and its references run, and a reply has the key `reply`."""
    statement = DRAWN.replace("utils.request.request", "request.request")
    statement = statement.replace("utils.generate.generate", "generate.generate")
    statement = statement.replace("utils.reply.reply", "reply.respond")
    draw(session, statement, ask=ASK, answer=ANSWER, say=SAY, more=MORE)
    outside.says("Nodes.", "More?", "Edges.", "Enough?")
    sessions.start(None, id="g", compat="graphie")
    for question in ("What is a graph?", "What else?"):
        sessions.input("g", question)
        assert sessions.run("g")["status"] == "awaiting_input"

    memory = sessions.memory("g")
    assert memory["provide-answer"] == [{"reply": "Nodes."}, {"reply": "Edges."}]
    assert sessions.requests("g")[0]["statement"] == "Enough?"
    sent = [each["body"] for each in outside.requests]
    assert [each["model"] for each in sent] == ["gpt-4o-mini", "gpt-4-turbo"] * 2
    assert [each.get("max_tokens") for each in sent] == [None, 100] * 2
    assert {"role": "assistant", "content": "Nodes."} in sent[2]["messages"]


CONTINUE = """
    CREATE (root:STEP {id: 'root', function: 'request.request', input: $ask}),
    (again:STEP {id: 'again', function: 'request.request', input: $more}),
    (end:STEP {id: 'end', function: 'reply.reply', input: $bye}),
    (root)-[:NEXT {id: 'to-continue'}]->(again),
    (again)-[:NEXT {id: 'if-yes', function: 'condition.equals', input: $yes}]->(root),
    (again)-[:NEXT {id: 'if-no', function: 'condition.not_equals', input: $yes}]->(end)
"""


def test_a_question_of_graphie_leads_by_its_function(sessions, session):
    """Edges with `function` and `input` count behind a request: `yes` loops, all else ends."""
    yes = {"value": "@{SESSION_ID}.again.response", "equals": "yes"}
    asked = {"ask": {"statement": "What?"}, "more": {"statement": "Again?"}}
    draw(session, CONTINUE, **asked, bye={"reply": "Goodbye."}, yes=yes)
    sessions.start(None, id="g", compat="graphie")
    for answer in ("one", "yes", "two", "no"):
        status = sessions.input("g", answer)["status"]

    memory = sessions.memory("g")
    assert (status, memory["end"]) == ("completed", [{"reply": "Goodbye."}])
    assert [each["response"] for each in memory["root"]] == ["one", "two"]


LUNA = """
    CREATE (root:STEP {id: 'root'}),
    (request:STEP {id: 'request', function: 'utils.request.request', input: $ask}),
    (generate:STEP {id: 'generate', function: 'utils.generate.generate', input: $answer}),
    (reply:STEP {id: 'reply', function: 'utils.reply.reply', input: $say}),
    (farewell:STEP {id: 'send-farewell', function: 'utils.reply.reply', input: $bye}),
    (root)-[:NEXT]->(request)-[:NEXT]->(generate),
    (generate)-[:NEXT {condition: $on}]->(reply)-[:NEXT]->(request),
    (generate)-[:NEXT {condition: $off, operator: 'AND'}]->(farewell)
"""


def test_the_conversation_of_luna(sessions, session, outside):
    """It goes on while the model says that a follow-up has merit, and ends with a farewell."""
    merits = "@{SESSION_ID}.generate.merits_followup"
    fields = {"response": {"type": "string"}, "followup": {"type": "string"}}
    fields["merits_followup"] = {"type": "boolean"}
    draw(
        session,
        LUNA,
        ask={"prompt": "@{SESSION_ID}.generate.followup|GM! How can I help?"},
        answer={
            "model": "gpt-4o",
            "temperature": 0.7,
            "include_history": True,
            "system": "You talk.",
            "schema": {"type": "object", "properties": fields, "required": [*fields]},
            "user": "@{SESSION_ID}.request.response",
        },
        say={"message": f"@{{SESSION_ID}}.generate.response Followup? {merits}"},
        bye={"message": "okay, GN!"},
        on=[{"true": merits}],
        off=[{"false": merits}],
    )
    first = {"response": "A river.", "followup": "Which one?", "merits_followup": True}
    last = {"response": "The Nile.", "followup": "", "merits_followup": False}
    outside.says(json.dumps(first), json.dumps(last))
    sessions.start(None, id="l", compat="luna")
    assert sessions.requests("l")[0]["statement"] == "GM! How can I help?"

    sessions.input("l", "What is the Nile?")
    assert sessions.run("l")["status"] == "awaiting_input"
    assert sessions.requests("l")[0]["statement"] == "Which one?"
    sessions.input("l", "The long one.")
    assert sessions.run("l")["status"] == "completed"
    memory = sessions.memory("l")
    assert memory["reply"] == [{"message": "A river. Followup? True"}]
    assert memory["send-farewell"] == [{"message": "okay, GN!"}]
    assert memory["generate"] == [first, last]
