"""S6 in a real browser: what a page of another origin tries, and what comes of it."""

import http.server
import threading

import pytest

ATTACK = """<!doctype html><title>evil</title>
<form id="csrf" method="post" action="{url}/v1/calls/{call}/cancel" target="answer">
<input name="token" value="x"></form><iframe name="answer"></iframe>
<iframe id="frame" src="{url}/"></iframe>
<script src="{url}/v1/calls"></script><script src="{url}/console.js"></script>
<img src="{url}/">
"""

TRY = """async ({url, call, token}) => {
    const told = {};
    const attempt = async (name, path, options) => {
        try { told[name] = (await fetch(url + path, options)).status }
        catch (error) { told[name] = error.name }
    };
    const authorization = {Authorization: `Bearer ${token}`};
    await attempt("read", "/", {});
    await attempt("read blindly", "/", {mode: "no-cors"});
    await attempt("list", "/v1/calls", {headers: authorization});
    await attempt("cancel", `/v1/calls/${call}/cancel`, {method: "POST", headers: authorization});
    await attempt("cancel blindly", `/v1/calls/${call}/cancel`, {method: "POST", mode: "no-cors"});
    return told;
}"""


@pytest.fixture
def evil():
    """Serve a page of another origin; give its address."""
    pages = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *_arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def serve(page):
        pages["/"] = page
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    server.shutdown()
    thread.join()
    server.server_close()


def is_post(answer):
    return answer.request.method == "POST"


@pytest.mark.slow
def test_a_page_of_another_origin_gets_nothing(shown, visit, evil):
    """With the very token and the id of a call, it reads nothing and cancels nothing."""
    begun = shown.begin()
    [told] = shown.calls()["running"]
    facts = {"url": shown.url, "call": told["callId"], "token": shown.token}
    found = visit(evil(ATTACK.format(**facts)))

    with found.page.expect_response(is_post) as posted:
        outcomes = found.page.evaluate(TRY, facts)
    with found.page.expect_response(is_post) as submitted:
        found.page.evaluate("document.getElementById('csrf').submit()")

    assert outcomes == {
        "read": "TypeError", "read blindly": "TypeError", "list": "TypeError",
        "cancel": "TypeError", "cancel blindly": 0,
    }  # fmt: skip
    assert (posted.value.status, submitted.value.status) == (403, 403)
    assert submitted.value.request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert found.page.evaluate("document.getElementById('frame').contentDocument") is None
    frames = [frame.url for frame in found.page.frames if frame.url.startswith(shown.url)]
    assert f"{shown.url}/" not in frames
    assert [each["state"] for each in shown.calls()["running"]] == ["running"]
    shown.state.go.set()
    assert begun.reply()["rows"] == [["gone on"]]
