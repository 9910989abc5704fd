"""The console in a real browser, as a person has it: by eye, by keyboard, by screen reader."""

import re

import pytest
from fix_console import HOSTILE_FAILURE, HOSTILE_MODULE
from playwright.sync_api import expect

import console_picture


@pytest.fixture
def console(shown, visit):
    """Open a page; at the end it has asked nobody else for anything."""
    visits = []

    def open_(path="/", **options):
        visits.append(visit(f"{shown.url}{path}", **options))
        return visits[-1]

    yield open_
    for each in visits:
        assert [url for url in each.asked if not url.startswith(f"{shown.url}/")] == []


@pytest.fixture
def opened(console, shown):
    """Open a page as a person who has shown the token."""

    def open_(path="/calls", **options):
        found = console(path, **options)
        give_token(found.page, shown.token)
        found.page.get_by_role("button", name="Forget the token").wait_for()
        return found

    return open_


def give_token(page, token):
    page.get_by_label("Token for HTTP").fill(token)
    page.get_by_role("button", name="Show", exact=True).click()


def row(page, name):
    """The row of a procedure."""
    return page.locator(f'[id="procedure-{name}"]')


def focused(page):
    return page.evaluate("document.activeElement.id || document.activeElement.textContent")


def test_the_filter_leaves_what_fits(console):
    """Words of name or description, in any case, choose the rows; empty namespaces go too."""
    page = console("/procedures").page
    everything = page.locator(".group tbody tr:visible").count()

    page.get_by_label("Filter").fill("GETissue live")

    names = page.locator(".group tbody tr:visible code:first-child").all_inner_texts()
    assert names == ["github.getIssue", "github.getIssue.batch"]
    assert page.locator(".group:visible h2").all_inner_texts() == ["github"]
    assert page.get_by_text("2 shown").is_visible()
    page.get_by_label("Filter").fill("")
    assert page.locator(".group tbody tr:visible").count() == everything


def test_an_address_has_the_filter_and_the_window(console):
    """A link, a reload, and "back" show the same rows of the same window."""
    page = console("/procedures?q=shown.wait&minutes=60").page
    expect(page.get_by_text("1 shown")).to_be_visible()
    expect(page.get_by_role("link", name="1 h", exact=True)).to_have_attribute(
        "aria-current", "true"
    )
    page.get_by_label("Filter").fill("shown.fail")

    # Not `page.reload()`: the browser may not have heard yet which address the page has now.
    page.goto(page.evaluate("location.href"))

    expect(page.get_by_label("Filter")).to_have_value("shown.fail")
    page.get_by_role("link", name="shown.fail", exact=True).click()
    expect(page.get_by_role("heading", name="shown.fail", exact=True)).to_be_focused()
    assert page.url.endswith("/procedures/shown.fail?minutes=60")
    assert page.title() == "shown.fail · sidecypher"
    page.go_back()
    expect(page.get_by_label("Filter")).to_have_value("shown.fail")
    expect(page.get_by_text("3 shown")).to_be_visible()
    page.go_forward()
    expect(page.get_by_role("heading", name="shown.fail", exact=True)).to_be_visible()


def test_pages_change_without_losing_the_token(opened, shown):
    """A link leaves the token in memory, so the next page shows what it opens."""
    reply = shown.call("shown.fail", "no")
    found = opened()
    page = found.page

    page.get_by_role("link", name="Shown", exact=True).click()
    page.get_by_text("first <img").first.wait_for()
    page.go_back()
    page.locator("#failed").get_by_role("link", name=reply["id"], exact=True).click()

    expect(page.get_by_role("definition").filter(has_text="shown.broken")).to_be_visible()
    assert page.url.endswith(f"/calls/{reply['id']}")
    page.get_by_role("definition").get_by_role("link", name="shown.fail").click()
    expect(page.locator("#failed").get_by_role("link", name=reply["id"])).to_be_visible()
    assert [url for url in found.asked if shown.token in url] == []
    assert found.told == []


def test_a_call_is_copied(console):
    """The button puts the call where a person can paste it from, and says so."""
    page = console(
        "/procedures/github.getIssue", permissions=["clipboard-read", "clipboard-write"]
    ).page

    page.get_by_role("button", name="Copy call of github.getIssue", exact=True).click()

    page.get_by_text("Copied: CALL github.getIssue").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("CALL github.getIssue('owner', 'repo', 1) YIELD number, ")


