"""The sidecar as a process: when it is there, how it ends, what it leaves behind."""

import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fix_waiting import wait_until

from sidecypher.errors import CallError
from sidecypher.loading import load
from sidecypher.rendezvous import read_rendezvous, running_sidecars
from sidecypher.transport.memory import Client
from sidecypher.transport.py4j import escape, unescape

PROCEDURES = """
    import asyncio
    from collections.abc import Iterator
    from sidecypher import Row, procedure

    class Text(Row):
        value: str

    class Number(Row):
        value: int

    @procedure("test.echo")
    def echo(value: str) -> Text:
        return Text(value=value)

    @procedure("test.wait")
    def wait(pipe: str) -> Text:
        with open(pipe) as writer:  # opens when the test opens the other end
            return Text(value=writer.read())

    @procedure("test.sleep")
    async def sleep(pipe: str) -> Text:
        open(pipe).close()
        await asyncio.sleep(60)
        return Text(value="")

    @procedure("test.count")
    def count() -> Iterator[Number]:
        for value in range(100):
            yield Number(value=value)
"""


class Running:
    """A real `sidecypher serve`, and what its home shows."""

    def __init__(self, home, environment, *arguments):
        self.home = home
        self.run_dir = home / "run"
        self.log = home.with_name("log")
        self.procedures = home.with_name("procedures")
        self.procedures.mkdir(exist_ok=True)
        (self.procedures / "bodies.py").write_text(textwrap.dedent(PROCEDURES))
        command = [sys.executable, "-m", "sidecypher", "serve"]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--home", home, "--procedures", self.procedures, *arguments],
                env=environment,
                stdout=log,
                stderr=log,
            )

    def announcement(self):
        """What this process tells of itself, None until it does."""
        assert self.process.poll() is None, self.log.read_text()
        found = running_sidecars(self.run_dir)
        return next((each for each in found if each.pid == self.process.pid), None)

    def client(self):
        """A caller over a connection of its own."""
        found = self.announcement()
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
        plain = socket.create_connection((found.host, found.port), 10)
        connection = tls.wrap_socket(plain)
        lines = connection.makefile("rb")
        connection.sendall(b"A\n" + (self.run_dir / "token").read_bytes())
        assert lines.readline() == b"!yv\n"

        def send(method, payload):
            connection.sendall(b"c\nt\n%s\ns%s\ne\n" % (method.encode(), escape(payload)))
            return unescape(lines.readline().removeprefix(b"!ys").removesuffix(b"\n"))

        signatures = {each.name: each.entry.signature for each in load([self.procedures]).registry}
        return Client(send, signatures), (lines, connection)

    def ready(self, http):
        return httpx.get(f"http://127.0.0.1:{http}/readyz?verbose", trust_env=False)

    def logged(self):
        """The structured lines of the log so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def sidecar(tmp_path, clean_environment):
    """Start sidecars on one home; each is ready when it is returned, and killed at the end."""
    started = []

    def start(*arguments, wait=True, **variables):
        found = Running(tmp_path / "home", clean_environment | variables, *arguments)
        started.append(found)
        if wait:
            wait_until(found.announcement, 30)
        return found

    yield start
    for found in started:
        found.process.kill()
        found.process.wait()


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture
def caller():
    """Call procedures in the background."""
    with ThreadPoolExecutor(4) as pool:
        yield lambda client, *call: pool.submit(lambda: list(client.rows(*call)))


def close(*held):
    for each in held:
        each.close()


def test_a_sidecar_is_there_once_its_file_is_and_gone_with_it(sidecar):
    """`sidecar.json` is private and tells the truth; SIGTERM ends with 0 and takes it away."""
    running = sidecar()
    found = running.announcement()

    assert stat.S_IMODE((running.run_dir / "sidecar.json").stat().st_mode) == 0o600
    assert len(bytes.fromhex(read_rendezvous(running.run_dir).fingerprint)) == 32
    assert found.host == "127.0.0.1"
    answer = running.ready(found.http)
    assert (
        answer.text == "[+]event loop ok\n[+]procedures ok\n[+]bodies ok\n[+]workers ok\n"
        "[+]not stopping ok\nok\n"
    )
    client, held = running.client()
    assert list(client.rows("test.echo", "there")) == [["there"]]
    assert (
        b"sidecypher_connections 1.0"
        in httpx.get(f"http://127.0.0.1:{found.http}/metrics", trust_env=False).content
    )

    running.process.send_signal(signal.SIGTERM)

    assert running.process.wait(10) == 0
    close(*held)
    assert not (running.run_dir / "sidecar.json").exists()
    events = [line["event"] for line in running.logged()]
    assert events[0] == "sidecar ready"
    assert events[-1] == "sidecar stopped"
    assert (running.run_dir / "token").read_text().strip() not in running.log.read_text()


def test_a_call_in_flight_ends_within_the_grace_and_new_ones_are_refused(sidecar, pipe, caller):
    """After SIGTERM the call that runs gets its rows, and no other one is started."""
    running = sidecar()
    http = running.announcement().http
    busy, held_busy = running.client()
    free, held_free = running.client()
    page = free.rows("test.count")
    assert next(page) == [0]
    call = caller(busy, "test.wait", str(pipe))

    with pipe.open("w") as writer:
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not (running.run_dir / "sidecar.json").exists())
        answer = running.ready(http)
        with pytest.raises(CallError, match="The sidecar is stopping") as caught:
            list(free.rows("test.echo", "late"))
        rest = list(page)
        writer.write("finished")

    assert call.result(10) == [["finished"]]
    assert running.process.wait(10) == 0
    assert (answer.status_code, "[-]not stopping failed" in answer.text) == (503, True)
    assert (caught.value.code, caught.value.retryable) == ("SC-210", True)
    assert len(rest) == 99
    close(*held_busy, *held_free)


def test_calls_that_do_not_end_are_given_up_after_the_grace(sidecar, pipe, caller):
    """Bodies that outlive the grace, sync and async, keep no process from ending with 0."""
    running = sidecar(SIDECYPHER_SHUTDOWN_SECONDS="0.1")
    one, held_one = running.client()
    two, held_two = running.client()
    sleeping = caller(one, "test.sleep", str(pipe))
    pipe.open("w").close()
    waiting = caller(two, "test.wait", str(pipe))

    with pipe.open("w"):
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(10) == 0

    assert sleeping.exception(10) is not None
    assert waiting.exception(10) is not None
    close(*held_one, *held_two)


def test_a_second_signal_ends_at_once(sidecar, pipe, caller):
    """Whoever asks twice does not wait for the grace."""
    running = sidecar(SIDECYPHER_SHUTDOWN_SECONDS="300")
    client, held = running.client()
    call = caller(client, "test.wait", str(pipe))

    with pipe.open("w"):
        running.process.send_signal(signal.SIGTERM)
        wait_until(lambda: not (running.run_dir / "sidecar.json").exists())
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(10) == 128 + signal.SIGTERM

    assert call.exception(10) is not None
    close(*held)


def test_a_second_sidecar_joins_the_first_one(sidecar):
    """Sidecars of one run folder serve side by side, and any of them may leave."""
    first, second = sidecar(), sidecar()
    own = [each.announcement() for each in (first, second)]

    assert read_rendezvous(first.run_dir).sidecars == own
    for each in (first, second):
        client, held = each.client()
        assert list(client.rows("test.echo", "there")) == [["there"]]
        close(*held)
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(10) == 0
    assert read_rendezvous(first.run_dir).sidecars == own[1:]


def test_a_killed_sidecar_is_followed_by_one_with_the_same_credentials(sidecar, tmp_path):
    """What `kill -9` leaves behind is replaced; a module broken since is named and left out."""
    first = sidecar()
    before = read_rendezvous(first.run_dir)
    first.process.kill()
    first.process.wait()
    assert read_rendezvous(first.run_dir) == before
    assert running_sidecars(first.run_dir) == []

    (tmp_path / "procedures" / "bad.py").write_text("def f(:\n")
    second = sidecar()
    after = second.announcement()

    assert read_rendezvous(second.run_dir).sidecars == [after]
    assert after.generation != before.sidecars[0].generation
    assert read_rendezvous(second.run_dir).fingerprint == before.fingerprint
    assert second.ready(after.http).status_code == 200
    [left_out] = [line for line in second.logged() if line["event"] == "module left out"]
    assert (left_out["module"], left_out["level"]) == ("bad.py", "error")
    assert "syntax error in line 1" in left_out["reason"]
    metrics = httpx.get(f"http://127.0.0.1:{after.http}/metrics", trust_env=False).text
    assert "sidecypher_load_failures 1.0" in metrics


def test_a_port_in_use_ends_with_one_clear_error(sidecar):
    """A taken port is told with the option that changes it; nothing is left running or written."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        running = sidecar("--port", str(port), wait=False)

        assert running.process.wait(20) == 1

    text = running.log.read_text()
    assert f"listen on port {port}: Address already in use [SC-602]" in text
    assert "`--port`" in text
    assert "Traceback" not in text
    assert not (running.run_dir / "sidecar.json").exists()
