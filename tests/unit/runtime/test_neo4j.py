"""What a server is started with, lane by lane."""

from dataclasses import replace

import pytest

from sidecypher.host.address import Ports
from sidecypher.runtime.errors import ServerFailed
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java
from sidecypher.runtime.lockfile import load_lock
from sidecypher.runtime.neo4j import Neo4jServer
from sidecypher.runtime.process.detached import launch_supervisor
from sidecypher.runtime.process.spec import PLAN_SECONDS, READY_SECONDS


@pytest.fixture(name="server")
def server_of_a_lane(tmp_path):
    """Makes the server of a lane, in one home; its jars need not be there."""

    def make(lane):
        installation = Installation(load_lock(lane), tmp_path / "cache")
        java = Java(tmp_path / "java", installation.lock.java[0])
        java.executable.parent.mkdir(parents=True, exist_ok=True)
        java.executable.touch()
        return Neo4jServer(tmp_path / "home", installation, java, Ports(1, 2))

    return make


@pytest.mark.parametrize("short_lived", [True, False])
def test_a_short_lived_server_does_not_optimize_its_code(server, short_lived):
    """A server that is gone in seconds starts with half of the work; others get the whole JVM."""
    argv = replace(server("lts"), short_lived=short_lived).process(restart=False).argv

    assert ("-XX:TieredStopAtLevel=1" in argv) is short_lived


def test_an_archive_of_classes_is_used_if_it_is_there(server, monkeypatch):
    """The JVM maps the archive of its own user; it would run whatever another user put there."""
    server = server("lts")
    archive = server.installation.class_archive(server.java)
    flag = f"-XX:SharedArchiveFile={archive}"
    assert flag not in server.process(restart=False).argv

    archive.parent.mkdir()
    archive.touch()
    assert flag in server.process(restart=False).argv

    monkeypatch.setattr("os.geteuid", lambda: archive.stat().st_uid + 1)
    assert flag not in server.process(restart=False).argv


def test_another_build_of_java_has_another_archive(server):
    """An archive fits the build of Java that wrote it, so an update of Java gets a new one."""
    server = server("lts")
    before = server.installation.class_archive(server.java)

    server.java.executable.write_text("updated")

    assert server.installation.class_archive(server.java) != before


def test_a_crash_leaves_no_memory_outside_of_the_home(server):
    """A dump, or the report of a crash, may hold the password and parts of the graph."""
    server = server("lts")
    argv = server.process(restart=False).argv

    assert "-XX:-CreateCoredumpOnCrash" in argv
    assert f"-XX:ErrorFile={server.home}/logs/neo4j-crash.txt" in argv


def test_own_settings_override_those_of_sidecypher(server):
    """Each line of `own.conf` is a setting of Neo4j; comments and empty lines are none."""
    server = server("lts")
    server.prepare()
    own = server.folder / "conf" / "own.conf"
    own.write_text("# larger\n\nserver.memory.pagecache.size = 1g\ndb.name=a=b\n")

    server.prepare()

    conf = (server.folder / "conf" / "neo4j.conf").read_text().splitlines()
    assert "server.memory.pagecache.size=1g" in conf
    assert "server.memory.pagecache.size=64m" not in conf
    assert "db.name=a=b" in conf
    assert own.exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"# a\nwithout a value\n", "Line 2 of `neo4j/conf/own.conf` in the home is no setting"),
        (b"=1", "Line 1 of `neo4j/conf/own.conf` in the home is no setting"),
        (b"\xff=1", "`neo4j/conf/own.conf` in the home cannot be read"),
    ],
    ids=["no equals", "no name", "no text"],
)
def test_own_settings_that_cannot_be_read_are_an_error(server, content, told):
    """The error names the file and the line, and nothing of its content."""
    server = server("lts")
    server.prepare()
    (server.folder / "conf" / "own.conf").write_bytes(content)

    with pytest.raises(ServerFailed) as raised:
        server.prepare()

    assert raised.value.message == told


@pytest.mark.parametrize("lane", ["lts", "current"])
def test_a_lane_adds_its_flags_and_settings(server, lane):
    """The JVM gets the lane's flags, and `neo4j.conf` its settings, beside what all lanes have."""
    server = server(lane)
    server.prepare()

    argv = server.process(restart=False).argv
    conf = (server.folder / "conf" / "neo4j.conf").read_text().splitlines()
    lock = load_lock(lane)

    assert {*lock.flags, lock.main_class, "-XX:+ExitOnOutOfMemoryError"} <= set(argv)
    assert {f"{name}={value}" for name, value in lock.settings.items()} <= set(conf)
    assert "server.default_listen_address=127.0.0.1" in conf


@pytest.mark.parametrize(("first", "then"), [("lts", "current"), ("current", "lts")])
def test_a_home_keeps_its_lane(server, first, then):
    """A graph is never opened by another lane's Neo4j, which would change it for good."""
    server(first).prepare()
    server(first).prepare()

    with pytest.raises(ServerFailed, match=f"belongs to the lane `{first}`, not `{then}`") as no:
        server(then).prepare()

    assert f"SIDECYPHER_LANE={first}" in no.value.hint


def test_a_home_from_before_the_lanes_is_of_the_first(server):
    """A graph whose lane was never written down was made by the only lane there was."""
    before = server("lts")
    auth = before.folder / "data" / "dbms" / "auth.ini"
    auth.parent.mkdir(parents=True)
    auth.touch()
    before.password_file.write_text("password\n")

    with pytest.raises(ServerFailed, match="belongs to the lane `lts`"):
        server("current").prepare()
    server("lts").prepare()


def test_no_bound_of_a_start_hides_the_one_within(server):
    """`up` waits longer than its supervisor, and that longer than for Neo4j."""
    waits = launch_supervisor.__kwdefaults__["timeout"]

    assert server("lts").process(restart=True).ready_timeout == READY_SECONDS
    assert waits > PLAN_SECONDS + READY_SECONDS


def test_an_empty_password_file_is_told_from_a_password(server):
    """What a loss of power may leave is an error at the start, not at the first login."""
    server = server("lts")
    server.prepare()
    server.password_file.write_bytes(b"")

    with pytest.raises(ServerFailed, match="`neo4j-password` is not in the home or is empty"):
        server.prepare()
