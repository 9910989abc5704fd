"""`sidecypher dev` on a real Neo4j: a saved file is the next call's code."""

import os
import re
import subprocess
import sys

import neo4j
import psutil
import pytest
from docs.pages import ROOT, answered, blocks
from fix_modules import good, write
from fix_running import Running

from sidecypher.cli.status import read_status
from sidecypher.host.settings import load_settings
from sidecypher.runtime.process.state import read_state

pytestmark = pytest.mark.slow

OFFERED = "Neo4j offers the changes."
GUIDE = ROOT / "docs/procedures.md"

SLOW = """
from collections.abc import Iterator
from sidecypher import Row, procedure

class Text(Row):
    value: str

@procedure("kg.slow")
def slow() -> Iterator[Text]:
    for _ in range(2_000):
        yield Text(value="{word}")
"""


class Dev(Running):
    """`dev` on a folder of procedures."""

    def __init__(self, folder, environ, *options):
        self.folder = folder
        super().__init__(environ, "dev", "--procedures", str(folder), *options)

    def save(self, file, content, expected):
        """Save a file; return what is printed for it, as soon as a text is in it."""
        mark = len(self.lines)
        write(self.folder, file, content)
        return self.printed(expected, mark)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("my")
    write(made, "word.py", good("kg.word", "first"))
    write(made, "title.py", good("kg.title", "first"))
    write(made, "slow.py", SLOW.format(word="first"))
    write(made, "guide.py", "".join(each.text for each in blocks("python", pages=[GUIDE])))
    return made


@pytest.fixture(scope="module")
def environ(tmp_path_factory):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SIDECYPHER_")}
    return {**kept, "SIDECYPHER_HOME": str(tmp_path_factory.mktemp("home"))}


@pytest.fixture(scope="module")
def settings(environ):
    return load_settings({}, environ)


@pytest.fixture(scope="module")
def dev(folder, environ, settings):
    """A `dev` with a home of its own; Ctrl-C ends it without an error, and leaves nothing."""
    made = Dev(folder, environ, "--no-check")
    try:
        made.printed("Watching my")
        pids = [each.pid for each in read_state(settings.home).processes]
        yield made
    finally:
        code = made.end()
    assert (code, "Traceback" in "".join(made.lines)) == (0, False)
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


@pytest.fixture
def session(dev, settings):
    facts = read_status(settings)
    password = (settings.home / "neo4j-password").read_text().strip()
    with (
        neo4j.GraphDatabase.driver(facts["bolt"], auth=("neo4j", password)) as driver,
        driver.session(fetch_size=10) as session,
    ):
        yield session


def word(session):
    return session.run("CALL kg.word() YIELD value RETURN value").single()["value"]


@pytest.mark.timeout(400)
def test_procedures_of_the_guide_return_what_it_shows(dev, session):
    """The Python blocks of docs/procedures.md are a module whose calls return the rows shown."""
    shown = answered("docs/procedures.md")

    assert shown
    for statement, rows in shown:
        assert session.run(statement).values() == rows, statement


@pytest.mark.timeout(400)
def test_a_saved_body_is_the_next_calls(dev, session):
    """What is saved is loaded within seconds, and named."""
    told = dev.save("word.py", good("kg.word", "second"), "kg.word")

    assert "kg.word: changed\n" in told
    assert re.search(r"\d\d:\d\d:\d\d saved word.py\n", "".join(dev.lines))
    assert word(session) == "second"


@pytest.mark.timeout(400)
def test_a_call_in_flight_ends_on_the_code_it_began_with(dev, session):
    """Rows of one call are of one code, whatever is saved meanwhile."""
    stream = iter(session.run("CALL kg.slow() YIELD value RETURN value"))
    first = next(stream)["value"]
    dev.save("slow.py", SLOW.format(word="second"), "kg.slow: changed")

    assert {record["value"] for record in stream} == {first}
    again = session.run("CALL kg.slow() YIELD value RETURN collect(DISTINCT value) AS all").single()
    assert again["all"] == ["second"]


@pytest.mark.timeout(400)
def test_a_changed_signature_is_offered_by_neo4j(dev, session):
    """A changed signature or a new file makes a new plugin, and Neo4j restarts with it."""
    changed = good("kg.title", "{extra}").replace("body()", "body(extra: str)")
    changed = changed.replace('value="{extra}"', "value=extra")
    write(dev.folder, "new.py", good("kg.fresh", "there"))
    told = dev.save("title.py", changed, OFFERED)

    assert "kg.title: signature changed" in told
    assert "Restarting Neo4j with it" in told
    row = session.run("CALL kg.title('new') YIELD value RETURN value").single()
    assert row["value"] == "new"
    # Both files may have been seen at once, or the new one first: then each has its restart.
    dev.printed(re.compile("kg.fresh: added(.|\n)*" + OFFERED))
    row = session.run("CALL kg.fresh() YIELD value RETURN value").single()
    assert row["value"] == "there"


@pytest.mark.timeout(400)
def test_a_broken_file_keeps_its_procedures(dev, session):
    """The error is printed with its line; the code before it answers."""
    before = word(session)
    told = dev.save("word.py", "def broken(:\n", "syntax error in line 1")

    assert "kg.word: failed" in told
    assert word(session) == before

    dev.save("word.py", good("kg.word", "well"), "kg.word: changed")
    assert word(session) == "well"


@pytest.mark.timeout(400)
def test_dev_uses_what_is_up_and_leaves_it_up(dev, folder, environ, settings):
    """A second `dev` on the same home watches too, restarts nothing, and its end stops nothing."""
    second = Dev(folder, environ)
    told = second.printed("Watching my")

    assert "Already up" in told
    assert second.end() == 0
    assert read_status(settings)["running"]


@pytest.mark.timeout(400)
def test_it_begins_with_every_address_and_a_call_to_paste(dev, settings):
    """What a person needs next is on the screen, and the last line is a command to run."""
    facts = read_status(settings)
    told = dev.printed("next: ").splitlines()

    shown = {line.split()[0]: line.split(None, 1)[1] for line in told if " " in line}
    for name in ("browser", "bolt", "console", "user", "password_file"):
        assert shown[name] == str(facts[name])
    assert shown["logs"] == str(settings.log_dir)
    assert shown["sample"] == "CALL demo.greet('name') YIELD text"
    assert "next: sidecypher call demo.greet NAME  # in another terminal" in told


def test_a_folder_must_be_named(clean_environment, tmp_path):
    """Without a folder there is nothing to watch, and nothing is started."""
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher", "dev", "--home", str(tmp_path)],
        env=clean_environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert "There is no folder of procedures to watch" in done.stderr


def test_a_reload_needs_a_sidecar(clean_environment, tmp_path):
    """Without a sidecar `sidecypher reload` fails and says so."""
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher", "reload", "--home", str(tmp_path)],
        env=clean_environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "No sidecar is running" in done.stderr
