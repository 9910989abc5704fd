"""S6, the console: no other page reads what it shows, posts what it may post, or runs in it."""

import pytest

CROSS_SITE = [
    "http://evil.example",
    "null",
    "http://localhost:7474",
    "https://{own}",
    "http://{own}/",
]
PUBLIC = (
    "/",
    "/procedures",
    "/procedures/shown.fail",
    "/calls",
    "/panels/shown",
    "/console.css",
    "/console.js",
)
GUARDED = ("/v1/calls", "/v1/modules", "/v1/panels/shown", "/v1/panels/github")
ANSWER = "/v1/panels/shown/answer"


@pytest.fixture
def own(shown):
    """Host and port of the sidecar, as its own page has them."""
    return shown.url.removeprefix("http://")


@pytest.fixture
def running(shown):
    """The address that cancels a call which is under way, and at the end still is."""
    begun = shown.begin()
    [told] = shown.calls()["running"]
    yield f"/v1/calls/{told['callId']}/cancel"
    assert [each["state"] for each in shown.calls()["running"]] == ["running"]
    shown.state.go.set()
    assert begun.reply()["rows"] == [["gone on"]]


def refused(answer, status, code):
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_console_itself_may_cancel(shown, own):
    """What the attacks below change is all that they lack: own origin, and the token."""
    begun = shown.begin()
    [told] = shown.calls()["running"]

    answer = shown.http.post(
        f"/v1/calls/{told['callId']}/cancel", headers={**shown.bearer, "Origin": f"http://{own}"}
    )

    assert answer.status_code == 202
    assert begun.reply()["error"]["code"] == "SC-207"


@pytest.mark.parametrize("origin", CROSS_SITE)
def test_another_origin_cancels_nothing(shown, own, running, origin):
    """Even with the token, a page of another host, port or scheme is refused."""
    origin = origin.replace("{own}", own)

    refused(shown.http.post(running, headers={**shown.bearer, "Origin": origin}), 403, "SC-652")


@pytest.mark.parametrize("origin", CROSS_SITE)
def test_another_origin_answers_nothing(shown, own, origin):
    """Questions of panels are answered by the console alone, and only with the token."""
    sent = {"id": "s", "question": "r", "text": "yes"}
    origin = {"Origin": origin.replace("{own}", own)}
    other = (403, "SC-652")

    refused(shown.http.post(ANSWER, json=sent, headers={**shown.bearer, **origin}), *other)
    refused(shown.http.get("/v1/panels/shown", headers={**shown.bearer, **origin}), *other)
    refused(shown.http.post(ANSWER, json=sent), 401, "SC-651")
    refused(shown.http.post(ANSWER, json=sent, headers={"Origin": f"http://{own}"}), 401, "SC-651")
    refused(shown.http.get("/v1/panels/shown?id=s"), 401, "SC-651")
    assert shown.state.answers == []
    own_origin = {**shown.bearer, "Origin": f"http://{own}"}
    assert shown.http.post(ANSWER, json=sent, headers=own_origin).status_code == 200
    assert shown.state.answers.pop() == "yes"


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_what_a_form_can_send_answers_nothing(shown, kind):
    """An answer is JSON and says so; a form of another page cannot send that type."""
    body = b'{"id": "s", "question": "r", "text": "yes"}'

    refused(
        shown.http.post(ANSWER, content=body, headers={**shown.bearer, "Content-Type": kind}),
        *(415, "SC-653"),
    )
    assert shown.state.answers == []


def test_two_origins_are_none(shown, own, running):
    """Two headers `Origin` are refused, though one of them is the console's."""
    origins = [("Origin", f"http://{own}"), ("Origin", "http://evil.example")]

    refused(shown.http.post(running, headers=[*shown.bearer.items(), *origins]), 403, "SC-652")


def test_another_name_of_this_machine_is_another_origin(shown, own, running):
    """A page of `localhost` is not one of `127.0.0.1`, on the same port too."""
    port = own.partition(":")[2]
    origin = {"Origin": f"http://localhost:{port}"}

    refused(shown.http.post(running, headers={**shown.bearer, **origin}), 403, "SC-652")


