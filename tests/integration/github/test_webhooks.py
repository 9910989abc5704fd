"""`POST /webhooks/github` of a real sidecar: who is let in, and what the sender is told."""

import contextlib
import json
import socket
from urllib.parse import urlencode

import httpx
import pytest
from fix_waiting import promised
from fix_webhooks import SECRET, SECRET_PART, Sender, examples, sign

from sidecypher.transport.http.webhooks import WEBHOOK_BYTES

BODY = json.dumps({"action": "opened", "zen": "Ä \u2028 🚀"}, ensure_ascii=False).encode()
ISSUE = json.dumps({"action": "opened", "repository": {"id": 1}, "issue": {"number": 7}}).encode()


@pytest.fixture(scope="module")
def sender_of():
    """Make senders to a sidecar."""
    with contextlib.ExitStack() as made:
        yield lambda sidecar: made.enter_context(
            contextlib.closing(Sender(sidecar.announcement().http))
        )


@pytest.fixture(scope="module")
def sender(webhook_sidecar, sender_of):
    """Sends to the sidecar that has the secret."""
    return sender_of(webhook_sidecar)


def test_every_recorded_payload_is_taken(sender, payloads):
    """GitHub's own examples of all its events, signed, are answered by a 2xx in time."""
    recorded = examples(payloads)
    answers = [
        sender.deliver(event, payload, f"delivery-{number}")
        for number, (event, payload) in enumerate(recorded)
    ]

    assert len(recorded) == 329
    assert {answer.status_code for answer in answers} == {200, 202}
    assert max(answer.elapsed.total_seconds() for answer in answers) < 10


@pytest.mark.slow
def test_every_recorded_payload_is_taken_as_a_form(sender, payloads):
    """The same as GitHub sends it where the content type is a form."""
    answers = [
        sender.post(
            urlencode({"payload": json.dumps(payload, ensure_ascii=False)}).encode(),
            x_github_event=event,
            x_github_delivery=f"delivery-{number}",
            content_type="application/x-www-form-urlencoded",
        )
        for number, (event, payload) in enumerate(examples(payloads))
    ]

    assert {answer.status_code for answer in answers} == {200, 202}


def test_what_happens_to_a_delivery_is_told(sender):
    """The answer, which GitHub shows, says whether the delivery waits, is ignored or was a ping."""
    told = {
        event: sender.post(body, x_github_event=event).text
        for event, body in [("ping", b"{}"), ("issues", ISSUE), ("never_heard_of", BODY)]
    }

    assert told == {
        "ping": "pong\n",
        "issues": "queued\n",
        "never_heard_of": "ignored: it is not about a repository\n",
    }


# The lock


