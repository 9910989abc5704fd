"""Webhooks of an author's own on the sidecar's HTTP side: bounds, failures, reloading."""

import asyncio
import contextlib
import os
import socket
import threading

import httpx
import pytest
from fix_modules import write
from fix_waiting import wait_until

from sidecypher.app import Sidecar
from sidecypher.host.rendezvous import running_sidecars
from sidecypher.host.settings import load_settings
from sidecypher.transport.http import request_bodies as bodies
from sidecypher.transport.http import webhooks
from sidecypher.transport.http.webhooks import MOST_WEBHOOKS

HOOKS = """
import asyncio
import os
from sidecypher import ProcedureError, Steps, WebhookAnswer, step, webhook

@step("demo.step")
def demo() -> str:
    return "done"

@webhook("/webhooks/step")
async def run(request):
    steps = request.resource(Steps)
    context = steps.context(session_id="s", step_id="a", cycle=1)
    return WebhookAnswer(200, await steps.get(request.body.decode()).run(context, {}))

@webhook("/webhooks/echo")
async def echo(request):
    told = request.headers.get("X-KG", "") + request.body.decode("latin-1")
    return WebhookAnswer(200, told)

@webhook("/webhooks/wait")
async def wait(request):
    await asyncio.sleep(60)

@webhook("/webhooks/block")
async def block(request):
    with open(request.body) as pipe:  # blocks, as no webhook should, until the test opens its end
        return WebhookAnswer(200, pipe.read())

@webhook("/webhooks/hold")
async def hold(request):
    with open(request.body + b".begun", "a") as begun:
        begun.write(".")
    while not os.path.exists(request.body):  # until the test makes the file
        await asyncio.sleep(0.01)
    return WebhookAnswer(200)

def check(headers):
    return None if "x-kg" in headers else WebhookAnswer(401)

@webhook("/webhooks/checked", check=check)
async def checked(request):
    return WebhookAnswer(200)

def verify(request):
    return None if request.body == b"signed" else WebhookAnswer(401)

@webhook("/webhooks/verified", verify=verify)
async def verified(request):
    return WebhookAnswer(200)

@webhook("/webhooks/unsure", verify=lambda request: request.body == b"signed")
async def unsure(request):
    return WebhookAnswer(200)

@webhook("/webhooks/unchecked", check=lambda headers: True)
async def unchecked(request):
    return WebhookAnswer(200)

@webhook("/webhooks/silent")
async def silent(request):
    return WebhookAnswer(204, "stored")

@webhook("/webhooks/fail")
async def fail(request):
    raise ValueError("a secret")

@webhook("/webhooks/refuse")
async def refuse(request):
    raise ProcedureError("Not this one", code="kg.no", hint="Another.")

@webhook("/webhooks/exit")
async def exit(request):
    raise SystemExit(3)

@webhook("/webhooks/deny")
async def deny(request):
    return WebhookAnswer(401)

@webhook("/webhooks/none")
async def none(request):
    return 200
"""

LATER = """
import asyncio
from sidecypher import WebhookAnswer, background, step, webhook

async def note(context, name=""):
    try:
        (context.home / f"begun{{name}}-{version}").touch()
        await asyncio.sleep(60)
    finally:
        (context.home / f"ended{{name}}-{version}").touch()

@background("demo.alone")
async def alone(context):
    await note(context, "-alone")

@step("demo.later")
def later_step() -> str:
    return "version {version}"

@webhook("/webhooks/later", background=note)
async def later(request):
    return WebhookAnswer(204)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the sidecar's procedures."""
    folder = tmp_path_factory.mktemp("procedures")
    write(folder, "hooks.py", HOOKS)
    return folder


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory, folder):
    """A sidecar in this process."""
    home = tmp_path_factory.mktemp("home")
    sidecar = Sidecar(load_settings({"home": home, "procedures": [folder]}, {}))
    sidecar.start()
    [found] = running_sidecars(home / "run")
    sidecar.test_port = found.http
    yield sidecar
    sidecar.stop()


@pytest.fixture
def http(sidecar):
    base = f"http://127.0.0.1:{sidecar.test_port}"
    with httpx.Client(base_url=base, trust_env=False, verify=False, timeout=30) as client:
        yield client


