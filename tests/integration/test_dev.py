"""`sidecypher dev` on a real Neo4j: a saved file is the next call's code."""

import os
import re
import signal
import subprocess
import sys
import threading

import neo4j
import psutil
import pytest
from fix_modules import good, write
from fix_waiting import wait_until

from sidecypher.cli.lifecycle import read_status
from sidecypher.runtime.process.state import read_state
from sidecypher.settings import load_settings

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


class Dev:
    """A running `sidecypher dev`, and what it has printed."""

    def __init__(self, folder, environ, *options):
        self.folder = folder
        command = [sys.executable, "-m", "sidecypher", "dev", "--procedures", str(folder), *options]
        self.process = subprocess.Popen(
            command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout))
        self.reader.start()

    def printed(self, pattern, since=0):
        """Wait until a line that fits is printed; return all text from the mark on."""

        def found():
            text = "".join(self.lines[since:])
            assert self.process.poll() is None or re.search(pattern, text), "".join(self.lines)
            return re.search(pattern, text) and text

        return wait_until(found, 240)

    def save(self, file, content, pattern):
        """Save a file; return what is printed for it, as soon as the pattern is in it."""
        mark = len(self.lines)
        write(self.folder, file, content)
        return self.printed(pattern, mark)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(120)
        self.reader.join(30)
        self.process.stdout.close()
        return self.process.returncode


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("my")
    write(made, "word.py", good("kg.word", "first"))
    write(made, "slow.py", SLOW.format(word="first"))
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
def test_a_changed_signature_is_told_and_reached_by_call(dev, session):
    """What to rebuild is printed; until then `sidecypher.call` has the new one."""
    changed = good("kg.word", "{extra}").replace("body()", "body(extra: str)")
    changed = changed.replace('value="{extra}"', "value=extra")
    told = dev.save("word.py", changed, r"Ctrl-C and .* restart Neo4j\.")

    assert "kg.word: signature changed" in told
    assert "`sidecypher.call` reaches it now" in told
    assert "Ctrl-C and `sidecypher dev` rebuild the plugin and restart Neo4j." in told
    with pytest.raises(neo4j.exceptions.ClientError, match="SC-217"):
        word(session)
    row = session.run("CALL sidecypher.call('kg.word', ['new']) YIELD row RETURN row").single()
    assert row["row"] == {"value": "new"}

    dev.save("word.py", good("kg.word", "third"), "kg.word: signature changed")
    assert word(session) == "third"


@pytest.mark.timeout(400)
def test_a_broken_file_keeps_its_procedures(dev, session):
    """The error is printed with its line; the code before it answers."""
    before = word(session)
    told = dev.save("word.py", "def broken(:\n", "kg.word: failed")

    assert "syntax error in line 1" in told
    assert word(session) == before

    dev.save("word.py", good("kg.word", "well"), "kg.word: changed")
    assert word(session) == "well"


@pytest.mark.timeout(400)
def test_a_new_file_is_reached_by_call(dev, session):
    """A procedure that the plugin does not know is there at once."""
    dev.save("new.py", good("kg.fresh", "there"), "kg.fresh: added")

    row = session.run("CALL sidecypher.call('kg.fresh') YIELD row RETURN row.value AS value")
    assert row.single()["value"] == "there"


@pytest.mark.timeout(400)
def test_dev_uses_what_is_up_and_leaves_it_up(dev, folder, environ, settings):
    """A second `dev` on the same home watches too, and its end stops nothing."""
    second = Dev(folder, environ)
    second.printed("Watching my")

    assert second.end() == 0
    assert read_status(settings)["running"]


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
    assert "There is no sidecar" in done.stderr