def flipped(content):
    """Yield the bytes with each of their bits flipped."""
    for place in range(8 * len(content)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        yield bytes(changed)


def test_a_flipped_bit_in_the_body_is_refused(sender):
    """What was changed on its way is a 401, whichever bit it is."""
    signature = sign(BODY)
    answers = [sender.post(changed, x_hub_signature_256=signature) for changed in flipped(BODY)]

    assert {answer.status_code for answer in answers} == {401}


def test_a_flipped_bit_in_the_signature_is_refused(sender):
    """No signature but the right one opens, whichever bit of it differs."""
    # A header cannot hold control characters; httpx or the server would refuse those before.
    others = [each for each in flipped(sign(BODY).encode()) if all(31 < b != 127 for b in each)]
    answers = [sender.post(BODY, x_hub_signature_256=changed) for changed in others]

    assert len(answers) > 400
    assert {answer.status_code for answer in answers} == {401}


@pytest.mark.parametrize(
    "signature",
    [
        None,
        "",
        "sha256=",
        "sha256=" + 64 * "0",
        sign(BODY).removeprefix("sha256="),
        sign(BODY).upper(),
        sign(BODY) + " x",
        sign(BODY, digest="sha1"),
        sign(BODY, digest="sha1").replace("sha1", "sha256"),
        sign(BODY, "another secret"),
        sign(BODY, "ein Geheimnis mit Umlauten"),
        sign(b""),
        "sha256=\u00e4\u00f6\u00fc".encode(),
        "sha256=\u00e4".encode("latin-1"),
    ],
    ids=repr,
)
def test_only_the_signature_of_sha256_opens(sender, signature):
    """No, another or an old kind of signature is a 401, in whatever bytes it is written."""
    sha1 = sign(BODY, digest="sha1")

    answer = sender.post(BODY, x_hub_signature_256=signature, x_hub_signature=sha1)

    assert answer.status_code == 401


def test_nothing_is_told_to_who_cannot_sign(sender, webhook_sidecar):
    """An answer and the log of a refusal hold neither the secret nor the right signature."""
    answer = sender.post(BODY, x_hub_signature_256="sha256=" + 64 * "0")

    shown = answer.text + str(answer.headers) + webhook_sidecar.log.read_text()
    assert SECRET_PART not in shown
    assert sign(BODY).removeprefix("sha256=") not in shown
    assert "the sidecar's secret" in answer.text


def test_without_a_secret_the_webhooks_are_off(start_sidecar, sender_of):
    """A sidecar that has no secret answers 404, whoever signs with whatever."""
    sender = sender_of(start_sidecar())

    assert sender.post(BODY).status_code == 404
    assert sender.post(BODY, x_hub_signature_256=sign(BODY, "")).status_code == 404
    assert "SIDECYPHER_GITHUB_WEBHOOK_SECRET" in sender.post(BODY).text


def test_the_secret_may_be_in_a_file(start_sidecar, sender_of, tmp_path):
    """A file of the secret, with the line end that editors add, is as good as the variable."""
    file = tmp_path / "secret"
    file.write_text(SECRET + "\n", encoding="utf-8")
    sender = sender_of(start_sidecar(SIDECYPHER_GITHUB_WEBHOOK_SECRET_FILE=str(file)))

    assert sender.post(ISSUE).status_code == 202
    assert sender.post(ISSUE, x_hub_signature_256=sign(ISSUE, "other")).status_code == 401


@pytest.mark.parametrize("content", [None, "", "\n"])
def test_a_file_without_a_secret_never_opens(start_sidecar, sender_of, tmp_path, content):
    """A missing or empty file is an error, not an empty secret with which anybody could sign."""
    file = tmp_path / "secret"
    if content is not None:
        file.write_text(content)
    sender = sender_of(start_sidecar(SIDECYPHER_GITHUB_WEBHOOK_SECRET_FILE=str(file)))

    answer = sender.post(BODY, x_hub_signature_256=sign(BODY, ""))

    assert (answer.status_code, answer.json()["code"]) == (500, "SC-514")
    assert str(tmp_path) not in answer.text


# What is sent


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b"[]", 400),
        (b"null", 400),
        (b"[" * 100_000, 400),
        (b'{"a": NaN}', 400),
        (b"payload=%7B%7D", 400),
        (b'{"repository": 7, "issue": [], "changes": "x", "action": 7}', 202),
        (b'{"repository": {"id": 1, "owner": [], "name": {}}, "issue": {"number": "x"}}', 202),
        (b'{"repository": {"id": 1, "owner": {"login": "../x"}, "name": ".."}}', 202),
        (b'{"check_run": {"pull_requests": 7}}', 202),
    ],
)
def test_odd_payloads_are_told_or_ignored(sender, body, status):
    """Signed bytes that are no JSON object are a 400; odd fields of an object crash nothing."""
    for event in ("issues", "repository", "check_run"):
        assert sender.post(body, x_github_event=event).status_code == status


