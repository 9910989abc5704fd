"""The console in a real browser, as a person has it: by eye, by keyboard, by screen reader."""

import pytest
from fix_console import HOSTILE_FAILURE, HOSTILE_MODULE
from playwright.sync_api import expect


@pytest.fixture
def console(shown, visit):
    """Open the page; at the end it has asked nobody else for anything."""
    visits = []

    def open_(**options):
        visits.append(visit(shown.url, **options))
        return visits[-1]

    yield open_
    for each in visits:
        assert [url for url in each.asked if not url.startswith(f"{shown.url}/")] == []


@pytest.fixture
def opened(console, shown):
    """The page of a person who has shown the token."""
    found = console()
    give_token(found.page, shown.token)
    found.page.get_by_role("heading", name="Running calls").wait_for()
    return found


def give_token(page, token):
    page.get_by_label("Token for HTTP").fill(token)
    page.get_by_role("button", name="Show them").click()


def row(page, name):
    """The row of a procedure."""
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=name, exact=True))


def test_the_filter_leaves_what_fits(console):
    """Words of name or description, in any case, choose the rows; empty namespaces go too."""
    page = console().page
    everything = page.locator(".namespace tr[id]:visible").count()

    page.get_by_label("Filter").fill("GETissue live")

    names = page.locator(".namespace tr[id]:visible th").all_inner_texts()
    assert names == ["github.getIssue", "github.getIssue.batch"]
    assert page.locator(".namespace:visible h3").all_inner_texts() == ["github"]
    assert page.get_by_text("2 shown").is_visible()
    page.get_by_label("Filter").fill("")
    assert page.locator(".namespace tr[id]:visible").count() == everything
    page.get_by_label("Filter").fill("copy")
    # It stands on the button of each row.
    assert page.get_by_text("0 shown").is_visible()


def test_a_call_is_copied(console):
    """The button puts the call of its row where a person can paste it from, and says so."""
    page = console(permissions=["clipboard-read", "clipboard-write"]).page
    page.get_by_text("Signature and call of github.getIssue", exact=True).click()

    page.get_by_role("button", name="Copy call of github.getIssue", exact=True).click()

    page.get_by_text("Copied: CALL github.getIssue").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("CALL github.getIssue('owner', 'repo', 1) YIELD number, ")


def test_a_call_that_may_not_be_copied_is_selected(console):
    """Where the browser forbids it, the text is selected, so that one key copies it."""
    page = console().page
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()) }")
    page.get_by_text("Signature and call of shown.wait", exact=True).click()

    page.get_by_role("button", name="Copy call of shown.wait", exact=True).click()

    page.get_by_text("does not let the page copy").wait_for()
    assert page.evaluate("String(getSelection())") == "CALL shown.wait() YIELD value"


def test_numbers_change_by_themselves(console, shown):
    """A call is counted on the page within seconds, without a reload, and nothing else moves."""
    found = console()
    cell = row(found.page, "shown.fail").get_by_role("cell").nth(2)
    before = int(cell.inner_text())
    button = found.page.get_by_label("Filter")
    button.focus()

    shown.call("shown.fail", "no")

    expect(cell).to_have_text(str(before + 1))
    assert button.evaluate("element => element === document.activeElement")
    assert found.told == []


def test_refreshing_can_be_stopped(shown, console):
    """Who unticks it has a page that stands still."""
    found = console(hurried=True)

    def asked():
        # What it has asked for before has come before this.
        found.page.evaluate("fetch('/livez')")
        return found.asked.count(f"{shown.url}/")

    with found.page.expect_request(f"{shown.url}/"):
        found.page.clock.run_for(2_000)
    found.page.get_by_label("Refresh by itself").uncheck()
    before = asked()

    found.page.clock.run_for(60_000)

    assert asked() == before


def test_running_calls_are_shown_and_cancelled(opened, shown):
    """With the token a call is there with its progress; its button ends it, and it is told so."""
    begun = shown.begin(user="bob")
    page = opened.page
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
    assert opened.told == []


def test_a_wrong_token_is_told(console):
    """It is said beside the field, which gets the focus; nothing is shown."""
    page = console().page

    give_token(page, "0" * 64)

    page.get_by_role("alert").get_by_text("This is not the token of this sidecar.").wait_for()
    field = page.get_by_label("Token for HTTP")
    assert field.evaluate("element => element === document.activeElement")
    assert field.get_attribute("aria-invalid") is not None
    assert page.get_by_role("heading", name="Running calls").is_hidden()


def test_the_token_is_kept_nowhere(opened, shown):
    """It is in no storage, cookie, address or element, and a reload forgets it."""
    page = opened.page
    kept = page.evaluate("""
        JSON.stringify([
            {...localStorage}, {...sessionStorage}, document.cookie, location.href, history.state,
            document.documentElement.outerHTML,
            [...document.querySelectorAll("input")].map((each) => each.value),
        ])
    """)

    assert shown.token not in kept
    assert not [url for url in opened.asked if shown.token in url]
    page.reload()
    page.get_by_label("Token for HTTP").wait_for()
    assert page.get_by_role("heading", name="Running calls").is_hidden()


def test_the_token_can_be_taken_back(opened):
    """A button makes the page forget it, and all that it had shown."""
    page = opened.page

    page.get_by_role("button", name="Forget the token").click()

    assert page.get_by_label("Token for HTTP").is_visible()
    assert page.get_by_role("heading", name="Running calls").is_hidden()
    assert page.locator("#problems li").count() == 0


