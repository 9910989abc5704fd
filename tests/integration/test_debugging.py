"""An editor stops in a procedure, whose call then has no timeout."""

import concurrent.futures
import os
import socket
import time

import neo4j
import pytest
from fix_editor import Editor
from fix_modules import write
from fix_running import Running
from fix_waiting import wait_until

from sidecypher.cli.status import read_status
from sidecypher.host.settings import load_settings

TWICE = """\
from sidecypher import Row, procedure


class Number(Row):
    value: int


@procedure("kg.twice", timeout=0.2)
def twice(value: int) -> Number:
    doubled = value * 2
    return Number(value=doubled)
"""
LAST_LINE = len(TWICE.splitlines())


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        return chosen.getsockname()[1]


@pytest.fixture(scope="module")
def debugged(tmp_path_factory, environment):
    """A `dev` whose sidecar waits for a debugger; its settings, the port and the file."""
    port, home, folder = free_port(), *map(tmp_path_factory.mktemp, ("home", "my"))
    write(folder, "twice.py", TWICE)
    environ = {**environment, "SIDECYPHER_HOME": str(home)}
    options = ("--procedures", str(folder), "--no-check", "--debug-port", str(port))
    running = Running(environ, "dev", "--debug", *options)
    try:
        assert f"127.0.0.1:{port}" in running.printed("Watching my")
        yield load_settings({}, environ), port, folder / "twice.py"
    finally:
        code = running.end()
    assert code == 0


@pytest.fixture(scope="module")
def environment():
    return {name: each for name, each in os.environ.items() if not name.startswith("SIDECYPHER_")}


@pytest.mark.deep
@pytest.mark.timeout(400)
def test_a_call_stands_at_a_breakpoint_as_long_as_it_takes(debugged):
    """The editor reads a variable; the row comes though the procedure's time is over."""
    settings, port, file = debugged
    password = (settings.home / "neo4j-password").read_text().strip()
    bolt = read_status(settings)["bolt"]

    with (
        neo4j.GraphDatabase.driver(bolt, auth=("neo4j", password)) as driver,
        concurrent.futures.ThreadPoolExecutor(1) as caller,
        Editor(port) as editor,
    ):
        editor.attach({file: [LAST_LINE]})
        called = caller.submit(driver.execute_query, "CALL kg.twice(21) YIELD value")
        thread, variables = editor.stopped()
        # Longer than timeout, grace of the plugin and patience of the sidecar together.
        late = time.monotonic() + 2.5
        wait_until(lambda: time.monotonic() > late)
        waits = not called.done()
        editor.request("continue", threadId=thread)
        rows = called.result(60).records

    assert (variables["value"], variables["doubled"]) == ("21", "42")
    assert waits
    assert [row["value"] for row in rows] == [42]


def test_a_sidecar_alone_can_be_debugged(start_sidecar):
    """`serve --debug-port` lets an editor connect at any time; calls before that do not wait."""
    port = free_port()
    sidecar = start_sidecar("--debug-port", str(port))
    file = sidecar.procedures / "bodies.py"
    line = file.read_text().splitlines().index("    return Text(value=value)") + 1

    with sidecar.client() as client, concurrent.futures.ThreadPoolExecutor(1) as caller:
        before = list(client.rows("test.echo", "before"))
        with Editor(port) as editor:
            editor.attach({file: [line]})
            called = caller.submit(lambda: list(client.rows("test.echo", "hello")))
            thread, variables = editor.stopped()
            editor.request("continue", threadId=thread)
            rows = called.result(60)

    assert before == [["before"]]
    assert variables == {"value": "'hello'"}
    assert rows == [["hello"]]


def test_a_taken_port_of_the_debugger_ends_the_start(start_sidecar):
    """The error names the port and the option."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sidecar = start_sidecar("--debug-port", str(port), wait=False)

        assert sidecar.process.wait(60) == 1
        told = sidecar.log.read_text()

    assert f"error: The debugger cannot listen on port {port} [SC-602]" in told
    assert "--debug-port" in told
