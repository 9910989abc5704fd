"""Consumers in processes of their own, between a real Redis and the shared server."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from fix_calls import Calls
from fix_waiting import wait_until

from sidecypher_procedures.sync.connection import open_async_redis
from sidecypher_procedures.sync.dead_letters import list_dead
from sidecypher_procedures.sync.publisher import RunPublisher
from sidecypher_procedures.sync.status import read_status

PARTITIONS = 4


class Sync:
    """Publishers and consumers of one Redis and the shared server.

    Attributes:
        redis: A client of Redis.
        url: The address of Redis.
        runs: The `runs` procedures.
    """

    def __init__(self, server, redis_server, session, folder):
        self._server = server
        self.runs = Calls(session, "runs")
        self._log = folder / "sync.log"
        self.redis = redis_server.client
        self.url = redis_server.url
        self.variables = {
            "SIDECYPHER_REDIS_URL": redis_server.url,
            "SIDECYPHER_SYNC_PARTITIONS": str(PARTITIONS),
        }
        self.publisher = RunPublisher.connect(redis_server.url, partitions=PARTITIONS)
        self._started = []

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
        self._started.append(process)
        return process

    def launch(self, *command, **variables):
        """Start a command with the settings of a consumer; return its process."""
        with self._log.open("ab") as output:
            process = psutil.Popen(
                command,
                env=self._server.environ | self.variables | variables,
                stdout=output,
                stderr=output,
            )
        self._started.append(process)
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

    @property
    def log(self):
        """What the consumers have logged."""
        return self._log.read_text()

    def new_run(self):
        """Create a run; return its id."""
        return self.runs.one("create", "test", {})["id"]

    def publish(self, run, content, **more):
        return self.publisher.publish(run, {"type": "userMessage", "content": content, **more})

    def contents(self, run):
        """Return the texts of a run's events in order, without that of its beginning."""
        rows = self.runs.call("events", run, {"types": ["userMessage"]})
        return [row["event"]["content"] for row in rows]

    def await_contents(self, run, contents, seconds=30):
        """Wait until a run has messages of these texts, in this order."""
        try:
            wait_until(lambda: self.contents(run) == contents, seconds)
        except AssertionError:
            found = f"{self.contents(run)}\n{self.log}"
            raise AssertionError(found) from None

    def stop(self):
        self.publisher.close()
        for process in self._started:
            if process.poll() is None:
                process.terminate()
        _, left = psutil.wait_procs(self._started, 20)
        for process in left:
            # Left running, it would take the events of all tests that follow.
            process.kill()
            process.wait()
        assert not left, "a consumer did not end"


@pytest.fixture
def sync(server, redis_server, session, tmp_path):
    found = Sync(server, redis_server, session, tmp_path)
    yield found
    found.stop()
