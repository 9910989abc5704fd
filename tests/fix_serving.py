"""A real `sidecypher serve` with a home and procedures of its own, without Neo4j."""

import contextlib
import json
import os
import textwrap

import httpx
import pytest
from fix_forked import Forked
from fix_waiting import wait_until
from fix_webhooks import SECRET

from sidecypher.host.rendezvous import running_sidecars
from sidecypher.loading.loader import load
from sidecypher.sdk.call import no_transaction
from sidecypher.testing import wire
from sidecypher.transport.memory import Client

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
        options = ("--home", home, "--procedures", self.procedures, *arguments)
        self.process = Forked(environment, "serve", *options, output=self.log)

    def announcement(self):
        """What this process tells of itself, None until it does."""
        assert self.process.poll() is None, self.log.read_text()
        found = running_sidecars(self.run_dir)
        return next((each for each in found if each.pid == self.process.pid), None)

    @contextlib.contextmanager
    def client(self):
        """A caller over a connection of its own."""
        # First, since the sidecar gives a connection five seconds to say who it is.
        signatures = {each.name: each.entry.signature for each in load([self.procedures]).registry}
        token = (self.run_dir / "token").read_bytes().strip()
        opened = wire.connect_unix(self.announcement().socket)
        line = wire.WireClient(opened, token, no_transaction)
        yield Client(line.ask, signatures)
        line.close()

    def ready(self, http):
        return httpx.get(f"http://127.0.0.1:{http}/readyz?verbose", trust_env=False)

    def logged(self):
        """The structured lines of the log so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def start_sidecar(tmp_path, clean_environment):
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


@pytest.fixture(scope="module")
def webhook_sidecar(tmp_path_factory):
    """A sidecar with the secret of the webhooks, and without Neo4j."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SIDECYPHER")
    }
    home = tmp_path_factory.mktemp("webhooks") / "home"
    running = Running(home, environment | {"SIDECYPHER_GITHUB_WEBHOOK_SECRET": SECRET})
    wait_until(running.announcement, 30)
    yield running
    running.process.kill()
    running.process.wait()
