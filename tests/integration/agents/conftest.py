"""`sidecypher mcp` over both transports, as agents start and reach it."""

import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def connected(server):
    """Connect to a server that is started as an agent starts it."""

    @asynccontextmanager
    async def connect(*options, mode="auto"):
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "sidecypher", "mcp", *options],
            env=dict(server.environ),
        )
        async with Client(command, read_timeout_seconds=60, mode=mode) as client:
            yield client

    return connect


class McpOverHttp:
    """A server that listens.

    Attributes:
        url: Where it is.
        headers: The headers of its clients: with its token.
    """

    def __init__(self, environ, *options):
        command = [sys.executable, "-m", "sidecypher", "mcp", "--http", "--port", "0", *options]
        self.process = subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        # One line, and none if it could not start.
        self.line = self.process.stdout.readline()
        assert self.line, self.process.stderr.read()
        self.url = self.line.split()[2].rstrip(",")
        self.token_file = self.line.split()[-1]
        self.token = Path(self.token_file).read_text(encoding="utf-8").strip()
        self.headers = {"Authorization": f"Bearer {self.token}"}

    @asynccontextmanager
    async def client(self, mode="auto"):
        """Connect to it with the client of the SDK."""
        async with (
            httpx2.AsyncClient(headers=self.headers, timeout=60, trust_env=False) as http,
            Client(
                streamable_http_client(self.url, http_client=http),
                read_timeout_seconds=60,
                mode=mode,
            ) as client,
        ):
            yield client

    def stop(self):
        """Ask it to stop, unless it has; return its exit code, and its standard error."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        if not self.process.stderr.closed:
            self._errors = self.process.stderr.read()
            self.process.stderr.close()
            self.process.stdout.close()
        return self.process.returncode, self._errors


@pytest.fixture(scope="session")
def start_http(server):
    """Start a server over HTTP for the block, which must stop without an error."""

    @contextmanager
    def start(*options, printed="", **environ):
        found = McpOverHttp(server.environ | environ, *options)
        try:
            yield found
            assert found.stop() == (0, printed)
        finally:
            found.process.kill()

    return start


@pytest.fixture(scope="session")
def over_http(start_http):
    """One server for all tests that need no options of their own."""
    with start_http("--write", "test.run") as found:
        yield found
