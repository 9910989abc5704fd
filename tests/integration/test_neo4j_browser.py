"""Neo4j Browser of the embedded server, in a real browser, as docs/browser.md tells it."""

import re

import pytest
from docs.pages import ROOT, blocks, section
from playwright.sync_api import expect

pytestmark = pytest.mark.slow

_LOCAL = re.compile(r"https?://(127\.0\.0\.1|localhost)[:/]")


@pytest.fixture
def run(server, driver, session, visit):
    """Connect with user and password; then run statements, each in a frame that is returned."""
    page = visit("about:blank", viewport={"width": 1280, "height": 1024}).page
    # It looks for guides and news on the internet, where a test must not go.
    page.route(lambda url: not _LOCAL.match(url), lambda route: route.abort())
    page.goto(server.facts["browser"])
    page.get_by_test_id("username").fill("neo4j")
    page.get_by_test_id("password").fill(server.password)
    page.get_by_test_id("connect").click()
    expect(page.get_by_test_id("password")).to_have_count(0)

    def type_and_run(statement):
        page.get_by_test_id("activeEditor").click()
        page.keyboard.press("Control+A")
        page.keyboard.insert_text(statement)
        page.keyboard.press("Control+Enter")
        # Not the latest one: the browser adds frames of its own when it has connected.
        command = page.get_by_test_id("frameCommand").filter(has_text=statement)
        frame = page.get_by_test_id("frame").filter(has=command)
        expect(frame).to_have_count(1)
        return frame

    return type_and_run


def examples(title):
    """The Cypher and the texts of a section of the page, in its order."""
    text = section("docs/browser.md", title)
    found = blocks("cypher", "text", pages=[ROOT / "docs" / "browser.md"])
    return [each.text.strip() for each in found if each.text.strip() in text]


def test_a_person_calls_is_refused_and_reads_why(run, session):
    """Rows of a call, rows by parameters, the refusal of a procedure, the veto of a trigger."""
    [call] = examples("Call a procedure")
    rows = run(call)
    expect(rows).to_contain_text("Spelling error in the README file")
    expect(rows).to_contain_text("open")

    parameters, with_parameters = examples("Parameters")
    run(parameters)
    rows = run(with_parameters)
    expect(rows).to_contain_text("visibility")
    expect(rows).to_contain_text("public")

    refused, code, vetoed, reason = examples("What errors look like")
    expect(run(refused)).to_contain_text(code.partition("\n...")[0])
    expect(run(vetoed)).to_contain_text(reason)
    assert session.run("MATCH (n) RETURN count(n) AS n").single()["n"] == 0
