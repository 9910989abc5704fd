"""`sidecypher doctor` on a real installation, and on what is broken there."""

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest
from fix_server import PROCEDURES

from sidecypher.cli.doctor.context import DoctorContext
from sidecypher.cli.doctor.installation import look_at_plugin, look_at_processes, look_at_sidecars
from sidecypher.cli.doctor.machine import look_at_ports
from sidecypher.cli.doctor.report import all_checks, examine
from sidecypher.runtime._temporary_server import running, temporary_server
from sidecypher_schema import migrate

SECRET = "ghp_" + "5ec2e7" * 6


def examined(environ, **variables):
    """Look at an installation with these variables; return findings by group and name."""
    with DoctorContext({}, environ | variables, None) as context:
        return {(check.group, check.name): found for check, found in examine(all_checks(), context)}


@pytest.mark.slow
def test_nothing_is_wrong_with_what_runs(server, driver):
    """Where all is up, each part is told as it is, and nothing is an error."""
    server.await_sidecar()
    # Other tests empty the graph, and its chain of migrations with it.
    migrate(driver)
    found = examined(server.environ)

    assert {key: each for key, each in found.items() if each.state == "ERROR"} == {}
    assert found["Neo4j", "version"].found.startswith("Neo4j 5.26.")
    assert "the embedded one" in found["Neo4j", "version"].found
    assert found["Neo4j", "APOC"].state == "OK"
    assert found["Neo4j", "offered"].found.startswith("all ")
    assert found["Neo4j", "call"].state == "OK"
    assert found["Neo4j", "clock"].state == "OK"
    assert found["Procedures", "plugin"].found.startswith("it fits those of the sidecar")
    assert found["Processes", "sidecars"].found == "1 is ready"
    assert found["Schema", "migrations"].state == found["Schema", "triggers"].state == "OK"
    assert found["Secrets", "private files"].found.startswith("5 of them")
    assert found["GitHub", "limits"].found.startswith("core ")
    assert found["GitHub", "clock"].state == "OK"


@pytest.mark.slow
def test_the_command_prints_a_line_for_each_check_and_no_secret(server, driver):
    """Every check has a line, the summary counts them, and no secret is anywhere."""
    server.await_sidecar()
    planted = {"SIDECYPHER_GITHUB_TOKEN": SECRET, "SIDECYPHER_NEO4J_PASSWORD": SECRET}
    done = server.command("doctor", **planted)

    assert done.returncode == 0, done.stdout
    assert done.stdout.count("\n  OK ") + done.stdout.count("\n  WARN ") == len(all_checks())
    assert done.stdout.splitlines()[-1].startswith(f"{len(all_checks())} checks: ")
    assert [s for s in (*server.secrets, SECRET) if s in done.stdout + done.stderr] == []


@pytest.mark.slow
def test_the_json_has_what_the_lines_have(server, driver):
    """`--json` prints one document with a member for each check."""
    server.await_sidecar()
    done = server.command("doctor", "--json")
    told = json.loads(done.stdout)

    assert done.returncode == 0
    assert told["ok"] is True
    assert sum(told["counts"].values()) == len(told["checks"]) == len(all_checks())
    assert [each for each in told["checks"] if bool(each["fix"]) == (each["state"] == "OK")] == []


@pytest.mark.slow
def test_a_sidecar_that_is_down_is_told(server, driver):
    """Without its sidecar the supervisor has a process less, and no call can be made."""
    with server.sidecar_down(), DoctorContext({}, server.environ, None) as context:
        processes, sidecars = look_at_processes(context), look_at_sidecars(context)
        call = dict(examine([c for c in all_checks() if c.name == "call"], context))

    assert (processes.state, processes.found) == ("ERROR", "not running: sidecar")
    assert sidecars.found == "no sidecar runs"
    assert [each.state for each in call.values()] == ["WARN"]


def test_a_sidecar_that_has_left_out_a_module_is_an_error(
    server, driver, another_sidecar, tmp_path
):
    """Each sidecar is looked at, and told by its process."""
    server.await_sidecar()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "broken.py").write_text("def broken(:")
    other = another_sidecar(SIDECYPHER_PROCEDURES=str(tmp_path / "mine"))
    with DoctorContext({}, server.environ, None) as context:
        found = look_at_sidecars(context)

    assert found.state == "ERROR"
    assert found.found == f"process {other.process.pid}: `broken.py` is left out"


def test_a_stale_plugin_names_the_procedures_that_differ(server, tmp_path):
    """A jar that was built for other procedures than are found tells which."""
    plugins = tmp_path / "neo4j" / "plugins"
    plugins.mkdir(parents=True)
    shutil.copy(server.home / "neo4j" / "plugins" / "sidecypher.jar", plugins)
    changed = tmp_path / "procedures"
    shutil.copytree(PROCEDURES, changed, ignore=shutil.ignore_patterns("links.py", "__pycache__"))
    (changed / "new.py").write_text(
        "from sidecypher import Row, procedure\n"
        "class Answer(Row):\n    value: int\n"
        '@procedure("mine.answer")\n'
        "def answer() -> Answer: ...\n"
    )
    flags = {"home": tmp_path, "procedures": [changed]}
    with DoctorContext(flags, {**os.environ}, None) as context:
        found = look_at_plugin(context)

    assert found.state == "ERROR"
    assert "than those that are found: unknown to it: `mine.answer`; gone: `" in found.found
    assert found.fix.startswith("Run `sidecypher restart`")


