"""The console as any client gets it: what is on the page, and what needs the token."""

import re
from dataclasses import replace

import pytest
from fix_console import HOSTILE_FAILURE, HOSTILE_MODULE
from fix_waiting import wait_until
from markupsafe import escape
from openapi_schema_validator import OAS31Validator

from sidecypher.calls.dispatcher import Session
from sidecypher.calls.executors.ray.cluster import ClusterState
from sidecypher.host.rendezvous import Announcement, Membership, read_rendezvous
from sidecypher.protocol import envelope
from sidecypher.protocol.envelope import CachedCalls, FailuresRequest, Hello
from sidecypher.sdk.call import no_transaction


@pytest.fixture
def page(shown):
    """Give a page as it is now."""

    def get(path="/procedures"):
        answer = shown.http.get(path)
        assert answer.status_code == 200
        return answer.text

    return get


def row_of(page, name, kind="procedure"):
    """The row of a procedure or function: its name, what it does, and its numbers."""
    found = re.search(f'<tr id="{kind}-{re.escape(name)}"(.*?)</tr>', page, re.DOTALL)
    assert found, name
    return found[1]


def numbers_of(page, name):
    """Calls, errors, p50 and p95 in the window of the charts."""
    return re.findall(r'class="number(?: bad)?">(.*?)</td>', row_of(page, name))


