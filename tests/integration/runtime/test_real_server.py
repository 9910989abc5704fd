import os
import signal
import stat
import sys
from dataclasses import replace

import httpx
import neo4j
import psutil
import pytest
from fix_waiting import wait_until

from sidecypher.host.address import USER, Ports, read_ports
from sidecypher.runtime._temporary_server import running
from sidecypher.runtime.errors import RuntimeFailure, ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.neo4j import OWN_SETTINGS, Neo4jServer
from sidecypher.runtime.ports import choose_ports
from sidecypher.runtime.process.detached import launch_supervisor
from sidecypher.runtime.process.spec import launch_process
from sidecypher.runtime.process.state import read_state
from sidecypher.runtime.process.stop import stop
from sidecypher_schema import connect
from sidecypher_schema.apoc import find_apoc

UP = """
import os, sys
from pathlib import Path
from sidecypher.runtime.java import Javas
from sidecypher.runtime.neo4j import Neo4jServer
from sidecypher.runtime.process.supervisor import Supervisor
from sidecypher.runtime.ports import choose_ports
from sidecypher.runtime.download import fetch
from sidecypher.runtime.lockfile import load_lock

home, cache = map(Path, sys.argv[1:3])
bolt = int(sys.argv[3]) if sys.argv[3:] else None

def plan():
    lock = load_lock("lts")
    ports = choose_ports(home / "run" / "ports.json", bolt=bolt)
    server = Neo4jServer(home, fetch(lock, cache), Javas().find(lock.java), ports)
    server.prepare()
    yield server.process(restart=True)

Supervisor(home, plan).run()
"""


def up(home, installation, *bolt):
    argv = [sys.executable, "-c", UP, str(home), str(installation.folder), *map(str, bolt)]
    return launch_supervisor(home, argv, {**os.environ, "SIDECYPHER_GITHUB_TOKEN": "s3cret"})


@pytest.fixture(scope="module", name="home")
def home_of_one_server(tmp_path_factory):
    """One home for all tests of this file; each leaves it running."""
    home = tmp_path_factory.mktemp("home")
    yield home
    stop(home)


@pytest.fixture(name="server")
def running_server(home, installation, java):
    state = read_state(home)
    if state is None or not state.alive:
        up(home, installation)
    return Neo4jServer(home, installation, java, read_ports(home / "run" / "ports.json"))


def query(server, cypher):
    with server.address.driver() as driver:
        return driver.execute_query(cypher).records


def java_of(server):
    return psutil.Process(read_state(server.home).processes[0].pid)


def test_it_answers_over_bolt_with_its_password(server):
    """A started server answers a query, for the password in the home and APOC included."""
    assert query(server, "RETURN apoc.version() AS apoc")[0]["apoc"] == "5.26.19"


def test_another_password_is_refused(server):
    """Nobody gets in with Neo4j's well-known first password."""
    with (
        replace(server.address, auth=(USER, "neo4j")).driver() as driver,
        pytest.raises(neo4j.exceptions.AuthError),
    ):
        driver.verify_connectivity()


def test_neo4j_browser_is_served(server):
    """Neo4j Browser is there as soon as the server counts as ready."""
    browser = f"http://127.0.0.1:{server.ports.http}/browser/"

    assert httpx.get(browser, timeout=60).status_code == 200


def test_it_listens_on_two_loopback_ports_only(server):
    """Bolt and HTTP on the loopback address are the only ports of the process."""
    listening = {
        (connection.laddr.ip.removeprefix("::ffff:"), connection.laddr.port)
        for connection in java_of(server).net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    }

    assert listening == {("127.0.0.1", server.ports.bolt), ("127.0.0.1", server.ports.http)}


def test_password_and_home_are_for_their_owner_only(server):
    """The password is in a file of mode 0600 in a folder of mode 0700."""
    assert stat.S_IMODE(server.password_file.stat().st_mode) == 0o600
    assert stat.S_IMODE(server.home.stat().st_mode) == 0o700


def test_no_secret_is_among_arguments_or_environment(server):
    """The JVM's arguments and environment hold neither the password nor anyone's token."""
    process = java_of(server)
    seen = " ".join([*process.cmdline(), *process.environ().values()])

    assert server.password_file.read_text().strip() not in seen
    assert "s3cret" not in seen
    assert process.environ()["SIDECYPHER_RUN_DIR"] == str(server.run_folder)


@pytest.mark.slow
def test_data_ports_and_password_outlive_a_restart(server, installation):
    """After down and up the graph is there again, at the same ports, for the same password."""
    query(server, "CREATE (:Kept {name: 'down'})")
    process = java_of(server)

    assert stop(server.home)
    assert not process.is_running()
    up(server.home, installation)

    assert len(query(server, "MATCH (kept:Kept {name: 'down'}) RETURN kept")) == 1


@pytest.mark.deep
def test_a_killed_server_comes_back_with_its_data(server):
    """A server that was killed, its store lock left behind, is started again by the supervisor."""
    query(server, "CREATE (:Kept {name: 'killed'})")
    before = java_of(server)

    before.kill()

    wait_until(lambda: read_state(server.home).processes[0].restarts > 0)
    wait_until(lambda: read_state(server.home).processes[0].status == "ready", 180)
    assert len(query(server, "MATCH (kept:Kept {name: 'killed'}) RETURN kept")) == 1