def test_a_call_that_may_not_be_copied_is_selected(console):
    """Where the browser forbids it, the text is selected, so that one key copies it."""
    page = console("/procedures/shown.wait").page
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()) }")

    page.get_by_role("button", name="Copy call of shown.wait", exact=True).click()

    page.get_by_text("does not let the page copy").wait_for()
    assert page.evaluate("String(getSelection())") == "CALL shown.wait() YIELD value"


@pytest.mark.slow
def test_numbers_change_by_themselves(console, shown):
    """A call is counted within seconds, and nothing else moves: neither focus nor layout."""
    found = console("/procedures")
    page = found.page
    cell = row(page, "shown.fail").get_by_role("cell").nth(1)
    before = int(cell.inner_text())
    field = page.get_by_label("Filter")
    field.focus()
    page.evaluate("""
        window.shifts = 0;
        new PerformanceObserver((list) => {
            for (const each of list.getEntries()) window.shifts += each.value;
        }).observe({type: "layout-shift", buffered: false});
    """)

    shown.call("shown.fail", "no")

    expect(cell).to_have_text(str(before + 1))
    expect(field).to_be_focused()
    assert page.evaluate("window.shifts") == 0
    assert found.told == []


def test_a_chart_is_drawn_and_has_words(console, shown):
    """Lines are on the page, with a text for screen readers and a table with the numbers."""
    shown.call("shown.fail", "no")
    shown.end_period()
    page = console("/procedures/shown.fail").page

    chart = page.get_by_role("img", name=re.compile("Errors per second: .* at most"))

    assert chart.locator("path.line").get_attribute("d").startswith("M0 ")
    page.get_by_text("The charts as a table").click()
    latest = page.locator("#values tbody tr").first
    assert int(latest.get_by_role("cell").nth(1).inner_text()) > 0


def test_refreshing_can_be_stopped(shown, console):
    """Who unticks it has a page that stands still."""
    found = console(hurried=True)

    def asked():
        # What it has asked for before has come before this.
        found.page.evaluate("fetch('/livez')")
        return found.asked.count(f"{shown.url}/")

    with found.page.expect_request(f"{shown.url}/"):
        found.page.clock.run_for(2_000)
    found.page.get_by_label("Refresh").uncheck()
    before = asked()

    found.page.clock.run_for(60_000)

    assert asked() == before


def test_running_calls_are_shown_and_cancelled(opened, shown):
    """With the token a call is there with its progress; its button ends it, and it is told so."""
    found = opened()
    begun = shown.begin(user="bob")
    page = found.page
    line = page.locator("#running tbody tr")
    line.wait_for()
    cells = line.get_by_role("cell").all_inner_texts()
    assert (cells[0], *cells[2:4], *cells[5:]) == (
        "shown.wait", "bob", "people", "0", "3 of 7", "running", "Cancel",
    )  # fmt: skip

    page.get_by_role("button", name="Cancel shown.wait").click()

    page.get_by_text("The call to shown.wait is being cancelled.").wait_for()
    assert begun.reply()["error"]["code"] == "SC-207"
    page.get_by_text("No call is open.").wait_for()
    newest = page.locator("#failed tbody tr").first.get_by_role("cell")
    # A call is told as failed a moment after it is open no more.
    expect(newest.nth(1)).to_have_text("shown.wait", timeout=30_000)
    expect(newest.nth(2)).to_have_text("SC-207")
    assert found.told == []


def test_a_wrong_token_is_told(console):
    """It is said next to the field, which gets the focus; nothing is shown."""
    page = console("/calls").page

    give_token(page, "0" * 64)

    page.get_by_role("alert").get_by_text("This is not the token of this sidecar.").wait_for()
    field = page.get_by_label("Token for HTTP")
    expect(field).to_be_focused()
    assert field.get_attribute("aria-invalid") is not None
    assert page.get_by_role("heading", name="Running calls").count() == 0


