"""Sessions on the console: over HTTP, and in a real browser with a real Neo4j behind it."""

import json
import xml.etree.ElementTree as ET

import pytest
from playwright.sync_api import expect

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def ask(sessions):
    """Start a session that asks a request with some input, and then replies."""

    def ask(name, **given):
        workflow = sessions.define(
            {
                "root": ("request", {"statement": "Who?", **given}),
                "hello": ("reply", {"message": "Hi"}),
            },
            [("root", "hello")],
        )
        sessions.start(workflow, id=name)
        [request] = sessions.requests(name)
        return request["requestId"]

    return ask


@pytest.fixture
def answer(sidecar_http):
    """Answer a request over HTTP."""

    def answer(session, request, text):
        sent = {"id": session, "question": request, "text": text}
        return sidecar_http.post("/v1/panels/sessions/answer", json=sent)

    return answer


def test_open_requests_are_listed(blocks, ask):
    """The panel has what `session.awaiting` returns, and the latest sessions below."""
    first, second = ask("a1"), ask("a2", options=["Ann", "Bob"])

    *questions, latest = blocks("sessions")

    assert [(each["id"], each["about"], each["options"]) for each in questions] == [
        (first, "a1", None),
        (second, "a2", ["Ann", "Bob"]),
    ]
    assert questions[0]["note"].startswith("step root · 20")
    assert latest["ids"][:2] == ["a2", "a1"]
    assert latest["rows"][0][2] == "awaiting_input"
    assert "at" in latest["rows"][0][3]


def test_a_session_is_shown_with_its_picture(blocks, ask, answer, sessions):
    """Status, next steps, outputs and errors, the latest first, and the SVG of its workflow."""
    request = ask("a/1?")
    question, text, _, table = blocks("sessions", "a/1?")
    assert (question["id"], table["rows"]) == (request, [])
    assert text["text"].endswith("awaiting_input. Next: root")

    assert answer("a/1?", request, "Ann").json() == {
        "message": "Answered. The session is completed now."
    }

    _, picture, table = blocks("sessions", "a/1?")
    assert table["rows"] == [
        ["hello", 0, "done", '{"message": "Hi"}'],
        ["root", 0, "done", '{"response": "Ann"}'],
    ]
    words = ET.fromstring(picture["svg"]).find(f"{SVG}desc").text
    assert picture["description"] == words
    assert "root: request, 1 run." in words
    failed = sessions.begin({"root": ("reply", {"message": "@{SESSION_ID}.input.x"})})
    [execution] = blocks("sessions", failed)[-1]["rows"]
    assert (execution[2], "input.x" in execution[3]) == ("error", True)
    assert blocks("sessions", "none")[0]["text"] == "There is no session of this id."


def test_long_outputs_are_cut(blocks, sessions):
    """A page is no place for a megabyte: at most 500 characters of an output are told."""
    name = sessions.begin({"root": ("set", {"text": "x" * 5_000})})

    [row] = blocks("sessions", name)[-1]["rows"]

    assert len(row[3]) == 501
    assert row[3].endswith("…")


def test_an_answer_is_json_only_where_a_text_is_refused(answer, ask, sessions):
    """`7` stays a text where text is accepted, and is a number where one is asked for."""
    for name, more, response in (("a1", {}, "7"), ("a2", {"schema": {"type": "integer"}}, 7)):
        assert answer(name, ask(name, **more), "7").status_code == 200
        assert sessions.memory(name)["root"] == [{"response": response}]


def test_what_cannot_be_answered_has_its_code(answer, ask):
    """A refused answer, a request that is closed and an unknown session are told as errors."""
    request = ask("a1", options=["Ann"])

    assert answer("a1", request, "Eve").json()["code"] == "SC-958"
    assert answer("a1", "none", "Ann").json()["code"] == "SC-959"
    assert answer("none", request, "Ann").json()["code"] == "SC-955"


def test_a_request_is_answered_on_the_page(open_panel, ask, sessions):
    """Its field takes the answer, the session goes on, and the request is gone."""
    ask("a1")
    ask("a2", options=["Ann", "Bob"], statement="Which?")
    found = open_panel("sessions")
    page = found.page
    choice = page.get_by_label("Answer Which?")
    choice.wait_for()
    assert choice.locator("option").all_inner_texts() == ["", "Ann", "Bob"]
    choice.select_option("Bob")

    page.get_by_label("Answer Who?").fill("Ann")
    page.keyboard.press("Enter")

    page.get_by_text("Answered. The session is completed now.").wait_for()
    expect(page.locator(".question")).to_have_count(1)
    expect(choice).to_have_value("Bob")
    page.get_by_role("button", name="Send").click()
    page.get_by_text("No request is open.").wait_for()
    assert sessions.memory("a1")["root"] == [{"response": "Ann"}]
    assert sessions.memory("a2")["root"] == [{"response": "Bob"}]
    assert found.told == []


def test_markup_of_workflows_is_text(open_panel, sessions):
    """Statements, options, ids, outputs and the picture cannot run anything."""
    workflow = sessions.define(
        {
            "root": ("set", {"text": HOSTILE}),
            HOSTILE: ("request", {"statement": HOSTILE, "options": [HOSTILE]}),
        },
        [("root", HOSTILE)],
    )
    sessions.start(workflow, id=HOSTILE)
    found = open_panel("sessions")
    page = found.page
    page.on("dialog", lambda _dialog: pytest.fail("a script of somebody else has run"))

    page.locator(".question").get_by_role("link", name=HOSTILE).click()

    page.get_by_role("heading", name=f"Session {HOSTILE}").wait_for()
    page.get_by_role("cell", name=json.dumps({"text": HOSTILE})).wait_for()
    assert page.locator("main img").count() == 1
    assert f"{HOSTILE}: request, not run" in page.get_by_role("img").get_attribute("alt")
    page.locator(".picture img").evaluate("(image) => image.decode()")
    assert found.told == []
