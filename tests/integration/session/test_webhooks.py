"""Deliveries from GitHub that start sessions and answer their requests."""

import json

import pytest
from fix_webhooks import examples

RECEIVE = "CALL github.receiveWebhook($id, $event, $payload) YIELD created, sessionId RETURN *"


@pytest.fixture
def issue(payloads):
    """GitHub's own example of an issue that was opened."""
    found = (payload for event, payload in examples(payloads) if event == "issues")
    return next(payload for payload in found if payload["action"] == "opened")


@pytest.fixture
def deliver(session, issue):
    """Write deliveries about the issue; each call returns the row."""

    def deliver(event, number, **more):
        payload = json.dumps({**issue, **more})
        [row] = session.run(RECEIVE, id=f"d{number}", event=event, payload=payload).data()
        return row

    return deliver


@pytest.fixture
def name(issue):
    """The session of the issue."""
    repository = issue["repository"]["full_name"]
    return f"triage:{repository}#{issue['issue']['number']}"


def define(sessions, **request):
    steps = [
        {"id": "root", "function": "set", "input": {"title": "@{SESSION_ID}.input.title"}},
        {"id": "ask", "function": "request", "input": {"statement": "?", **request}},
    ]
    sessions.one("define", "triage", {"steps": steps, "next": [{"from": "root", "to": "ask"}]})


def comment(text):
    return {"action": "created", "comment": {"body": text}}


def test_an_event_starts_a_session_and_a_later_one_answers_it(sessions, deliver, issue, name):
    """An issue starts the session of its name, and a comment on it answers its request."""
    define(sessions)
    assert deliver("test_opened", 1) == {"created": True, "sessionId": name}
    found = sessions.get(name)
    assert found["status"] == "awaiting_input"
    assert found["memory"]["root"] == [{"title": issue["issue"]["title"]}]
    assert found["memory"]["input"][0]["text"] == issue["issue"]["body"]
    assert deliver("test_opened", 1) == {"created": False, "sessionId": None}

    assert deliver("test_commented", 2, **comment("Take it."))["sessionId"] == name
    assert sessions.memory(name)["ask"] == [{"response": "Take it."}]
    assert sessions.status(name) == "completed"
    assert deliver("test_commented", 3, **comment("Late."))["sessionId"] is None


def test_what_a_request_does_not_accept_is_no_answer(sessions, deliver, name):
    """A comment that is none of the options leaves the request open, and the delivery written."""
    define(sessions, options=["yes", "no"])
    deliver("test_opened", 1)
    assert deliver("test_commented", 2, **comment("perhaps")) == {
        "created": True,
        "sessionId": None,
    }
    assert sessions.status(name) == "awaiting_input"
    deliver("test_commented", 3, **comment("yes"))

    assert sessions.status(name) == "completed"