def test_the_token_is_kept_nowhere(opened, shown):
    """It is in no storage, cookie, address or element, and a reload forgets it."""
    found = opened()
    page = found.page
    page.get_by_role("link", name="Procedures", exact=True).click()
    page.get_by_role("link", name="Calls", exact=True).click()
    page.get_by_role("heading", name="Running calls").wait_for()
    kept = page.evaluate("""
        JSON.stringify([
            {...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state,
            document.documentElement.outerHTML,
            [...document.querySelectorAll("input")].map((each) => each.value),
        ])
    """)

    assert shown.token not in kept
    assert not [url for url in found.asked if shown.token in url]
    page.reload()
    page.get_by_label("Token for HTTP").wait_for()
    assert page.get_by_role("heading", name="Running calls").count() == 0


def test_the_token_can_be_taken_back(opened):
    """A button makes the page forget it, and all that it had shown."""
    page = opened().page
    page.locator("#problems li").wait_for()

    page.get_by_role("button", name="Forget the token").click()

    assert page.get_by_label("Token for HTTP").is_visible()
    assert page.get_by_role("button", name="Forget the token").is_hidden()
    assert page.locator("#problems li, #running, #failed").count() == 0


@pytest.mark.slow
def test_a_sidecar_that_does_not_answer_is_told_and_comes_back(opened):
    """The page has the time of its data, forgets the token, and goes on when it is answered.

    Who listens on the port afterwards may be somebody else, who must not be sent the token.
    """
    page = opened().page
    told = page.get_by_text("The sidecar does not answer. What you see is from")
    page.context.set_offline(True)
    told.wait_for()
    assert re.search(r"from \d\d:\d\d:\d\d UTC\. Enter the token again", told.inner_text())
    assert page.get_by_label("Token for HTTP").is_visible()

    page.context.set_offline(False)

    told.wait_for(state="detached")
    assert page.get_by_label("Token for HTTP").is_visible()


def test_a_sidecar_that_hangs_is_told(shown, console):
    """An answer that never comes is given up after 10 s, and the page says so."""
    found = console(hurried=True)
    held = []

    def hold(route):
        held.append(route)

    found.page.route(f"{shown.url}/", hold)
    with found.page.expect_request(f"{shown.url}/"):
        found.page.clock.run_for(2_000)

    found.page.clock.run_for(10_000)

    expect(found.page.get_by_text("The sidecar does not answer.")).to_be_visible()
    for route in held:
        route.abort()


def answer_as_another(page):
    """Have another process on the port from now on, whose pages have other things."""

    def of_another(route):
        answer = route.fetch()
        other = answer.text().replace('data-generation="', 'data-generation="f')
        route.fulfill(response=answer, body=other.replace(">Ready<", ">Foreign<"))

    page.route(re.compile(r"/(calls)?$"), of_another)


@pytest.mark.slow
def test_another_sidecar_on_the_port_is_shown_without_the_token(opened):
    """A page of another generation is of another process: it is loaded, and the token is gone."""
    page = opened().page
    page.evaluate("window.isBefore = true")
    answer_as_another(page)

    page.get_by_text("Foreign", exact=True).wait_for()

    assert page.evaluate("window.isBefore") is None
    assert page.get_by_label("Token for HTTP").is_visible()


@pytest.mark.slow
def test_the_token_is_sent_to_nobody_unknown(opened, shown):
    """A page that stood still looks again who answers before it cancels anything."""
    found = opened()
    begun = shown.begin()
    button = found.page.get_by_role("button", name="Cancel shown.wait")
    button.wait_for()
    found.page.get_by_label("Refresh").uncheck()
    answer_as_another(found.page)

    button.click()

    found.page.get_by_text("Foreign", exact=True).wait_for()
    assert found.page.get_by_label("Token for HTTP").is_visible()
    assert [url for url in found.asked if url.endswith("/cancel")] == []
    shown.state.go.set()
    assert begun.reply()["rows"] == [["gone on"]]


def test_a_link_is_followed_when_the_sidecar_is_back(console):
    """A page that was asked for meanwhile is shown then, at its address."""
    page = console("/").page
    page.context.set_offline(True)

    page.get_by_role("link", name="Procedures", exact=True).click()

    page.get_by_text("The sidecar does not answer.").wait_for()
    assert page.url.endswith("/procedures")
    page.context.set_offline(False)
    page.get_by_role("heading", name="Procedures and functions").wait_for()
    expect(page.get_by_text("The sidecar does not answer.")).to_have_count(0)