def test_headers_and_bytes_arrive_as_they_were_sent(http):
    """Names of headers without case, and every byte of the body."""
    answer = http.post("/webhooks/echo", content=bytes(range(256)), headers={"x-kg": "a"})

    assert answer.status_code == 200
    assert answer.text == "a" + bytes(range(256)).decode("latin-1") + "\n"


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("refuse", 422, "kg.no"),
        ("fail", 500, "SC-000"),
        ("exit", 500, "SC-202"),
        ("none", 500, "SC-205"),
        ("unsure", 500, "SC-205"),
        ("unchecked", 500, "SC-205"),
    ],
)
def test_a_webhook_that_fails_is_told_as_a_problem(http, name, status, code):
    """An author's error with its text, any other without; and the sidecar goes on."""
    answer = http.post(f"/webhooks/{name}")

    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert "a secret" not in answer.text
    assert http.post("/webhooks/echo").status_code == 200


def test_an_answer_that_may_have_no_body_has_none(http, capsys):
    """HTTP ends a 204 after its headers, so its text is not sent."""
    answer = http.post("/webhooks/silent")

    assert (answer.status_code, answer.content) == (204, b"")
    assert http.post("/webhooks/echo").status_code == 200
    assert "request failed" not in capsys.readouterr().err


def test_a_webhook_that_takes_too_long_is_ended(http, monkeypatch):
    """After its time the sender is told, and the function is cancelled."""
    monkeypatch.setattr(webhooks, "WEBHOOK_SECONDS", 0.05)

    answer = http.post("/webhooks/wait")

    assert (answer.status_code, answer.json()["code"]) == (504, "SC-213")