def since_start(page):
    """Each number of a procedure's page by its heading."""
    return dict(re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", page))


def test_every_procedure_and_function_is_listed(shown, page):
    """Each one is there with its description below its namespace, and has a page of its own."""
    text = page()

    for each in shown.sidecar.loaded.registry:
        row = row_of(text, each.name, each.kind)
        assert f'href="/procedures/{each.name}"' in row
        assert str(escape(each.entry.description.split("`")[0])) in row
    assert re.findall(r'<h2 id="ns-(\w+)">', text) == [
        "algo", "attack", "code", "github", "rules", "runs", "session", "shown", "sidecypher",
    ]  # fmt: skip


def test_a_procedure_has_a_page(shown, page):
    """It has signature, options and a call; an unknown name is a 404 that says so."""
    for each in shown.sidecar.loaded.registry:
        text = page(f"/procedures/{each.name}")
        assert str(escape(each.usage())) in text
        assert f"<title>{each.name} · sidecypher</title>" in text
    assert "<code>options.maxAge</code>: FLOAT, at least 0" in page("/procedures/github.getIssue")
    missing = shown.http.get("/procedures/<script>")
    assert (missing.status_code, "no procedure of this name" in missing.text) == (404, True)
    assert "<script>" not in missing.text


def test_a_row_says_how_it_is_run(page):
    """Mode, executor, time limit, administrators, cache and deprecation are shown."""
    text = page()

    assert "READ · thread · 60 s" in row_of(text, "shown.wait")
    assert "function · thread" in row_of(text, "shown.twice", "function")
    assert "administrators" in row_of(text, "sidecypher.reload")
    assert "deprecated: use shown.rows" in row_of(text, "shown.old")
    assert "async" in row_of(text, "github.getIssue")
    assert "cached for each user" in row_of(text, "github.getIssue")


def test_numbers_are_those_of_the_metrics(shown, page):
    """A call is counted at once, in the window and since the start, and so is an error."""
    calls, errors, *_ = map(int, numbers_of(page(), "shown.fail")[:2])
    shown.call("shown.fail", "no")
    shown.call("shown.fail", "no", "SC-207")

    numbers = numbers_of(page(), "shown.fail")
    whole = since_start(page("/procedures/shown.fail"))

    assert numbers[:2] == [str(calls + 2), str(errors + 2)]
    assert all(re.fullmatch(r"[\d.]+ m?s", each) for each in numbers[2:])
    assert (whole["Calls"], whole["Errors"]) == (str(calls + 2), str(errors + 2))
    assert re.fullmatch(r"[≤>] [\d.]+ m?s", whole["Half within"])
    assert numbers_of(page(), "rules.add") == ["0", "0", "-", "-"]


@pytest.mark.parametrize(("query", "label"), [("", "15 min ago"), ("?minutes=60", "60 min ago")])
def test_a_period_is_drawn_when_it_has_ended(shown, page, query, label):
    """The charts have words, and the same numbers as a table; both windows are offered."""
    for _ in range(3):
        shown.call("shown.fail", "no")
    shown.end_period()

    text = page(f"/procedures/shown.fail{query}")

    assert re.search(r'aria-label="Errors per second: [\d.]+/s at last, [\d.]+/s at most."', text)
    assert re.search(r'aria-label="Duration, on a logarithmic axis: p50 [\d.]+ ms, p95', text)
    assert re.search(r'<path class="line errors" d="M0 \d+L.*?"/>', text)
    assert label in text
    rows = re.findall(r'<th scope="row">\d+ min ago</th><td class="number">(\d+)</td>', text)
    assert len(rows) == 15
    assert int(rows[0]) >= 3
    assert row_of(page(f"/procedures{query}"), "shown.fail").count("<path") == 2
    assert "shown.fail" in page(f"/{query}")


def test_a_window_that_is_not_offered_is_the_shorter_one(page):
    """Whatever an address has as its window, the page has one of the two."""
    for query in ("?minutes=7", "?minutes=1e9", "?minutes=%3Cscript%3E", "?minutes="):
        assert "15 min ago" in page(f"/{query}")


def test_the_page_says_which_sidecar_it_is_of(shown, page):
    """Process and generation are shown, and the other sidecars of the run folder are linked."""
    run = shown.home / "run"
    found = read_rendezvous(run)
    other = Announcement("a" * 32, 4711, "127.0.0.1", 1, 40_002, 3, {"secret.py": "a reason"})

    assert f"Generation <code>{found.sidecars[0].generation[:8]}</code>" in page("/")
    assert f"process {found.sidecars[0].pid} (this one)" in page("/")
    membership = Membership(run, found.fingerprint, other)
    text = page("/")
    assert '<a href="http://127.0.0.1:40002/">process 4711</a>' in text
    for host in ("localhost", "[::1]"):
        # As the browser reached this one, so it reaches the other.
        asked = shown.http.get("/", headers={"Host": f"{host}:{shown.http.base_url.port}"})
        assert f'<a href="http://{host}:40002/">' in asked.text
    assert "secret.py" not in text
    membership.leave()
    assert "process 4711" not in page("/")


def test_the_overview_says_whether_a_neo4j_is_connected(shown, page):
    """It counts JVMs with a connection, and has the time since which there is none."""
    dispatcher, session = shown.sidecar._dispatcher, Session(no_transaction)
    assert '<dt>Neo4j connected</dt><dd class="bad">none</dd>' in page("/")

    shown._send("hello", Hello(envelope.VERSION, "a-jvm", "control", ""), session)

    assert "<dt>Neo4j connected</dt><dd>1</dd>" in page("/")
    dispatcher.disconnected(session)
    assert re.search(r">none</dd><dd class=.note.>since <time .*>[\d:]{8}</time>", page("/"))
    dispatcher.left_at = None


def test_the_overview_has_what_neo4j_keeps(shown, page):
    """Neo4j's reports of its cache are shown, by procedure."""
    cached = CachedCalls("shown.fail", 7, 2, 3, 1, 4_500)
    reports = shown.sidecar._telemetry.plugin_reports
    reports.update(shown, "a-jvm", FailuresRequest([], [cached]))

    text = page("/")

    reports.forget(shown)
    table = text.partition('id="cache"')[2].partition("</table>")[0]
    assert re.findall(r'class="number">(.*?)</td>', table) == ["7", "2", "3", "1", "4.5 kB"]


def test_the_overview_has_a_ray_cluster_if_there_is_one(shown, page, monkeypatch):
    """Nodes, CPUs and calls are shown, and why it runs none; without a cluster there is nothing."""
    assert "Ray cluster" not in page("/")
    state = ClusterState("ray://x", 3, 12.5, 4, "it is <away>")

    monkeypatch.setattr(shown.sidecar._dispatcher, "cluster_state", lambda: state)

    text = page("/")
    assert "3 nodes, 12.5 CPUs, 4 calls" in text
    assert "it is &lt;away&gt;" in text
    assert "ray://x" not in text


def test_the_console_is_small(shown):
    """All of it is at most 150 kB, and 30 kB on the wire, here with more than what ships."""
    paths = ("/", "/procedures", "/procedures/github.getIssue", "/console.css", "/console.js")
    parts = [shown.http.get(path) for path in paths]

    assert all(part.is_success for part in parts)
    assert sum(len(part.content) for part in parts) <= 150_000
    assert sum(part.num_bytes_downloaded for part in parts) <= 35_000


def test_a_panel_is_in_the_menu_while_it_is_served(shown, page, monkeypatch):
    """Namespaces contribute pages; without its function in service a page is a 404."""
    menu = page("/").partition('id="menu"')[2].partition("</ul>")[0]
    assert re.findall(r'href="/panels/([\w-]+)"', menu) == [
        "broken", "contradictions", "github", "repositories", "runs", "sessions", "shown",
    ]  # fmt: skip
    inspector = shown.sidecar._inspector

    monkeypatch.setattr(inspector, "loaded", replace(inspector.loaded, panels={}))

    assert "/panels/" not in page("/")
    assert shown.http.get("/panels/shown").status_code == 404
    answer = shown.http.get("/v1/panels/shown", headers=shown.bearer)
    assert (answer.status_code, answer.json()["code"]) == (404, "SC-203")


def test_a_panel_is_sent_as_blocks(shown):
    """Each block has its kind; a time is marked as one, and a picture has its words."""
    blocks = shown.http.get("/v1/panels/shown", headers=shown.bearer).json()["blocks"]
    one = shown.http.get("/v1/panels/shown?id=x", headers=shown.bearer).json()["blocks"]

    assert [each["kind"] for each in blocks] == ["question"] * 3 + ["meter", "table"]
    assert blocks[-1]["rows"][1] == ["t/1?", 5, {"at": "2026-01-02T03:04:05+00:00"}, None]
    assert [each["kind"] for each in one] == ["text", "picture"]
    assert one[1]["description"] == "a <b> picture"


def test_a_question_is_answered(shown):
    """The panel's function gets the answer; what it refuses, and what is not one, is an error."""
    sent = {"id": "t/1?", "question": "first", "text": "yes"}

    def answer(panel="shown", **changes):
        path = f"/v1/panels/{panel}/answer"
        return shown.http.post(path, json={**sent, **changes}, headers=shown.bearer)

    assert answer().json() == {"message": "Answered with yes."}
    assert shown.state.answers == ["yes"]
    refused = answer(text="no")
    assert (refused.status_code, refused.json()["code"]) == (422, "shown.refused")
    for body in (answer(text=5), answer(panel="github")):
        assert (body.status_code, body.json()["code"]) == (400, "SC-653")


def test_a_panel_without_a_neo4j_has_a_problem(shown):
    """It says why it is empty, and the page is not an error: it asks again."""
    for name in ("runs", "sessions", "contradictions", "repositories"):
        answer = shown.http.get(f"/v1/panels/{name}", headers=shown.bearer)
        assert answer.json() == {"blocks": None, "problem": "No Neo4j is known to the sidecar"}


def test_a_panel_that_fails_tells_no_secret(shown):
    """The text of a foreign exception stays in the sidecar."""
    answer = shown.http.get("/v1/panels/broken", headers=shown.bearer)

    assert (answer.status_code, answer.json()["code"]) == (500, "SC-202")
    assert answer.json()["detail"] == "The panel `broken` failed with RuntimeError"


def test_a_timeout_of_an_author_is_an_error_like_any_other(shown):
    """It is not told as the 55 s of a panel, which have not passed."""
    answer = shown.http.get("/v1/panels/broken?id=late", headers=shown.bearer)

    assert (answer.status_code, answer.json()["code"]) == (500, "SC-202")
    assert answer.json()["detail"] == "The panel `broken` failed with TimeoutError"


def test_a_cell_that_no_page_shows_is_an_error(shown):
    """It names the panel and the type, and not the value."""
    answer = shown.http.get("/v1/panels/broken?id=list", headers=shown.bearer)

    assert (answer.status_code, answer.json()["code"]) == (500, "SC-205")
    assert answer.json()["detail"] == "A table of the panel `broken` has a list"


@pytest.mark.parametrize(
    "path", ["/", "/procedures", "/procedures/attack.page", "/calls", "/panels/shown?id=x"]
)
def test_nothing_foreign_is_on_the_page(page, path):
    """No part of a page comes from elsewhere, and none is written into the page itself."""
    text = page(path)

    others = {
        each
        for each in re.findall(r'(?:src|href)="([^"]*)"', text)
        if not re.match(r"/(?:$|[#?]|procedures|calls|panels/)", each)
    }
    assert others <= {"#main", "/console.css", "/console.js", "data:,"}
    assert re.findall(r"<script\b[^>]*>", text) == ['<script src="/console.js" defer>']
    assert not re.search(r"<style|\son\w+=\"|\sstyle=", text)


def test_style_and_script_load_nothing(shown):
    """They name no other address."""
    for path in ("/console.css", "/console.js"):
        assert "//" not in re.sub(r"^\s*// .*$", "", shown.http.get(path).text, flags=re.MULTILINE)


def test_what_an_import_raised_is_for_who_has_the_token(shown, page):
    """The page names a module that is left out; why it is, which may hold anything, it does not."""
    text = page("/")
    told = shown.http.get("/v1/modules", headers=shown.bearer).json()["modules"]

    assert f"<code>{escape(HOSTILE_MODULE)}</code> (left out)" in text
    assert "attacked" not in text.replace(str(escape("document.title = 'attacked'")), "")
    [problem] = next(each for each in told if each["module"] == HOSTILE_MODULE)["problems"]
    assert problem == f"RuntimeError at import: {HOSTILE_FAILURE}"
    assert next(each for each in told if each["module"] == "bodies.py")["procedures"] == 8


def test_a_call_under_way_is_told_with_its_progress(shown):
    """`/v1/calls` has who runs what, and how far it has come, in whatever numbers it counts."""
    begun = shown.begin(user="bob")

    [told] = shown.calls()["running"]

    assert (told["name"], told["user"], told["database"]) == ("shown.wait", "bob", "people")
    assert (told["done"], told["total"], told["rows"], told["state"]) == (3, 7, 0, "running")
    shown.state.go.set()
    assert begun.reply()["rows"] == [["gone on"]]


def test_a_call_is_cancelled_by_its_id(shown):
    """After the cancel the caller gets SC-207, and the call is among those that failed."""
    begun = shown.begin()
    [told] = shown.calls()["running"]

    answer = shown.http.post(f"/v1/calls/{told['callId']}/cancel", headers=shown.bearer)

    assert (answer.status_code, answer.content) == (202, b"")
    assert begun.reply()["error"]["code"] == "SC-207"
    wait_until(lambda: not shown.calls()["running"])
    assert (shown.calls()["failed"][0]["callId"], shown.calls()["failed"][0]["code"]) == (
        told["callId"], "SC-207",
    )  # fmt: skip


def test_a_call_between_two_pages_is_cancelled_too(shown):
    """Its caller is told SC-207 when it asks for more rows, not that the call is unknown."""
    reply = shown.call("shown.rows")
    assert reply["more"]

    shown.http.post(f"/v1/calls/{reply['id']}/cancel", headers=shown.bearer)

    assert shown.page_of(reply)["error"]["code"] == "SC-207"


def test_only_its_caller_hears_of_its_end(shown):
    """Another JVM that asks for more rows of a cancelled call is told that it has no such call."""
    reply = shown.call("shown.rows")
    shown.http.post(f"/v1/calls/{reply['id']}/cancel", headers=shown.bearer)

    assert shown.page_of(reply, Session(no_transaction, "another"))["error"]["code"] == "SC-214"
    assert shown.page_of(reply)["error"]["code"] == "SC-207"


def test_a_call_that_is_not_open_cannot_be_cancelled(shown):
    """An id that is none, or of a call that is over, is a 404 with SC-655."""
    over = shown.call("shown.fail", "no")

    for call_id in (over["id"], "nothing", "%3Cscript%3E"):
        answer = shown.http.post(f"/v1/calls/{call_id}/cancel", headers=shown.bearer)
        assert (answer.status_code, answer.json()["code"]) == (404, "SC-655")
        assert "script" not in answer.text


def test_failed_calls_are_told_by_id_and_code_alone(shown):
    """The latest failed calls are there with code and time, and nothing of what was in them."""
    reply = shown.call("shown.fail", "a secret", "kg.code")
    refused = shown.call("shown.fail", 5)

    first, second = shown.calls()["failed"][:2]

    assert (first["callId"], first["code"]) == (refused["id"], "SC-204")
    assert first["name"] == "shown.fail"
    assert (second["callId"], second["code"]) == (reply["id"], "kg.code")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", second["at"])
    assert "secret" not in str(shown.calls())


def test_no_error_of_an_author_hides_the_calls(shown):
    """Whatever is given as a code, the calls can be listed, and what is kept of it is short."""
    shown.call("shown.failOddly")
    shown.call("shown.failByNumber")

    number, odd = shown.calls()["failed"][:2]

    assert (number["name"], number["code"]) == ("shown.failByNumber", "5")
    assert (odd["name"], odd["code"]) == ("shown.failOddly", "SC-201")
    answer = shown.http.post("/v1/call/shown.failByNumber", json=[], headers=shown.bearer)
    assert (answer.status_code, answer.json()["code"]) == (422, "5")


@pytest.mark.parametrize("path", ["/v1/calls", "/v1/modules"])
def test_answers_are_as_the_document_says(shown, path):
    """What is told of calls and modules fits the schemas of `/openapi.json`."""
    begun = shown.begin()
    shown.call("shown.fail", "no")
    document = shown.http.get("/openapi.json", headers=shown.bearer).json()
    answers = document["paths"][path]["get"]["responses"]["200"]["content"]

    told = shown.http.get(path, headers=shown.bearer).json()

    OAS31Validator(answers["application/json"]["schema"]).validate(told)
    shown.state.go.set()
    begun.reply()


def test_only_so_many_failed_calls_are_kept(shown):
    """The list is bounded: the oldest ones are forgotten."""
    for number in range(60):
        shown.call("shown.fail", "no", f"kg.n{number}")

    codes = [each["code"] for each in shown.calls()["failed"]]

    assert codes == [f"kg.n{number}" for number in range(59, 9, -1)]
