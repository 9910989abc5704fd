"""A sidecar on another machine: here, in a network of its own."""

import contextlib
import shutil
import subprocess
import sys
import uuid
from dataclasses import replace

import pytest
from fix_server import PROCEDURES
from fix_waiting import wait_until

from sidecypher.host.remote import FOLDER
from sidecypher.runtime._temporary_server import running, temporary_server

pytestmark = pytest.mark.deep

SIDECYPHER = [sys.executable, "-m", "sidecypher"]
NEAR, FAR = "10.213.77.1", "10.213.77.2"


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def network():
    """A second network namespace, joined to this one by a pair of interfaces."""
    name = f"sc{uuid.uuid4().hex[:8]}"
    ip("netns", "add", name)
    try:
        ip("link", "add", name, "type", "veth", "peer", "name", "far", "netns", name)
        ip("addr", "add", f"{NEAR}/24", "dev", name)
        ip("link", "set", name, "up")
        ip("-n", name, "addr", "add", f"{FAR}/24", "dev", "far")
        ip("-n", name, "link", "set", "far", "up")
        ip("-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        ip("netns", "del", name)


@contextlib.contextmanager
def sidecar(network, home):
    """A sidecar in the other namespace."""
    command = ["ip", "netns", "exec", network, *SIDECYPHER, "serve"]
    options = ["--home", home, "--procedures", PROCEDURES, "--listen", f"tls://{FAR}:7001"]
    process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
    try:
        wait_until((home / "run" / FOLDER / "sidecar.json").exists)
        yield process
    finally:
        process.terminate()
        process.wait(30)


def test_neo4j_calls_a_sidecar_in_another_network(network, tmp_path, installation, java):
    """With the copied folder procedures run there, with `ctx.run`; a restart needs no new copy."""
    copy = tmp_path / "copy"
    with temporary_server(installation, java) as server:
        jar = server.plugin_folder / "sidecypher.jar"
        build = ["plugin", "build", "--no-check", "--output", jar, "--procedures", PROCEDURES]
        subprocess.run([*SIDECYPHER, *build], check=True, capture_output=True)
        spec = server.process(restart=False)
        variables = {"SIDECYPHER_RUN_DIR": str(copy), "SIDECYPHER_HANDSHAKE_TIMEOUT_MS": "60000"}
        spec = replace(spec, env={**spec.env, **variables})
        with sidecar(network, tmp_path / "far") as first:
            shutil.copytree(tmp_path / "far" / "run" / FOLDER, copy)
            with running(spec), server.address.driver() as driver:

                def value(statement):
                    return driver.execute_query(statement).records[0]["value"]

                echo = "CALL test.echo('far') YIELD value RETURN value"
                assert value(echo) == "far"
                pid = "CALL sidecypher.info() YIELD pid RETURN pid AS value"
                before = value(pid)
                assert value("CALL cached.fromGraph('x') YIELD calls AS value RETURN value") == 1
                first.terminate()
                first.wait(30)
                with sidecar(network, tmp_path / "far"):
                    wait_until(lambda: _answers(value, echo))
                    assert value(pid) != before


def _answers(value, statement):
    with contextlib.suppress(Exception):
        return value(statement) == "far"
    return False
