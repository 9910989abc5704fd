"""S32: strangers who hold back the bodies of webhooks, to keep those with the secret out."""

import asyncio
import contextlib
import socket

import httpx
import psutil
import pytest
from fix_waiting import awaited
from fix_webhooks import sign

STRANGERS = 60
BODY = b'{"action": "opened", "repository": {"id": 1}, "pad": "' + 2000 * b"x" + b'"}'


def _headers(number):
    return {
        "content-type": "application/json",
        "x-github-event": "issues",
        "x-github-delivery": f"delivery-{number}",
        "x-hub-signature-256": sign(BODY),
    }


@pytest.fixture
def port(webhook_sidecar):
    return webhook_sidecar.announcement().http


def _client(port):
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}",
        trust_env=False,
        verify=False,
        timeout=30,
        # A silent connection may be closed for one of another caller.
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
    )


async def _hold(port, chunk, *, seconds):
    """Send headers that look like GitHub's, and then a chunk at a time; again when cut off."""
    loop = asyncio.get_running_loop()
    while True:
        with contextlib.suppress(OSError), socket.socket() as peer:
            peer.setblocking(False)
            await loop.sock_connect(peer, ("127.0.0.1", port))
            await loop.sock_sendall(
                peer,
                b"POST /webhooks/github HTTP/1.1\r\nHost: x\r\nContent-Length: 24000000\r\n"
                b"Content-Type: application/json\r\nX-GitHub-Event: push\r\n"
                b"X-GitHub-Delivery: x\r\nX-Hub-Signature-256: sha256=" + 64 * b"0" + b"\r\n\r\n",
            )
            while True:
                await loop.sock_sendall(peer, chunk)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await loop.sock_recv(peer, 1)
                        break
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def _strangers(port, number, chunk, *, seconds=0.5):
    tasks = [asyncio.create_task(_hold(port, chunk, seconds=seconds)) for _ in range(number)]
    await asyncio.sleep(1)  # the attack itself takes time, no condition of it can be seen
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


@pytest.mark.slow
@pytest.mark.parametrize("number", [STRANGERS, 300])
@awaited
async def test_strangers_who_send_slowly_keep_nobody_out(port, number):
    """Each signed delivery is taken while so many connections send a byte now and then."""
    async with _strangers(port, number, b" "), _client(port) as github:
        answers = []
        for each in range(8):
            headers = _headers(each)
            answers.append(await github.post("/webhooks/github", content=BODY, headers=headers))
            await asyncio.sleep(0.5)

    assert [each.status_code for each in answers] == 8 * [202]


@pytest.mark.slow
@awaited
async def test_strangers_who_send_much_keep_nobody_out(port, webhook_sidecar):
    """What unfinished bodies take stays bounded, and the largest of them give way."""
    process = psutil.Process(webhook_sidecar.process.pid)
    before = process.memory_info().rss
    async with _strangers(port, STRANGERS, 1_000_000 * b" ", seconds=0.1), _client(port) as github:
        answers, most = [], 0
        for each in range(8):
            headers = _headers(each)
            answers.append(await github.post("/webhooks/github", content=BODY, headers=headers))
            most = max(most, process.memory_info().rss - before)
            await asyncio.sleep(0.5)

    assert [each.status_code for each in answers] == 8 * [202]
    assert most < 400 * 2**20


@awaited
async def test_a_burst_of_deliveries_is_taken(port):
    """200 signed deliveries of 2 kB at once are all answered by 202."""
    async with _client(port) as github:
        posts = [
            github.post("/webhooks/github", content=BODY, headers=_headers(f"burst-{number}"))
            for number in range(200)
        ]
        answers = await asyncio.gather(*posts)

    assert {each.status_code for each in answers} == {202}