@pytest.mark.slow
def test_a_list_that_fails_is_told(opened):
    """A sidecar that answers, but cannot list its calls, is not gone: the token stays."""
    page = opened().page
    page.get_by_role("heading", name="Running calls").wait_for()
    lists = "**/v1/calls"
    page.route(lists, lambda route: route.fulfill(status=500, body="not JSON"))

    told = page.get_by_role("status").get_by_text("The sidecar answers with status 500.")
    told.wait_for()
    assert page.get_by_role("button", name="Forget the token").is_visible()
    page.unroute(lists)
    told.wait_for(state="detached")
    assert page.get_by_role("heading", name="Running calls").is_visible()


@pytest.mark.slow
def test_a_neo4j_that_is_away_is_told_and_comes_back(opened, shown):
    """A panel keeps its rows, says since when, and goes on by itself with the token."""
    page = opened("/panels/shown").page
    page.get_by_role("cell", name="1234").wait_for()

    shown.state.is_away = True

    told = page.get_by_role("status").get_by_text("Neo4j cannot be reached. What you see is from")
    told.wait_for()
    assert page.get_by_role("cell", name="1234").is_visible()
    page.get_by_label("Filter", exact=True).fill("img")
    for _ in range(2):
        page.wait_for_event("requestfinished", lambda each: each.url.endswith("/v1/panels/shown"))
    assert page.get_by_role("cell", name="1234").is_visible()
    assert told.is_visible()
    page.get_by_label("Filter", exact=True).fill("")
    shown.state.is_away = False
    shown.state.asked.append("third")
    told.wait_for(state="detached")
    page.get_by_text("third <img").first.wait_for()


@pytest.mark.slow
def test_an_answer_that_cannot_be_shown_leaves_the_token(opened):
    """The sidecar has answered, so the page does not say that it is away."""
    found = opened("/panels/shown")
    page = found.page
    page.get_by_role("cell", name="1234").wait_for()
    content = {"blocks": [{"kind": "table", "title": "T", "rows": 5}], "problem": None}
    page.route("**/v1/panels/shown", lambda route: route.fulfill(json=content))

    page.get_by_role("status").get_by_text("The page cannot show the answer").wait_for()

    assert page.get_by_role("button", name="Forget the token").is_visible()
    assert page.get_by_role("cell", name="1234").is_visible()
    page.unroute("**/v1/panels/shown")
    page.get_by_text("The page cannot show the answer").wait_for(state="detached")
    assert page.get_by_role("button", name="Forget the token").is_visible()


@pytest.mark.slow
def test_an_older_answer_replaces_no_newer_one(opened, shown):
    """A question that was answered does not come back with a list from before."""
    page = opened("/panels/shown").page
    field = page.get_by_label("Answer second")
    field.wait_for()
    held = []
    page.route("**/v1/panels/shown", lambda route: held.append((route, route.fetch())), times=1)
    page.wait_for_event("request", lambda each: each.url.endswith("/v1/panels/shown"))
    field.fill("yes")
    page.keyboard.press("Enter")
    expect(field).to_have_count(0)
    page.evaluate(
        """() => new MutationObserver(() => {
            if (document.getElementById("question-second")) window.cameBack = true;
        }).observe(document.getElementById("main"), { childList: true, subtree: true })"""
    )
    [(route, older)] = held

    with page.expect_request("**/v1/panels/shown"):
        route.fulfill(response=older)

    assert "second" in older.text()
    assert not page.evaluate("window.cameBack")


@pytest.mark.slow
def test_a_question_is_answered_while_the_list_changes(opened, shown):
    """What is typed stays with its question and its focus; a refused answer says why."""
    found = opened("/panels/shown")
    page = found.page
    field = page.get_by_label("Answer second")
    field.fill("no")
    field.focus()
    shown.state.asked.remove("first")
    expect(page.get_by_label("Answer first")).to_have_count(0)
    expect(field).to_be_focused()

    page.keyboard.press("Enter")

    page.get_by_role("status").get_by_text("This is not an answer").wait_for()
    expect(field).to_have_value("no")
    field.fill("yes")
    page.locator("#question-second").get_by_role("button", name="Send").click()
    page.get_by_text("Answered with yes.").wait_for()
    expect(field).to_have_count(0)
    assert shown.state.answers == ["yes"]


