"""The writing of webhook deliveries, with a stand-in for Neo4j that does what a test wants."""

import asyncio
import contextlib
import sqlite3
from datetime import UTC, datetime

from fix_waiting import wait_until

from sidecypher import BoltClient
from sidecypher_procedures.github.settings import GithubSettings, WebhookSettings
from sidecypher_procedures.github.webhooks.queue import Delivery
from sidecypher_procedures.github.webhooks.writing import Inbox, write_all


class Graph:
    """Stands in for Neo4j: fails with `errors` in turn, and otherwise keeps what it is told.

    What is in `blocked` fails with its error for as long as it is there, and what is `hanging` is
    never answered.
    """

    def __init__(self, *errors):
        self.errors = list(errors)
        self.blocked = {}
        self.hanging = set()
        self.asked = []
        self.written = []
        self.open = asyncio.Event()
        self.open.set()

    async def run(self, _cypher, **params):
        await self.open.wait()
        await asyncio.sleep(0)  # as what answers over a network
        self.asked.append(params["id"])
        if params["id"] in self.hanging:
            await asyncio.Event().wait()
        if self.errors:
            raise self.errors.pop(0)
        if params["id"] in self.blocked:
            raise self.blocked[params["id"]]
        self.written.append(params["id"])


class Context:
    """What a sidecar with this graph offers, with a log that is kept."""

    def __init__(self, home, graph, secret="a secret"):
        self.home = home
        self.graph = graph
        self.log = self
        self.lines = []
        self.inbox = Inbox()
        settings = WebhookSettings(GithubSettings(webhook_secret=secret))
        self._made = {BoltClient: graph, Inbox: self.inbox, WebhookSettings: settings}

    def resource(self, kind):
        return self._made[kind]

    def error(self, event, **facts):
        self.lines.append((event, facts))

    warning = error

    async def put(self, names, repository=""):
        for name in names:
            await self.inbox.put(delivery(name, repository=repository), self.home)

    def stored(self):
        """Return the ids in the file, in its order."""
        with contextlib.closing(sqlite3.connect(self.home / "webhooks.sqlite")) as file:
            return [id_ for (id_,) in file.execute("SELECT id FROM delivery ORDER BY place")]

    @contextlib.asynccontextmanager
    async def writing(self):
        task = asyncio.create_task(write_all(self))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})
            await self.inbox.stop()

    async def written(self):
        """Write all that is stored."""
        async with self.writing():
            await until(lambda: not self.stored())


def delivery(name, size=2, repository=""):
    at = datetime(2026, 1, 2, tzinfo=UTC)
    return Delivery(name, "issues", b"x" * size, at, repository=repository)


async def until(condition):
    """Wait for what the writing does."""
    await asyncio.to_thread(wait_until, condition)