@pytest.mark.slow
def test_up_works_after_supervisor_and_server_were_killed(server, installation):
    """Nothing that a killed installation leaves behind keeps it from starting again."""
    state = read_state(server.home)
    process = java_of(server)
    os.kill(state.pid, signal.SIGKILL)
    process.kill()
    wait_until(lambda: not read_state(server.home).alive)

    up(server.home, installation)

    assert query(server, "RETURN 1 AS one")[0]["one"] == 1


def test_a_port_in_use_is_named(server, installation, tmp_path):
    """A second home that asks for the port of the first one is told which port is in use."""
    with pytest.raises(RuntimeFailure, match=f"Port {server.ports.bolt} for Bolt") as refused:
        up(tmp_path, installation, server.ports.bolt)

    assert refused.value.code == "SC-305"
    assert not (tmp_path / "neo4j").exists()


def test_a_lost_password_file_is_said(server):
    """A graph whose password file is gone is not started with a password that it refuses."""
    password = server.password_file.read_text()
    server.password_file.unlink()
    try:
        with pytest.raises(ServerFailed, match="`neo4j-password` is not in the home"):
            server.prepare()
    finally:
        server.password_file.write_text(password)
        server.password_file.chmod(0o600)


def test_a_server_that_cannot_start_tells_its_last_lines(installation, java, tmp_path):
    """A setting that Neo4j refuses ends the start with the log's lines beside a short message."""
    ports = choose_ports(tmp_path / "ports.json")
    server = Neo4jServer(tmp_path / "home", installation, java, ports)
    server.prepare()
    with (server.folder / "conf" / "neo4j.conf").open("a") as settings:
        settings.write("no.such.setting=1\n")

    with pytest.raises(ServerFailed) as failed, running(server.process(restart=False)):
        pass

    assert str(failed.value) == "`neo4j` did not start"
    assert any("no.such.setting" in line for line in failed.value.details["log_tail"])


def test_it_starts_where_the_folder_of_up_was_deleted(installation, java, tmp_path, monkeypatch):
    """A JVM does not start in a deleted folder, and the supervisor stays in that of `up`."""
    server = Neo4jServer(tmp_path / "home", installation, java, Ports(1, 2))
    server.prepare()
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    argv = (str(java.executable), "-version")

    process = launch_process(replace(server.process(restart=True), argv=argv))

    assert process.wait(60) == 0


@pytest.mark.slow
def test_settings_of_the_user_can_switch_http_off(installation, java, tmp_path):
    """Without HTTP, the server is ready when Bolt answers; a restricted APOC is said to be so."""
    ports = choose_ports(tmp_path / "ports.json")
    server = Neo4jServer(tmp_path / "home", installation, java, ports, short_lived=True)
    server.prepare()
    own = server.folder / "conf" / OWN_SETTINGS
    own.write_text("server.http.enabled=false\ndbms.security.procedures.unrestricted=\n")
    server.prepare()

    with (
        running(replace(server.process(restart=False), ready_timeout=60)),
        server.address.driver() as driver,
    ):
        found = find_apoc(connect(driver))

    assert found.problem == "APOC is not in `dbms.security.procedures.unrestricted`"


def test_plugins_of_an_older_lock_file_are_taken_away(installation, java, tmp_path):
    """The plugin folder shows the lane's plugins; an old one goes and a user's own jar stays."""
    server = Neo4jServer(tmp_path, installation, java, Ports(1, 2))
    server.prepare()
    (server.plugin_folder / "old.jar").symlink_to(installation.jar_folder / "old.jar")
    (server.plugin_folder / "own.jar").write_bytes(b"")

    server.prepare()

    names = {jar.name for jar in server.plugin_folder.iterdir()}
    assert names == {jar.name for jar in installation.jars("plugins")} | {"own.jar"}


def test_another_cache_folder_gives_new_links(installation, java, tmp_path):
    """A home whose jar cache has moved links the plugins of the new one."""
    ports = choose_ports(tmp_path / "ports.json")
    for folder in (tmp_path / "old", tmp_path / "new"):
        moved = Installation(installation.lock, folder)
        server = Neo4jServer(tmp_path / "home", moved, java, ports)
        server.prepare()

    links = [link for link in server.plugin_folder.iterdir() if link.is_symlink()]

    assert {link.readlink().parent for link in links} == {moved.jar_folder}
    assert len(links) == len(moved.jars("plugins"))


def test_an_empty_password_file_is_written_anew(installation, java, tmp_path):
    """A first start that was interrupted between making and writing the file is repeated."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "neo4j-password").touch(mode=0o600)
    ports = choose_ports(tmp_path / "ports.json")

    Neo4jServer(home, installation, java, ports).prepare()

    assert len((home / "neo4j-password").read_text().strip()) == 32
    assert (home / "neo4j" / "data" / "dbms" / "auth.ini").exists()