def test_a_thing_of_a_panel_has_an_address(opened, shown):
    """A row, a question and the field lead to it; a reload asks for the token and shows it."""
    page = opened("/panels/shown").page
    page.get_by_role("cell").get_by_role("link", name="t/1?").click()

    page.get_by_role("heading", name="Thing t/1?").wait_for()

    picture = page.get_by_role("img", name="a <b> picture")
    page.locator(".picture img").evaluate("(image) => image.decode()")
    assert picture.get_attribute("src").startswith("data:image/svg+xml,")
    assert page.url.endswith("/panels/shown?id=t%2F1%3F")
    page.reload()
    give_token(page, shown.token)
    picture.wait_for()
    page.get_by_role("main").get_by_role("link", name="Shown", exact=True).click()
    page.get_by_label("Thing", exact=True).fill("x y")
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_role("heading", name="Thing x y").wait_for()


def test_markup_of_others_is_text(opened, shown):
    """Descriptions, module names, failures, users and panels are shown as they are, never run."""
    found = opened()
    begun = shown.begin(user="<img src=x onerror=alert(1)>")
    page = found.page
    page.on("dialog", lambda _dialog: pytest.fail("a script of somebody else has run"))

    page.get_by_role("cell", name="<img src=x onerror=alert(1)>").wait_for()

    told = f"{HOSTILE_MODULE}: RuntimeError at import: {HOSTILE_FAILURE}"
    assert page.get_by_text(told).is_visible()
    assert page.locator("main img, main script").count() == 0
    page.get_by_role("link", name="Procedures", exact=True).click()
    page.get_by_text("</p><script>document.title").wait_for()
    page.get_by_role("link", name="Shown", exact=True).click()
    page.get_by_role("cell", name="<img src=x onerror=alert(1)>").wait_for()
    assert page.locator("main img, main script").count() == 0
    page.get_by_role("cell").get_by_role("link", name="<img src=x onerror=alert(1)>").click()
    page.get_by_role("heading", name="Thing <img src=x onerror=alert(1)>").wait_for()
    page.locator(".picture img").wait_for()
    assert page.title() == "Thing <img src=x onerror=alert(1)> · sidecypher"
    assert page.locator("main img, main script").count() == 1
    assert found.told == []
    shown.state.go.set()
    begun.reply()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened, shown, scheme):
    """No rule of axe-core is violated on any kind of page, in both colour schemes."""
    shown.call("shown.fail", "no")
    shown.end_period()
    found = opened()
    begun = shown.begin()
    page = found.page
    page.emulate_media(color_scheme=scheme)
    page.locator("#running tbody tr").wait_for()

    assert found.violations() == []
    for link, sign in (
        ("Overview", "Called most"),
        ("Procedures", "shown.fail"),
        ("Shown", "1234"),
    ):
        page.get_by_role("navigation").get_by_role("link", name=link, exact=True).click()
        page.get_by_text(sign).first.wait_for()
        # Rows are alike, and axe needs half a minute for all of them.
        if link == "Procedures":
            page.get_by_label("Filter").fill("shown")
        assert found.violations() == [], link
    page.get_by_role("cell").get_by_role("link", name="t/1?").click()
    page.locator(".picture img").wait_for()
    assert found.violations() == []
    page.get_by_role("link", name="Procedures", exact=True).click()
    page.get_by_role("link", name="shown.fail", exact=True).click()
    page.get_by_text("The charts as a table").click()
    assert found.violations() == []
    shown.state.go.set()
    begun.reply()


