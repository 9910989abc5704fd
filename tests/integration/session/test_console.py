"""Sessions on the console: over HTTP, and in a real browser with a real Neo4j behind it."""

import json
import xml.etree.ElementTree as ET

import httpx
import pytest
from playwright.sync_api import expect

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def http(server, session):
    """A client of the sidecar with the token."""
    token = (server.home / "run" / "http-token").read_text().strip()
    with httpx.Client(
        base_url=f"http://127.0.0.1:{server.sidecar.http}",
        headers={"Authorization": f"Bearer {token}"},
        trust_env=False,
        timeout=60,
    ) as http:
        yield http


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


def answer(http, session, request, text):
    sent = {"sessionId": session, "requestId": request, "answer": text}
    return http.post("/v1/sessions/answer", json=sent)


def test_open_requests_are_listed(http, ask):
    """`GET /v1/sessions` has what `session.awaiting` returns, with times as text."""
    first, second = ask("a1"), ask("a2", options=["Ann", "Bob"])

    told = http.get("/v1/sessions").json()

    assert told["problem"] is None
    assert [each["requestId"] for each in told["requests"]] == [first, second]
    assert [each["options"] for each in told["requests"]] == [None, ["Ann", "Bob"]]
    assert told["requests"][0]["since"].endswith("Z")


def test_a_session_is_shown_with_its_picture(http, ask, sessions):
    """Status, next steps, outputs and errors, the latest first, and the SVG of its workflow."""
    request = ask("a/1?")
    told = http.get("/v1/sessions/one", params={"id": "a/1?"}).json()
    assert (told["status"], told["nextSteps"], told["executions"]) == (
        "awaiting_input",
        ["root"],
        [],
    )

    assert answer(http, "a/1?", request, "Ann").json() == {"status": "completed"}

    told = http.get("/v1/sessions/one", params={"id": "a/1?"}).json()
    assert [(each["step"], each["state"], each["value"]) for each in told["executions"]] == [
        ("hello", "done", '{"message": "Hi"}'),
        ("root", "done", '{"response": "Ann"}'),
    ]
    assert "root: request, 1 run." in ET.fromstring(told["picture"]).find(f"{SVG}desc").text
    failed = sessions.begin({"root": ("reply", {"message": "@{SESSION_ID}.input.x"})})
    [execution] = http.get("/v1/sessions/one", params={"id": failed}).json()["executions"]
    assert (execution["state"], "input.x" in execution["error"]) == ("error", True)


def test_long_outputs_are_cut(http, sessions):
    """A page is no place for a megabyte: at most 500 characters of an output are told."""
    name = sessions.begin({"root": ("set", {"text": "x" * 5_000})})

    [told] = http.get("/v1/sessions/one", params={"id": name}).json()["executions"]

    assert len(told["value"]) == 501
    assert told["value"].endswith("…")


def test_an_answer_is_json_only_where_a_text_is_refused(http, ask, sessions):
    """`7` stays a text where text is accepted, and is a number where one is asked for."""
    for name, more, response in (("a1", {}, "7"), ("a2", {"schema": {"type": "integer"}}, 7)):
        assert answer(http, name, ask(name, **more), "7").status_code == 200
        assert sessions.memory(name)["root"] == [{"response": response}]


def test_what_cannot_be_answered_has_its_code(http, ask):
    """A refused answer, a request that is closed and an unknown session are told as errors."""
    request = ask("a1", options=["Ann"])

    assert answer(http, "a1", request, "Eve").json()["code"] == "SC-958"
    assert answer(http, "a1", "none", "Ann").json()["code"] == "SC-959"
    assert answer(http, "none", request, "Ann").json()["code"] == "SC-955"
    assert http.get("/v1/sessions/one", params={"id": "none"}).json()["code"] == "SC-955"
    for body in ({}, [], {"sessionId": 1, "requestId": "x", "answer": "y"}):
        answered = http.post("/v1/sessions/answer", json=body)
        assert (answered.status_code, answered.json()["code"]) == (400, "SC-653")


@pytest.fixture
def console(http, visit):
    """Open the page and show it the token."""

    def open_(**options):
        found = visit(str(http.base_url), **options)
        token = http.headers["authorization"].removeprefix("Bearer ")
        found.page.get_by_label("Token for HTTP").fill(token)
        found.page.get_by_role("button", name="Show them").click()
        found.page.locator("#sessions").wait_for()
        return found

    return open_


def item(page, statement):
    """The open request with a statement."""
    return page.locator("#requests li").filter(has_text=statement)


def test_a_request_is_answered_on_the_page(console, ask, sessions):
    """Its field takes the answer, the session goes on, and the request is gone."""
    ask("a1")
    found = console()
    page = found.page

    item(page, "Who?").get_by_label("Answer Who?").fill("Ann")
    item(page, "Who?").get_by_role("button", name="Send").click()

    page.get_by_text("Answered. The session is completed now.").wait_for()
    page.get_by_text("No request is open.").wait_for()
    assert sessions.memory("a1")["root"] == [{"response": "Ann"}]
    expect(page.get_by_role("heading", name="Session a1")).to_be_focused()
    assert found.told == []


