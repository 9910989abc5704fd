"""A real Redis on a socket in a temporary folder."""

import os
import shutil
import signal
import subprocess

import psutil
import pytest
import redis
from docs.pages import blocks
from fix_waiting import wait_until


class RedisServer:
    """A `redis-server`.

    Attributes:
        url: Its address.
        client: A client of it.
    """

    def __init__(self, folder, *options):
        self._folder = folder
        self._options = options
        self._socket = folder / "redis.sock"
        self.url = f"unix://{self._socket}"
        self.client = redis.Redis.from_url(self.url, decode_responses=True)
        self.process = None
        self.start()

    def start(self, *options):
        """Start it, with what it had saved."""
        command = ["redis-server", "--port", "0", "--unixsocket", str(self._socket)]
        kept = ["--dir", str(self._folder), "--appendonly", "yes", "--appendfsync", "always"]
        quiet = ["--save", "", "--logfile", str(self._folder / "redis.log"), "--daemonize", "no"]
        arguments = [*command, *kept, *quiet, *self._options, *options]
        self.process = psutil.Popen(arguments, stdout=subprocess.DEVNULL)
        wait_until(self._answers)

    def _answers(self):
        assert self.process.poll() is None, (self._folder / "redis.log").read_text()
        try:
            return self.client.ping()
        except redis.RedisError:
            return False

    def kill(self):
        """End it at once."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.client.close()
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)


def _needed():
    if shutil.which("redis-server") is None:
        assert "CI" not in os.environ, "CI needs redis-server"
        pytest.skip("Redis is not tested: there is no redis-server here")


@pytest.fixture(scope="session")
def shared_redis(tmp_path_factory):
    """One Redis for all tests that change nothing about it."""
    _needed()
    # Not below the folder of the test, whose path may be too long for a socket.
    found = RedisServer(tmp_path_factory.mktemp("redis"))
    yield found
    found.stop()


@pytest.fixture
def redis_server(shared_redis):
    """The shared Redis, empty."""
    shared_redis.client.flushall()
    return shared_redis


@pytest.fixture
def own_redis(tmp_path_factory):
    """Start a Redis for this test alone, with options of the command line."""
    _needed()
    started = []

    def start(*options):
        started.append(RedisServer(tmp_path_factory.mktemp("redis"), *options))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def redis_users(redis_server):
    """The address for each user of the page about Redis, who has the rights that it names."""
    [block] = [each for each in blocks("text") if each.text.startswith("ACL ")]
    commands = [line.split(" ") for line in block.text.splitlines()]
    for command in commands:
        redis_server.client.execute_command(*command)
    names = [command[2] for command in commands]
    address = redis_server.url.removeprefix("unix://")
    yield {name: f"unix://{name}@{address}?password=PASSWORD" for name in names}
    redis_server.client.acl_deluser(*names)
