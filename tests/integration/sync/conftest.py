"""Consumers in processes of their own, between a real Redis and the shared server."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from fix_waiting import wait_until
from integration.sync.carrying import Carrying

from sidecypher_procedures.sync.connection import open_async_redis
from sidecypher_procedures.sync.dead_letters import list_dead
from sidecypher_procedures.sync.publisher import RunPublisher
from sidecypher_procedures.sync.status import read_status

PARTITIONS = 4

PAUSING = Path(__file__).with_name("pausing.py")


class Sync(Carrying):
    """Publishers and consumers of one Redis and the shared server.

    Attributes:
        redis: A client of Redis.
        url: The address of Redis.
    """

    def __init__(self, server, redis_server, session, folder):
        variables = {
            "SIDECYPHER_REDIS_URL": redis_server.url,
            "SIDECYPHER_SYNC_PARTITIONS": str(PARTITIONS),
        }
        super().__init__(server, session, folder / "sync.log", variables)
        self.redis = redis_server.client
        self.url = redis_server.url
        self.publisher = RunPublisher.connect(redis_server.url, partitions=PARTITIONS)

    def start(self, **variables):
        """Start a consumer; return its process."""
        return self.launch(sys.executable, "-m", "sidecypher", "sync", "run", **variables)

    def producer(self):
        """Start a process that publishes the events that it reads; see `publishing`."""
        process = psutil.Popen(
            [sys.executable, Path(__file__).with_name("publishing.py")],
            env=os.environ | self.variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.started.append(process)
        return process

    def command(self, *arguments):
        """Run a command of `sidecypher sync`; return what it printed as JSON."""
        done = self._server.command("sync", *arguments, "--json", **self.variables)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def status(self):
        """Return the state of each partition."""
        return self._in_redis(lambda redis: read_status(redis, PARTITIONS))

    def dead(self, run=None):
        """Return the dead letters of a run, or all of them."""
        return self._in_redis(lambda redis: list_dead(redis, PARTITIONS, run))

    def _in_redis(self, work):
        async def opened():
            async with open_async_redis(self.url) as redis:
                return await work(redis)

        return asyncio.run(opened())

    def publish(self, run, content, **more):
        return self.publisher.publish(run, {"type": "userMessage", "content": content, **more})

    def stop(self):
        self.publisher.close()
        super().stop()


@pytest.fixture
def sync(server, redis_server, session, tmp_path):
    found = Sync(server, redis_server, session, tmp_path)
    yield found
    found.stop()


@pytest.fixture
def paused(sync):
    """Start a consumer that is paused before a step until the block ends, and then finds out."""

    def is_loss(line):
        return "sync.lease_lost" in line and '"partition"' in line

    @contextmanager
    def start(method):
        process = sync.launch(sys.executable, str(PAUSING), method)
        wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)
        wait_until(lambda: any(map(is_loss, sync.log.splitlines())))

    return start


@pytest.fixture
def refused_text(driver):
    """Text of messages that a trigger refuses, as one of a user may."""
    text = f"refused {secrets.token_hex(8)}"
    name = {"name": text}
    driver.execute_query(
        "CALL apoc.trigger.install('neo4j', $name, $statement, {phase: 'before'})",
        name,
        statement=f"""
            UNWIND $createdNodes AS n
            CALL apoc.util.validate(coalesce(n.content, '') = '{text}', 'A trigger refuses it', [])
            RETURN count(*)
        """,
        database_="system",
    )
    known = "CALL apoc.trigger.list() YIELD name WHERE name = $name RETURN name"
    wait_until(lambda: driver.execute_query(known, name).records)
    yield text
    driver.execute_query("CALL apoc.trigger.drop('neo4j', $name)", name, database_="system")
    wait_until(lambda: not driver.execute_query(known, name).records)
