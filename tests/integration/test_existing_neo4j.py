"""docs/existing-neo4j.md, walked on a Neo4j with its own folders, scripts and `neo4j.conf`."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import neo4j
import pytest
from docs.pages import ROOT, blocks
from fix_running import Running
from fix_waiting import wait_until
from neo4j.exceptions import DriverError, Neo4jError

from sidecypher.runtime.java import Javas
from sidecypher.runtime.ports import choose_ports

PAGE = ROOT / "docs" / "existing-neo4j.md"
BLOCKS = blocks("sh", "python", "ini", "text", pages=[PAGE])
PASSWORD = "my-password"

# What `bin/neo4j` of a distribution does at last: its scripts only look for Java before.
SCRIPT = """#!/bin/sh
exec {java} -cp "$NEO4J_HOME/lib/*" -Dbasedir="$NEO4J_HOME" org.neo4j.server.startup.{main} "$@"
"""
CONF = """
server.bolt.listen_address=127.0.0.1:{bolt}
server.http.enabled=false
server.https.enabled=false
server.memory.heap.max_size=512m
server.memory.pagecache.size=64m
db.tx_log.preallocate=false
"""
MORE = '''

@procedure("hello.shout")
def shout(name: str) -> Greeting:
    """Greet somebody loudly."""
    return Greeting(text=f"HELLO {name}")
'''


class Server:
    """A Neo4j that sidecypher has not set up: `lib`, `bin`, `conf` and an empty `plugins`."""

    def __init__(self, folder, installation, environ):
        self.home = folder
        self.bolt = choose_ports(folder.parent / "ports.json").bolt
        for name in ("bin", "conf", "lib", "plugins"):
            (folder / name).mkdir(parents=True)
        for jar in installation.jars("lib"):
            (folder / "lib" / jar.name).symlink_to(jar)
        java = Javas().find(installation.lock.java).executable
        for name, main in (("neo4j", "Neo4jCommand"), ("neo4j-admin", "Neo4jAdminCommand")):
            script = folder / "bin" / name
            script.write_text(SCRIPT.format(java=java, main=main))
            script.chmod(0o755)
        (folder / "conf" / "neo4j.conf").write_text(CONF.format(bolt=self.bolt))
        self.environ = environ | {
            "NEO4J_HOME": str(folder),
            "NEO4J_CONF": str(folder / "conf"),
            "JAVA_HOME": str(java.parents[1]),
            "PATH": os.pathsep.join((str(folder / "bin"), environ["PATH"])),
        }
        self.admin("neo4j-admin", "dbms", "set-initial-password", PASSWORD)

    def admin(self, *command):
        done = subprocess.run(
            command, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    def await_bolt(self):
        def answers():
            with contextlib.suppress(DriverError, Neo4jError):
                return self.rows("RETURN 1 AS one")

        wait_until(answers, 120)

    def rows(self, statement):
        uri = f"bolt://127.0.0.1:{self.bolt}"
        with neo4j.GraphDatabase.driver(uri, auth=("neo4j", PASSWORD)) as driver:
            return [record.data() for record in driver.execute_query(statement).records]


class Reader:
    """Does what the page says, with its own place for what is in `/srv/sidecypher`."""

    def __init__(self, folder, server):
        self.folder = folder
        self.srv = folder / "srv"
        self.server = server
        self.sidecar = None
        self.printed = ""
        self.last = None

    def here(self, text):
        """Return a text of the page with the places and the port of this machine."""
        own = text.replace("/srv/sidecypher", str(self.srv))
        return own.replace("127.0.0.1:7687", f"127.0.0.1:{self.server.bolt}")

    def follow(self, block):
        if block.info == "python" or block.text.startswith("# Settings of the plugin"):
            self.save(block)
        elif block.info == "sh":
            for line in block.text.splitlines():
                self.type(shlex.split(self.here(line)))
        elif block.info == "text" and self.is_output(block):
            for line in block.text.splitlines():
                self.shows(line)
        self.last = block

    def is_output(self, block):
        """Whether a text stands directly below commands."""
        if self.last is None or self.last.info != "sh":
            return False
        end = self.last.line + len(self.last.text.splitlines()) + 1
        return block.line - end <= 2

    def save(self, block):
        named = re.match(r"# (/\S+)\n", block.text)
        place = Path(self.here(named[1])) if named else self.folder / "deploy" / "sidecypher.conf"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.here(block.text))

    def shows(self, line):
        if self.sidecar is not None and self.printed is None:
            self.sidecar.printed(line)
        else:
            assert line in self.printed, self.printed

    def type(self, words):
        environ = dict(self.server.environ)
        while "=" in words[0]:
            name, _, value = words.pop(0).partition("=")
            environ[name] = value
        words = [
            re.sub(r"\$(\w+)", lambda found: self.server.environ[found[1]], word) for word in words
        ]
        if words[:2] == ["sidecypher", "serve"]:
            self.sidecar = Running(environ, *words[1:])
            self.printed = None
        elif words[0] == "sidecypher":
            done = subprocess.run(
                [sys.executable, "-m", *words],
                env=environ,
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            self.printed = done.stdout + done.stderr
        elif words[0] == "neo4j":
            self.server.admin(*words)
            self.server.await_bolt()
        elif words[0] == "cp":
            shutil.copy(self.folder / words[1], words[2])
        elif words[0] == "rm":
            for path in words[1:]:
                Path(path).unlink()
        else:
            assert words[0] == "pip", words

    def restart_sidecar(self):
        assert self.sidecar.end() == 0
        self.follow(next(each for each in BLOCKS if "sidecypher serve" in each.text))
        self.sidecar.printed("sidecar ready")


@pytest.fixture
def reader(installation, tmp_path, clean_environment):
    """A reader with a Neo4j that runs, and ends with the test."""
    server = Server(tmp_path / "neo4j", installation, clean_environment)
    found = Reader(tmp_path, server)
    server.admin("neo4j", "start")
    server.await_bolt()
    yield found
    server.admin("neo4j", "stop")
    if found.sidecar is not None:
        found.sidecar.end()


def split(title):
    """Return the blocks before a heading of the page, and those after it."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    place = lines.index(f"## {title}")
    before = [each for each in BLOCKS if each.line <= place]
    return before, BLOCKS[len(before) :]


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_the_page_leads_to_a_first_row_an_upgrade_and_nothing_left(reader):
    """Each block in its order: the row, the new jar while Neo4j runs, and the end."""
    to_upgrade, others = split("Change and upgrade")
    for block in to_upgrade:
        reader.follow(block)

    module = reader.srv / "procedures" / "hello.py"
    module.write_text(module.read_text() + MORE)
    upgrade, uninstall = others[: -len(split("Uninstall")[1])], split("Uninstall")[1]
    for block in upgrade:
        reader.follow(block)
    # The old jar serves until the restart.
    assert reader.server.rows("CALL hello.greet('Bob')") == [{"text": "Hello Bob"}]
    reader.restart_sidecar()
    reader.type(["neo4j", "restart"])
    assert reader.server.rows("CALL hello.shout('Bob')") == [{"text": "HELLO Bob"}]

    for block in uninstall:
        reader.follow(block)
    left = "SHOW PROCEDURES YIELD name WHERE name =~ '(hello|sidecypher|rules)[.].*' RETURN name"
    assert reader.server.rows(left) == []
    assert reader.server.rows("SHOW CONSTRAINTS YIELD name RETURN name") == [
        {"name": "sidecypher_migration_lock"}
    ]


def test_the_first_row_comes_in_eight_steps():
    """The steps are counted from nothing to the call, and no more than eight."""
    text = PAGE.read_text(encoding="utf-8").partition("## The schema and APOC")[0]

    assert re.findall(r"^### (\d)\. ", text, re.MULTILINE) == [*"12345678"]
