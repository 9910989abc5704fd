"""A GitHub, or a proxy before it, whose answers are for somebody else or grow when unpacked."""

import asyncio
import gzip
import json
import socket
import threading
import zlib
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecypher_procedures.github import errors
from sidecypher_procedures.github.model import Kind, Target

FIRST = Target(Kind.ISSUE, "octocat", "Hello-World", 1)
SECOND = Target(Kind.ISSUE, "octocat", "Hello-World", 2)
REPOSITORY = Target(Kind.REPOSITORY, "octocat", "Hello-World")
PULL = Target(Kind.PULL_REQUEST, "octocat", "Hello-World", 1)


def issue(number, repository="octocat/Hello-World"):
    url = f"https://github.com/{repository}/issues/{number}"
    return {"id": number, "number": number, "title": str(number), "state": "open", "html_url": url}


def response(body):
    content = json.dumps(body).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    return head.encode() + b"\r\n\r\n" + content


@contextmanager
def speaking(answers):
    """Answer each request by the next bytes, on whatever connection; give the URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve(peer):
            with peer, peer.makefile("rb") as lines:
                while line := lines.readline():
                    if line == b"\r\n":
                        peer.sendall(answers.pop(0))

        def accept():
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(peer,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_what_is_behind_an_answer_is_nobodys_answer(client_of) -> None:
    """A connection on which more came than the answer is not used again."""
    answers = [response(issue(1)) + response(issue(2) | {"title": "smuggled"}), response(issue(2))]

    async def scenario(url) -> None:
        async with client_of(url) as client:
            assert (await client.get(FIRST)).fields["title"] == "1"
            assert (await client.get(SECOND)).fields["title"] == "2"

    with speaking(answers) as url:
        asyncio.run(scenario(url))
    assert answers == []


@pytest.mark.parametrize(
    ("target", "answer"),
    [
        (FIRST, issue(2)),
        (FIRST, {"id": 2, "number": 2, "title": "2", "state": "open"}),
        (FIRST, issue(1, "octocat/Other")),
        (PULL, issue(2)),
        (REPOSITORY, {"id": 1, "html_url": "https://github.com/octocat/Other"}),
    ],
    ids=["number", "number without a page", "repository", "pull request", "name"],
)
def test_an_answer_about_another_one_is_an_error_and_not_kept(
    github, answering, client_of, target, answer
) -> None:
    """Without a redirect, what has another number or name was not asked for."""

    async def scenario() -> None:
        async with client_of(github.url) as client:
            github.answer = lambda _: answering.of(answer)
            with pytest.raises(errors.UnusableAnswer, match="is about another one"):
                await client.get(target)
            github.answer = lambda _: answering(404, body=b"{}")
            for each in (target, SECOND):
                with pytest.raises(errors.NotFound):
                    await client.get(each, max_age=1000)

    asyncio.run(scenario())


def test_names_are_compared_without_case(github, answering, client_of) -> None:
    """GitHub answers in the case that the repository has."""
    github.answer = lambda _: answering.of(issue(1, "OctoCat/hello-world"))

    async def scenario() -> None:
        async with client_of(github.url) as client:
            assert (await client.get(FIRST)).fields["number"] == 1

    asyncio.run(scenario())


def _memory():
    """Return the most memory that this process has ever had, in bytes."""
    [line] = [x for x in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in x]
    return int(line.split()[1]) * 1024


def _bomb(size):
    packing = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    parts = [packing.compress(bytes(2**20)) for _ in range(size >> 20)]
    return b"".join([*parts, packing.flush()])


@pytest.mark.parametrize("layers", [1, 2])
def test_an_answer_that_grows_takes_no_memory(github, answering, client_of, layers) -> None:
    """512 MiB in few bytes are refused; of codings, one is taken and no second one."""
    body = _bomb(512 * 2**20)
    for _ in range(layers - 1):
        body = gzip.compress(body)
    headers = {"Content-Encoding": ", ".join(["gzip"] * layers)}
    github.answer = lambda _: answering(headers=headers, body=body)
    Path("/proc/self/clear_refs").write_text("5")
    before = _memory()

    async def scenario() -> None:
        async with client_of(github.url) as client:
            with pytest.raises(errors.UnusableAnswer):
                await client.get(FIRST)

    asyncio.run(scenario())
    assert _memory() - before < 64 * 2**20


def test_what_was_packed_as_asked_for_is_read(github, answering, client_of) -> None:
    """Only gzip is asked for, and only gzip is taken."""
    packed = gzip.compress(json.dumps(issue(1)).encode())

    async def scenario() -> None:
        async with client_of(github.url) as client:
            github.answer = lambda _: answering(headers={"Content-Encoding": "gzip"}, body=packed)
            assert (await client.get(FIRST)).fields["title"] == "1"
            github.answer = lambda _: answering(headers={"Content-Encoding": "br"}, body=packed)
            with pytest.raises(errors.UnusableAnswer, match="not requested"):
                await client.get(FIRST, max_age=0)

    asyncio.run(scenario())
    assert {each.headers["accept-encoding"] for each in github.requests} == {"gzip"}