def test_it_is_used_by_keyboard_alone(console, shown):
    """Filter, rows, copy and token are reached and used without a mouse."""
    page = console("/", permissions=["clipboard-read", "clipboard-write"]).page
    keys = page.keyboard

    def tab_to(wanted):
        for _ in range(40):
            keys.press("Tab")
            if focused(page) == wanted:
                return
        raise AssertionError(wanted)

    tab_to("Skip to the content")
    keys.press("/")
    expect(page.get_by_label("Filter")).to_be_focused()
    keys.type("shown.fail")
    for key, name in (("Tab", "shown.fail"), ("j", "shown.failByNumber"), ("k", "shown.fail")):
        keys.press(key)
        expect(page.get_by_role("link", name=name, exact=True)).to_be_focused()
    keys.press("Enter")
    page.get_by_role("heading", name="shown.fail", exact=True).wait_for()
    tab_to("Copy call of shown.fail")
    keys.press("Enter")
    page.get_by_text("Copied: CALL shown.fail(").wait_for()
    tab_to("token")
    keys.type(shown.token)
    keys.press("Enter")
    page.get_by_role("button", name="Forget the token").wait_for()


def test_the_keys_can_be_turned_off(console):
    """Who speaks to a computer, or needs the letters, unticks them."""
    page = console("/procedures").page
    page.get_by_label("Keys").uncheck()

    page.keyboard.press("/")
    page.keyboard.press("j")

    assert focused(page) == "keys"
    page.get_by_label("Keys").check()
    page.keyboard.press("/")
    expect(page.get_by_label("Filter")).to_be_focused()
    page.keyboard.type("shown.wait")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Filter")).to_have_value("")
    expect(page.get_by_label("Filter")).not_to_be_focused()


@pytest.mark.slow
def test_nothing_is_announced_while_nothing_happens(console):
    """Numbers that refresh are in no live region, and the live regions stay as they were."""
    found = console("/")
    page = found.page
    page.evaluate("""
        window.said = 0;
        const observer = new MutationObserver((list) => { window.said += list.length; });
        for (const each of document.querySelectorAll("[role=status], [role=alert], [aria-live]")) {
            observer.observe(each, {childList: true, subtree: true, characterData: true});
        }
    """)
    before = page.locator("#updated").inner_text()

    expect(page.locator("#updated")).not_to_have_text(before)

    assert page.evaluate("window.said") == 0
    assert page.locator("[aria-live]").count() == 0


def test_motion_is_reduced_for_who_wants_it(console):
    """Nothing is animated or scrolled smoothly if the system asks for less motion."""
    page = console("/", reduced_motion="reduce").page

    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    assert page.locator("#menu a").first.evaluate(
        "e => getComputedStyle(e).transitionDuration"
    ) == ("0s")


def test_without_scripts_it_can_be_read(console):
    """Charts, signatures, calls, numbers and health are there, and nothing that would not work."""
    page = console("/procedures", java_script_enabled=False).page

    page.get_by_role("link", name="shown.wait", exact=True).click()

    assert page.get_by_text("CALL shown.wait() YIELD value").is_visible()
    assert page.get_by_text("Ready", exact=True).is_visible()
    assert page.get_by_role("img", name="Calls per second").is_visible()
    assert page.locator("button:visible, input:visible").count() == 0
    page.get_by_role("link", name="Calls", exact=True).click()
    assert page.get_by_text("Without scripts").is_visible()


@pytest.mark.parametrize("path", ["/", "/procedures", "/procedures/github.getIssue"])
def test_a_narrow_window_does_not_scroll_sideways(console, path):
    """On a telephone's width only tables and the menu scroll, each by itself."""
    page = console(path, viewport={"width": 360, "height": 700}).page

    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_panel_does_not_scroll_sideways(opened):
    """A wide picture and long texts stay within a telephone's width, or scroll by themselves."""
    page = opened("/panels/shown", viewport={"width": 360, "height": 700}).page
    page.get_by_role("cell").get_by_role("link", name="t/1?").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360

    page.get_by_role("cell").get_by_role("link", name="t/1?").click()

    page.locator(".picture img").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_picture_of_the_pages_is_small():
    """It can be on a page that many people load: at most 150 kB."""
    assert console_picture.PAGE.read_bytes().startswith(b"\x89PNG")
    assert console_picture.PAGE.stat().st_size <= 150_000


def test_the_picture_of_the_pages_can_be_taken_again(console, shown):
    """The load of the picture is drawn by the page as any other is."""
    console_picture.fill(shown.sidecar._telemetry)

    page = console("/").page

    assert page.locator("#busiest tbody tr").count() >= 7
    assert "/s at most" in page.get_by_role("img", name="Errors per second").get_attribute(
        "aria-label"
    )
    assert page.locator("#cache tbody tr").count() == 1