def test_a_webhook_that_blocks_does_not_block_health(http, tmp_path, sidecar):
    """It runs where procedures do; health and metrics have a loop of their own."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    answers = []
    sender = threading.Thread(
        target=lambda: answers.append(
            httpx.post(
                f"http://127.0.0.1:{sidecar.test_port}/webhooks/block",
                content=os.fsencode(pipe),
                trust_env=False,
                timeout=30,
            )
        )
    )
    sender.start()
    with pipe.open("w") as end:  # opens when the webhook has opened its end
        assert http.get("/livez").status_code == 200
        assert http.get("/metrics").status_code == 200
        end.write("read")
    sender.join()

    assert answers[0].text == "read\n"


@pytest.fixture
def full(sidecar, http, monkeypatch, tmp_path):
    """Take all places, until the test makes the file that is given."""
    end, begun = tmp_path / "end", tmp_path / "end.begun"
    peers = [
        threading.Thread(target=http.post, args=("/webhooks/hold",), kwargs={"content": str(end)})
        for _ in range(MOST_WEBHOOKS)
    ]
    for peer in peers:
        peer.start()
    # A request of this test that asked for a place meanwhile might keep one of them out.
    wait_until(lambda: begun.exists() and begun.stat().st_size == MOST_WEBHOOKS)
    monkeypatch.setattr(webhooks, "PLACE_SECONDS", 0.05)
    yield end
    end.touch()
    for peer in peers:
        peer.join()


def test_only_so_many_are_answered_at_once(full, http):
    """Further ones are refused after a while, and told when to come again."""
    refused = _refused(http)

    assert (refused.json()["code"], refused.headers["retry-after"]) == ("SC-654", "1")


def test_one_more_waits_for_a_place(full, http, monkeypatch):
    """A burst of senders is answered one after the other, and nobody has to send again."""
    monkeypatch.setattr(webhooks, "PLACE_SECONDS", 60.0)
    answers = []
    late = threading.Thread(target=lambda: answers.append(http.post("/webhooks/echo")))
    late.start()
    assert http.get("/livez").status_code == 200
    assert answers == []

    full.touch()
    late.join()

    assert [each.status_code for each in answers] == [200]


def test_what_is_not_signed_takes_no_place(full, http, monkeypatch):
    """A request that `verify` refuses does not wait for a place; one that it accepts does."""
    monkeypatch.setattr(webhooks, "PLACE_SECONDS", 60.0)
    answers = []

    def post():
        answers.append(http.post("/webhooks/verified", content=b"signed").status_code)

    late = threading.Thread(target=post)
    late.start()
    refused = [http.post("/webhooks/verified", content=b"x").status_code for _ in range(20)]
    assert (refused, answers) == (20 * [401], [])

    full.touch()
    late.join()

    assert answers == [200]


def test_large_bodies_of_strangers_do_not_hold_up_small_ones(sidecar, http, monkeypatch):
    """While large bodies wait for the verification of their signature, small ones are answered."""
    monkeypatch.setattr(webhooks, "SMALL_BYTES", 10)
    monkeypatch.setattr(sidecar._webhooks, "_large", asyncio.Semaphore(0))
    large = threading.Thread(
        target=http.post, args=("/webhooks/verified",), kwargs={"content": 11 * b"x"}
    )
    large.start()
    try:
        assert http.post("/webhooks/verified", content=b"signed").status_code == 200
        assert large.is_alive()
    finally:
        sidecar._webhooks._large.release()
        http.get("/livez")  # wakes the loop of the server
        large.join()


def _refused(http):
    answer = http.post("/webhooks/echo")
    return answer if answer.status_code == 503 else None


@pytest.fixture
def held(sidecar):
    """Open connections that send headers and hold back the last byte of so long a body."""
    with contextlib.ExitStack() as opened:

        def hold(size):
            peer = socket.create_connection(("127.0.0.1", sidecar.test_port), 30)
            opened.enter_context(peer)
            head = f"POST /webhooks/echo HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n"
            peer.sendall(head.encode() + (size - 1) * b"x")
            return peer

        yield hold


def _status(peer):
    with peer.makefile("rb") as answer:
        return int(answer.readline().split()[1])


def test_a_body_that_is_held_back_takes_no_place(held, http):
    """Whoever has sent all of it is answered meanwhile."""
    peers = [held(2) for _ in range(2 * MOST_WEBHOOKS)]

    assert http.post("/webhooks/echo").status_code == 200

    for peer in peers:
        peer.sendall(b"x")
        assert _status(peer) == 200


def test_the_largest_body_gives_way_when_there_is_no_room(held, sidecar, http, monkeypatch):
    """It is refused in the middle, and smaller ones are read to their end."""
    monkeypatch.setattr(sidecar._webhooks._body_memory, "_left", 100_000)
    small, large = held(1000), held(100_000)

    assert _status(large) == 503
    small.sendall(b"x")
    assert _status(small) == 200
    assert http.post("/webhooks/echo", content=50_000 * b"x").status_code == 200
    wait_until(lambda: sidecar._webhooks._body_memory._left == 100_000)


def test_a_request_is_refused_by_its_headers_alone(sidecar):
    """What the webhook's `check` refuses is answered before the body has come."""
    with socket.create_connection(("127.0.0.1", sidecar.test_port), 30) as peer:
        peer.sendall(b"POST /webhooks/checked HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        assert _status(peer) == 401


def test_a_body_that_does_not_come_in_time_is_refused(sidecar, monkeypatch):
    """A sender that stops in the middle is told, and its place is free again."""
    monkeypatch.setattr(bodies, "READ_SECONDS", 0.05)
    with socket.create_connection(("127.0.0.1", sidecar.test_port), 30) as peer:
        peer.sendall(b"POST /webhooks/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx")
        assert peer.makefile("rb").readline().startswith(b"HTTP/1.1 408 ")


def test_a_refusal_is_counted(http):
    """`/metrics` counts what webhooks refuse."""

    def count():
        lines = http.get("/metrics").text.splitlines()
        found = [each for each in lines if "_total{" in each and 'reason="webhook"' in each]
        return sum(float(line.split()[-1]) for line in found)

    before = count()
    assert http.post("/webhooks/deny").status_code == 401

    assert count() == before + 1


def test_a_saved_webhook_is_in_service_after_a_reload(folder, sidecar, http):
    """A path that is new is there, what was there before stays, and backgrounds are replaced."""
    assert http.post("/webhooks/later").status_code == 404
    home = sidecar._settings.home

    write(folder, "later.py", LATER.format(version=1))
    sidecar._inspector.reload("", 10)

    assert http.post("/webhooks/later").status_code == 204
    assert http.post("/webhooks/echo").status_code == 200
    wait_until(lambda: (home / "begun-1").exists() and (home / "begun-alone-1").exists())
    assert not (home / "ended-1").exists()
    assert http.post("/webhooks/step", content="demo.later").text == "version 1\n"

    write(folder, "later.py", LATER.format(version=2))
    sidecar._inspector.reload("", 10)

    wait_until(lambda: (home / "ended-1").exists() and (home / "begun-2").exists())
    wait_until(lambda: (home / "ended-alone-1").exists() and (home / "begun-alone-2").exists())
    assert http.post("/webhooks/step", content="demo.later").text == "version 2\n"
    assert http.post("/webhooks/step", content="demo.step").text == "done\n"