def test_a_sidecar_that_does_not_answer_loses_the_token(opened, shown):
    """Who listens on the port afterwards is somebody else, who must not be sent it."""
    page = opened.page
    page.context.set_offline(True)
    page.get_by_text("The sidecar does not answer.").wait_for()
    page.context.set_offline(False)
    page.get_by_text("The sidecar does not answer.").wait_for(state="detached")

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
    """Have another process on the port from now on, whose page tells other things."""

    def of_another(route):
        answer = route.fetch()
        other = answer.text().replace('data-generation="', 'data-generation="f')
        route.fulfill(response=answer, body=other.replace(">Ready<", ">Foreign<"))

    page.route("**/", of_another)


def test_another_sidecar_on_the_port_loses_the_token(opened):
    """A page of another generation is of another process, whose numbers are not mixed in."""
    answer_as_another(opened.page)

    opened.page.get_by_text("Another sidecar answers here now.").wait_for()
    assert opened.page.get_by_label("Token for HTTP").is_visible()
    assert opened.page.get_by_text("Foreign", exact=True).count() == 0


def test_the_token_is_sent_to_nobody_unknown(opened, shown):
    """A page that stood still looks again who answers before it cancels anything."""
    begun = shown.begin()
    button = opened.page.get_by_role("button", name="Cancel shown.wait")
    button.wait_for()
    opened.page.get_by_label("Refresh by itself").uncheck()
    answer_as_another(opened.page)

    button.click()

    opened.page.get_by_text("Another sidecar answers here now.").wait_for()
    assert opened.page.get_by_label("Token for HTTP").is_visible()
    assert [url for url in opened.asked if url.endswith("/cancel")] == []
    shown.state.go.set()
    assert begun.reply()["rows"] == [["gone on"]]


def test_a_list_that_fails_is_told(opened):
    """A sidecar that answers, but cannot list its calls, is not gone: the token stays."""
    lists = "**/v1/calls"
    opened.page.route(lists, lambda route: route.fulfill(status=500, body="{}"))

    opened.page.get_by_text("The sidecar cannot tell its calls: status 500.").wait_for()
    assert opened.page.get_by_label("Token for HTTP").is_hidden()
    opened.page.unroute(lists)
    opened.page.get_by_text("The sidecar cannot tell its calls").wait_for(state="detached")
    assert opened.page.get_by_role("heading", name="Running calls").is_visible()


def test_markup_of_others_is_text(opened, shown):
    """Descriptions, module names, failures and users are shown as they are, never run."""
    begun = shown.begin(user="<img src=x onerror=alert(1)>")
    page = opened.page
    page.on("dialog", lambda _dialog: pytest.fail("a script of somebody else has run"))

    page.get_by_role("cell", name="<img src=x onerror=alert(1)>").wait_for()

    told = f"{HOSTILE_MODULE}: RuntimeError at import: {HOSTILE_FAILURE}"
    assert page.get_by_text(told).is_visible()
    assert page.get_by_text("</p><script>document.title").is_visible()
    assert page.title() == "sidecypher console"
    assert page.locator("img, main script").count() == 0
    assert opened.told == []
    shown.state.go.set()
    begun.reply()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened, shown, scheme):
    """No rule of axe-core is violated, with everything shown, in both colour schemes."""
    begun = shown.begin()
    page = opened.page
    page.emulate_media(color_scheme=scheme)
    page.get_by_text("Signature and call of shown.wait", exact=True).click()
    page.locator("#running tbody tr").wait_for()

    assert opened.violations() == []
    shown.state.go.set()
    begun.reply()


def test_it_is_used_by_keyboard_alone(console, shown):
    """Skip link, filter, signature, copy and token are reached and used without a mouse."""
    page = console(permissions=["clipboard-read", "clipboard-write"]).page
    keys = page.keyboard

    def focused():
        return page.evaluate("document.activeElement.id || document.activeElement.textContent")

    def tab_to(wanted):
        for _ in range(40):
            keys.press("Tab")
            if focused() == wanted:
                return
        raise AssertionError(wanted)

    tab_to("Skip to procedures")
    tab_to("token")
    keys.type(shown.token)
    keys.press("Enter")
    page.get_by_role("heading", name="Running calls").wait_for()
    page.reload()
    tab_to("Skip to procedures")
    keys.press("Enter")
    tab_to("filter")
    keys.type("shown.wait")
    tab_to("Signature and call of shown.wait")
    keys.press("Enter")
    tab_to("Copy call of shown.wait")
    keys.press("Enter")
    page.get_by_text("Copied: CALL shown.wait() YIELD value").wait_for()


def test_without_scripts_it_can_be_read(console):
    """Signatures, calls, numbers and health are there, and nothing that would not work."""
    page = console(java_script_enabled=False).page

    page.get_by_text("Signature and call of shown.wait", exact=True).click()

    assert page.get_by_text("CALL shown.wait() YIELD value").is_visible()
    assert page.get_by_text("Ready", exact=True).is_visible()
    assert page.get_by_text("Without scripts").is_visible()
    assert page.locator("button:visible, input:visible").count() == 0


def test_a_narrow_window_does_not_scroll_sideways(console):
    """On a telephone's width only the tables scroll, each by itself."""
    page = console(viewport={"width": 360, "height": 700}).page

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