def test_the_console_may_post_nowhere_else(shown, own):
    """A script that got into the console could still not call procedures."""
    headers = {**shown.bearer, "Origin": f"http://{own}"}
    for path in ("/v1/call/shown.fail", "/v1/calls/../call/shown.fail", "/v1/evaluate/shown.twice"):
        refused(shown.http.post(path, json=["x"], headers=headers), 403, "SC-652")
    refused(shown.http.get("/v1/calls", headers=headers), 403, "SC-652")


def test_a_form_cancels_nothing(shown, own, running):
    """CSRF: a form cannot show the token, wherever it is; a browser never adds it by itself."""
    form = {"Authorization": f"Bearer {shown.token}", "token": shown.token}

    refused(shown.http.post(running, data=form), 401, "SC-651")
    refused(shown.http.post(running, data=form, headers={"Origin": f"http://{own}"}), 401, "SC-651")
    refused(shown.http.post(running, params=form), 401, "SC-651")
    refused(shown.http.post(running, headers={"Cookie": f"token={shown.token}"}), 401, "SC-651")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH"])
def test_nothing_is_cancelled_by_following_a_link(shown, running, method):
    """A cancel is a POST; no other method has effects, even with the token."""
    assert shown.http.request(method, running, headers=shown.bearer).status_code == 405


@pytest.mark.parametrize("shown_token", ["", "Bearer", "Bearer 0", "Basic {token}", "{token}"])
def test_without_the_token_no_call_is_told(shown, running, shown_token):
    """Who calls, what failed and why a module is left out is a 401 for whoever lacks the token."""
    headers = {"Authorization": shown_token.replace("{token}", shown.token)}

    for path in GUARDED:
        refused(shown.http.get(path, headers=headers), 401, "SC-651")
    refused(shown.http.post(running, headers=headers), 401, "SC-651")


def test_the_token_of_a_jvm_is_none(shown):
    """The token of Neo4j, which lies beside that for HTTP, opens no call."""
    other = (shown.home / "run" / "token").read_text().strip()

    for path in GUARDED:
        answer = shown.http.get(path, headers={"Authorization": f"Bearer {other}"})
        refused(answer, 401, "SC-651")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0", ""])
def test_a_name_that_was_bound_to_this_machine_is_refused(shown, host):
    """DNS rebinding: a page whose own name means 127.0.0.1 reads nothing of the console."""
    headers = {**shown.bearer, "Host": host}
    for path in (*PUBLIC, *GUARDED):
        refused(shown.http.get(path, headers=headers), 403, "SC-652")
    origin = {"Origin": f"http://{host}"}
    refused(shown.http.post("/v1/calls/x/cancel", headers={**headers, **origin}), 403, "SC-652")


def test_no_other_page_may_hold_it(shown):
    """Not in a frame (clickjacking), not as script, style or image, not as a window it opened."""
    for path in PUBLIC:
        told = shown.http.get(path).headers
        assert "frame-ancestors 'none'" in told["content-security-policy"]
        assert told["x-frame-options"] == "DENY"
        assert told["cross-origin-resource-policy"] == "same-origin"
        assert told["cross-origin-opener-policy"] == "same-origin"


def test_nothing_written_into_it_would_run(shown):
    """Scripts come from its own address alone, and forms, frames, plugins and base from nowhere."""
    for path in PUBLIC:
        told = shown.http.get(path).headers
        policy = dict(
            each.split(maxsplit=1) for each in told["content-security-policy"].split("; ")
        )
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == "'none'"
        assert told["x-content-type-options"] == "nosniff"


def test_nothing_of_it_is_kept_by_the_browser(shown):
    """Neither page nor calls stay in a cache, and no address of it is told to others."""
    for path in (*PUBLIC, *GUARDED):
        assert shown.http.get(path, headers=shown.bearer).headers["cache-control"] == "no-store"
    assert shown.http.get("/").headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in shown.http.get("/").headers


def test_what_everybody_may_read_holds_no_secret(shown):
    """Page, style and script hold no token, no user, no call's id and no text of an error."""
    begun = shown.begin(user="whispered-user")
    failed = shown.call("shown.fail", "a whispered text")
    [told] = shown.calls()["running"]
    texts = "".join(shown.http.get(path).text for path in PUBLIC)

    for secret in (shown.token, "whispered", told["callId"], failed["id"], str(shown.home)):
        assert secret not in texts
    shown.state.go.set()
    begun.reply()