@pytest.mark.parametrize(
    "body", [b"", b"payload=", b"payload=%7B", b"x=1", b"&".join([b"a=1"] * 11)]
)
def test_a_form_without_a_payload_is_refused(sender, body):
    """A signed form whose field `payload` is no JSON object is a 400."""
    answer = sender.post(body, content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 400


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"x_github_event": None}, 400),
        ({"x_github_event": "Issues; DROP"}, 400),
        ({"x_github_delivery": None}, 400),
        ({"x_github_delivery": "a b"}, 400),
        ({"x_github_delivery": 101 * "a"}, 400),
        ({"content_type": None}, 415),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "APPLICATION/json; charset=utf-8"}, 202),
        ({"origin": "https://example.com"}, 403),
    ],
    ids=repr,
)
def test_headers_that_github_always_sends_must_be_there(sender, changed, status):
    """A signed delivery without its name, its event or a type that GitHub has is refused."""
    assert sender.post(ISSUE, **changed).status_code == status


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_posts_are_taken(sender, method):
    """Any other method is a 405."""
    assert sender.request(method).status_code == 405


@pytest.mark.parametrize(
    "path", ["/webhooks/", "/webhooks/other", "/webhooks/github/", "/webhooks/GitHub"]
)
def test_other_paths_are_no_webhooks(sender, path):
    """Only the very path of a webhook is one."""
    assert sender.request("POST", path, content=BODY).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/livez",
        "/metrics",
        "/v1/procedures",
        "/webhooks",
        "//webhooks/github",
        "/x/webhooks/github",
    ],
)
def test_a_foreign_host_reaches_webhooks_only(sender, path):
    """The host of another name, which a webhook may have, opens no other path."""
    assert sender.request("GET", path).status_code == 403


def test_a_body_of_26_mb_is_refused(webhook_sidecar):
    """More than 25 MB are a 413, before they are sent or, where no length is told, on the way."""
    url = f"http://127.0.0.1:{webhook_sidecar.announcement().http}/webhooks/github"
    with socket.create_connection(("127.0.0.1", webhook_sidecar.announcement().http), 30) as told:
        told.sendall(
            b"POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: 26000000\r\n"
            b"Content-Type: application/json\r\nX-GitHub-Event: push\r\n"
            b"X-GitHub-Delivery: a\r\nX-Hub-Signature-256: sha256=" + 64 * b"0" + b"\r\n\r\n"
        )
        assert told.makefile("rb").readline().startswith(b"HTTP/1.1 413 ")

    chunks = (bytes(1_000_000) for _ in range(26))
    headers = {
        "content-type": "application/json",
        "x-github-event": "push",
        "x-github-delivery": "a",
        "x-hub-signature-256": sign(b""),
    }
    with httpx.Client(trust_env=False, verify=False) as client:
        assert client.post(url, content=chunks, headers=headers).status_code == 413


def test_a_body_of_25_mb_is_taken(sender):
    """As much as GitHub may send is checked, read and answered."""
    start = b'{"commits": "'
    body = start + (WEBHOOK_BYTES - len(start) - 2) * b"x" + b'"}'

    answer = sender.post(body, x_github_event="push")

    assert (len(body), answer.status_code) == (25_000_000, 202)


# The queue


@pytest.mark.slow
def test_a_delivery_that_waits_is_taken_again(sender):
    """Sent again while it waits for Neo4j, a delivery takes no further place."""
    answers = [sender.post(ISSUE) for _ in range(1100)]

    assert {answer.status_code for answer in answers} == {202}


def test_health_is_readable_while_deliveries_wait(webhook_sidecar, sender):
    """What waits for Neo4j blocks neither health nor further webhooks."""
    sender.post(ISSUE)

    assert webhook_sidecar.ready(webhook_sidecar.announcement().http).status_code == 200
    assert sender.post(b"{}", x_github_event="ping").status_code == 200


def test_a_neo4j_that_says_nothing_holds_up_no_end(start_sidecar, sender_of):
    """A sidecar ends when its grace does while Neo4j accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        sidecar = start_sidecar(
            SIDECYPHER_GITHUB_WEBHOOK_SECRET=SECRET,
            SIDECYPHER_NEO4J_URI=f"bolt://127.0.0.1:{deaf.getsockname()[1]}",
            SIDECYPHER_SHUTDOWN_SECONDS="0.5",
        )
        sender_of(sidecar).post(ISSUE)
        peer, _ = deaf.accept()
        with peer:
            sidecar.process.terminate()

            assert sidecar.process.wait(promised(4)) == 0