def test_options_are_chosen(console, ask, sessions):
    """A request with options has a list of them, and nothing else can be sent."""
    ask("a1", options=["Ann", "Bob"])
    page = console().page
    choice = item(page, "Who?").get_by_label("Answer Who?")
    assert choice.locator("option").all_inner_texts() == ["", "Ann", "Bob"]

    choice.select_option("Bob")
    item(page, "Who?").get_by_role("button", name="Send").click()

    page.get_by_text("Answered.").wait_for()
    assert sessions.memory("a1")["root"] == [{"response": "Bob"}]


def test_a_refused_answer_says_why(console, ask, sessions):
    """The reason is announced, and what was typed stays."""
    ask("a1", schema={"type": "integer"})
    page = console().page
    field = item(page, "Who?").get_by_label("Answer Who?")
    field.fill("many")

    item(page, "Who?").get_by_role("button", name="Send").click()

    page.get_by_role("status").get_by_text("does not fit").wait_for()
    expect(field).to_have_value("many")
    assert sessions.status("a1") == "awaiting_input"


def test_what_is_typed_stays_while_the_list_changes(console, ask):
    """A request that comes meanwhile is shown below, and the field keeps text and focus."""
    ask("a1")
    page = console().page
    field = item(page, "a1").get_by_label("Answer Who?")
    field.fill("An")
    field.focus()

    ask("a2")

    expect(page.locator("#requests li")).to_have_count(2)
    expect(field).to_have_value("An")
    expect(field).to_be_focused()
    expect(page.locator("#requests li").first).to_contain_text("session a1")


def test_a_session_is_drawn_on_the_page(console, ask):
    """The picture is drawn within the page's policy, and its words are its alternative text."""
    ask("a1")
    found = console()
    page = found.page

    item(page, "Who?").get_by_role("button", name="Show session").click()

    picture = page.get_by_role("img")
    picture.wait_for()
    assert picture.get_attribute("src").startswith("data:image/svg+xml,")
    assert picture.get_attribute("alt").startswith("root: request, not run, awaits input.")
    page.wait_for_function("document.querySelector('#picture img').naturalWidth > 0")
    page.get_by_text("awaiting_input. Next: root").wait_for()
    assert found.told == []


def test_a_session_is_found_by_its_id(console, ask, http):
    """Any id can be entered; one that is not there is told."""
    answer(http, "a 1", ask("a 1"), "Ann")
    page = console().page
    page.get_by_label("Session", exact=True).fill("a 1")
    page.get_by_role("button", name="Show session").click()

    page.get_by_role("heading", name="Session a 1").wait_for()
    rows = page.locator("#executions tr").all_inner_texts()
    assert [row.split("\t")[0] for row in rows] == ["hello", "root"]
    page.get_by_label("Session", exact=True).fill("none")
    page.get_by_role("button", name="Show session").click()
    page.get_by_text("There is no session of this id").wait_for()


def test_forgetting_the_token_hides_sessions(console, ask):
    """Requests, outputs and the picture leave the page together with the token."""
    ask("a1")
    page = console().page
    item(page, "Who?").get_by_role("button", name="Show session").click()
    page.get_by_role("img").wait_for()

    page.get_by_role("button", name="Forget the token").click()

    assert page.locator("#sessions").is_hidden()
    kept = page.evaluate("document.documentElement.outerHTML")
    assert page.locator("#requests li, #executions tr, #picture img").count() == 0
    assert "a1" not in kept.partition('id="sessions"')[2].partition("</section>")[0]


def test_markup_of_workflows_is_text(console, sessions, http):
    """Statements, options, ids, outputs and the picture cannot run anything."""
    workflow = sessions.define(
        {
            "root": ("set", {"text": HOSTILE}),
            HOSTILE: ("request", {"statement": HOSTILE, "options": [HOSTILE]}),
        },
        [("root", HOSTILE)],
    )
    sessions.start(workflow, id=HOSTILE)
    found = console()
    page = found.page
    page.on("dialog", lambda _dialog: pytest.fail("a script of somebody else has run"))

    page.locator("#requests li").get_by_role("button", name="Show session").click()

    page.get_by_role("heading", name=f"Session {HOSTILE}").wait_for()
    page.get_by_role("cell", name=json.dumps({"text": HOSTILE})).wait_for()
    assert page.locator("main img").count() == 1
    assert f"{HOSTILE}: request, not run" in page.get_by_role("img").get_attribute("alt")
    assert found.told == []


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.deep)])
def test_axe_finds_nothing(console, ask, scheme):
    """No rule of axe-core is violated with requests and a session shown, in both schemes."""
    ask("a1")
    ask("a2", options=["Ann"])
    found = console()
    found.page.emulate_media(color_scheme=scheme)
    item(found.page, "a1").get_by_role("button", name="Show session").click()
    found.page.get_by_role("img").wait_for()

    assert found.violations() == []


def test_a_narrow_window_does_not_scroll_sideways(console, ask):
    """A long statement and a picture stay within a telephone's width."""
    ask("a1" * 50, statement="x" * 300, options=["y" * 200])
    page = console(viewport={"width": 360, "height": 700}).page
    page.locator("#requests li").get_by_role("button", name="Show session").click()
    page.get_by_role("img").wait_for()

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
