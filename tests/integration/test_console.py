"""The console as any client gets it: what is on the page, and what needs the token."""

import re
from dataclasses import replace

import pytest
from fix_console import HOSTILE_FAILURE, HOSTILE_MODULE
from fix_waiting import wait_until
from markupsafe import escape
from openapi_schema_validator import OAS31Validator

from sidecypher.calls.dispatcher import Session
from sidecypher.host.rendezvous import Announcement, Membership, read_rendezvous
from sidecypher.sdk.call import no_transaction
from sidecypher.sdk.registry import Registry


@pytest.fixture
def page(shown):
    """Give the page as it is now."""

    def get():
        answer = shown.http.get("/")
        assert answer.status_code == 200
        return answer.text

    return get


def row_of(page, name, kind="procedure"):
    """The row of a procedure or function: its name, what it does, and its numbers."""
    found = re.search(f'<tr id="{kind}-{re.escape(name)}">(.*?)</tr>', page, re.DOTALL)
    assert found, name
    return found[1]


def numbers_of(page, name, kind="procedure"):
    return re.findall(r'class="number">(.*?)</td>', row_of(page, name, kind))


def test_every_procedure_and_function_is_on_the_page(shown, page):
    """Each one is there with signature, description and a call, below its namespace."""
    text = page()

    for each in shown.sidecar.loaded.registry:
        row = row_of(text, each.name, each.kind)
        assert str(escape(each.usage())) in row
        assert str(escape(each.entry.description)) in row
    assert re.findall(r'<h3 id="ns-(\w+)">', text) == [
        "algo", "attack", "code", "github", "rules", "runs", "session", "shown", "sidecypher",
    ]  # fmt: skip


def test_a_row_tells_how_it_is_run(page):
    """Mode, executor, time limit, administrators, cache and deprecation are told."""
    text = page()

    assert "READ · thread · 60 s" in row_of(text, "shown.wait")
    assert "function · thread" in row_of(text, "shown.twice", "function")
    assert "administrators" in row_of(text, "sidecypher.reload")
    assert "deprecated: use shown.rows" in row_of(text, "shown.old")
    assert "async" in row_of(text, "github.getIssue")
    assert "cached for each user" in row_of(text, "github.getIssue")


def test_numbers_are_those_of_the_metrics(shown, page):
    """A call is counted, an error beside it, and times are told by the bounds of the histogram."""
    calls, errors = map(int, numbers_of(page(), "shown.fail")[:2])
    shown.call("shown.fail", "no")
    shown.call("shown.fail", "no", "SC-207")

    told = numbers_of(page(), "shown.fail")

    assert told[:2] == [str(calls + 2), str(errors + 2)]
    assert re.fullmatch(r"[\d.]+ m?s", told[2])
    assert re.fullmatch(r"[≤>] [\d.]+ m?s", told[3])
    assert numbers_of(page(), "rules.add") == ["0", "0", "-", "-", "-"]


def test_the_page_says_which_sidecar_it_is_of(shown, page):
    """Process and generation are told, and the other sidecars of the run folder are linked."""
    run = shown.home / "run"
    found = read_rendezvous(run)
    other = Announcement("a" * 32, 4711, "127.0.0.1", 1, 40_002, 3, {"secret.py": "a reason"})

    assert f"generation <code>{found.sidecars[0].generation[:8]}</code>" in page()
    assert f"process {found.sidecars[0].pid}" in page()
    membership = Membership(run, found.fingerprint, other)
    assert '<a href="http://127.0.0.1:40002/">process 4711</a>' in page()
    membership.leave()
    assert "only one of its run folder" in page()


def test_the_page_is_small(shown):
    """Page, style and script are at most 30 kB on the wire, here with more than what ships."""
    parts = [shown.http.get(path) for path in ("/", "/console.css", "/console.js")]

    assert all(part.is_success for part in parts)
    assert sum(part.num_bytes_downloaded for part in parts) <= 30_000


@pytest.mark.parametrize(
    ("part", "namespace"), [("sessions", "session."), ("repositories", "code.")]
)
def test_a_part_is_shown_only_where_its_procedures_are(shown, page, monkeypatch, part, namespace):
    """Without its procedures in service there is no section, and nothing is asked of Neo4j."""
    assert f'id="{part}"' in page()
    inspector = shown.sidecar._inspector
    registry = Registry(each for each in inspector.loaded.registry if namespace not in each.name)

    monkeypatch.setattr(inspector, "loaded", replace(inspector.loaded, registry=registry))

    assert f'id="{part}"' not in page()
    answer = shown.http.get(f"/v1/{part}", headers=shown.bearer)
    assert (answer.status_code, answer.json()["code"]) == (404, "SC-203")


@pytest.mark.parametrize(("part", "rows"), [("sessions", "requests"), ("repositories",) * 2])
def test_a_part_without_a_neo4j_has_a_problem(shown, part, rows):
    """The list says why it is empty, and is no failure of the page; to show one is an error."""
    listed = shown.http.get(f"/v1/{part}", headers=shown.bearer)
    one = shown.http.get(f"/v1/{part}/one?id=x", headers=shown.bearer)

    assert listed.json() == {rows: None, "problem": "No Neo4j is known to the sidecar"}
    assert one.status_code == 503


def test_nothing_foreign_is_on_the_page(shown, page):
    """No part of the page comes from elsewhere, and none is written into the page itself."""
    text = page()

    assert set(re.findall(r'(?:src|href)="([^"]*)"', text)) == {
        "#procedures", "/console.css", "/console.js", "data:,",
    }  # fmt: skip
    assert re.findall(r"<script\b[^>]*>", text) == ['<script src="/console.js" defer>']
    assert not re.search(r"<style|\son\w+=\"|\sstyle=", text)
    for path in ("/console.css", "/console.js"):
        assert "//" not in re.sub(r"^\s*// .*$", "", shown.http.get(path).text, flags=re.MULTILINE)


def test_what_an_import_raised_is_for_who_has_the_token(shown, page):
    """The page names a module that is left out; why it is, which may hold anything, it does not."""
    text = page()
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