def test_a_port_that_is_taken_is_told_with_the_program_that_has_it(clean_environment, tmp_path):
    """Of a program of one's own the report has name and process id; free ports are told too."""
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.socket() as free:
        port = taken.getsockname()[1]
        free.bind(("127.0.0.1", 0))
        other = free.getsockname()[1]
        free.close()
        asked_for = {"SIDECYPHER_BOLT_PORT": str(port), "SIDECYPHER_HTTP_PORT": str(other)}
        with DoctorContext({"home": tmp_path}, clean_environment | asked_for, None) as context:
            found = look_at_ports(context)

    assert found.state == "ERROR"
    assert found.found.startswith(f"{port} for Bolt is taken by `")
    assert found.found.endswith(f"`, process {os.getpid()}")


@pytest.mark.slow
def test_with_nothing_up_nothing_is_changed(clean_environment, github, tmp_path):
    """Where nothing runs the report says so, ends well, and writes no file."""
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "one.py").write_text("")
    variables = {"SIDECYPHER_HOME": str(tmp_path / "home"), "SIDECYPHER_PROCEDURES": str(mine)}
    variables["SIDECYPHER_GITHUB_BASE_URL"] = github.url
    clean_environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher", "doctor"],
        env=clean_environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "could not check: Neo4j does not run" in done.stdout
    assert "GitHub" in done.stdout
    assert sorted(tmp_path.rglob("*")) == [mine, mine / "one.py"]


@pytest.mark.slow
def test_an_error_is_exit_code_1_and_hides_nothing(clean_environment, github, tmp_path):
    """A misspelt setting, which ends every other command, is one line among all the others."""
    variables = {
        "SIDECYPHER_HOME": str(tmp_path),
        "SIDECYPHER_GITHUB_BASE_URL": github.url,
        "SIDECYPHER_PROT": SECRET,
    }
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher", "doctor", "--json"],
        env=clean_environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    told = json.loads(done.stdout)

    assert (done.returncode, told["ok"], told["counts"]["ERROR"]) == (1, False, 1)
    assert "`SIDECYPHER_PROT`" in told["checks"][0]["found"]
    assert len(told["checks"]) == len(all_checks())
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.deep
def test_a_server_of_ones_own_with_an_allow_list_and_without_apoc(
    installation, java, clean_environment, server, tmp_path
):
    """What hides procedures is named with the line to add; APOC, schema and triggers are missed."""
    with temporary_server(installation, java) as own:
        for link in own.plugin_folder.iterdir():
            link.unlink()
        shutil.copy(server.home / "neo4j" / "plugins" / "sidecypher.jar", own.plugin_folder)
        with (own.folder / "conf" / "neo4j.conf").open("a") as conf:
            conf.write("dbms.security.procedures.allowlist=sidecypher.*,rules.*\n")
        with running(own.process(restart=False)):
            variables = {
                "SIDECYPHER_HOME": str(tmp_path),
                "SIDECYPHER_NEO4J_URI": own.address.uri,
                "SIDECYPHER_NEO4J_PASSWORD_FILE": str(own.password_file),
                "SIDECYPHER_PROCEDURES": str(PROCEDURES),
                "SIDECYPHER_GITHUB_BASE_URL": server.environ["SIDECYPHER_GITHUB_BASE_URL"],
            }
            found = examined(clean_environment, **variables)

    assert found["Neo4j", "version"].found.endswith("named by `neo4j_uri`")
    assert found["Neo4j", "APOC"].state == "WARN"
    assert found["Neo4j", "offered"].state == "ERROR"
    assert "`dbms.security.procedures.allowlist` hides `" in found["Neo4j", "offered"].found
    assert ",github.*," in found["Neo4j", "offered"].fix
    assert "rules.*" not in found["Neo4j", "offered"].fix
    assert found["Schema", "migrations"].state == "WARN"
    assert "`V001__github_identities.cypher` is pending" in found["Schema", "migrations"].found
    assert "is unavailable" in found["Schema", "triggers"].found


def test_a_server_that_gives_no_answer_is_an_error(clean_environment, tmp_path):
    """A server that the settings name has to answer, and the password is in no line."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    variables = {
        "SIDECYPHER_HOME": str(tmp_path),
        "SIDECYPHER_NEO4J_URI": f"bolt://127.0.0.1:{port}",
        "SIDECYPHER_NEO4J_PASSWORD": SECRET,
        "SIDECYPHER_GITHUB_BASE_URL": f"http://127.0.0.1:{port}",
    }
    found = examined(clean_environment, **variables)

    assert found["Neo4j", "version"].state == "ERROR"
    assert found["Neo4j", "APOC"].state == "WARN"
    assert SECRET not in repr(found)
