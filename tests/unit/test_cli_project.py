"""`init` and `test`: a project that works from its first minute on."""

import json
import os
import signal
import stat
import subprocess
import sys
import tomllib

import pytest
import yaml
from fix_waiting import wait_until

from sidecypher.cli import init
from sidecypher.cli.init import FILES
from sidecypher.host.settings import load_settings


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that is the current one."""
    made = tmp_path / "work"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


def files_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_project_has_its_files_and_names_the_next_command(run, folder):
    """`init NAME` writes all files into a folder of that name, and says how to go on."""
    code, out, err = run("init", "people")

    written = files_of(folder)
    assert code == 0
    assert written == sorted(f"people/{path.format(name='people')}" for path in FILES)
    assert sorted(out.splitlines()) == written
    assert err.startswith("next: cd people && sidecypher dev")
    assert tomllib.loads((folder / "people/pyproject.toml").read_text())["project"]["name"] == (
        "people"
    )


def test_the_containers_get_what_the_project_has(run, folder):
    """`compose.yml` mounts package and jar; jar and secrets stay out of the repository."""
    run("init", "people")

    made = yaml.safe_load((folder / "people/compose.yml").read_text())
    ignored = (folder / "people/.gitignore").read_text().splitlines()
    mounted = {
        volume.partition(":")[0]
        for service in made["services"].values()
        for volume in service.get("volumes", [])
        if volume.startswith("./")
    }

    assert made["name"] == "people"
    assert {each["image"] for each in made["services"].values()} == {
        *("sidecypher-neo4j", "sidecypher-sidecar"),
    }
    assert mounted == {"./people", "./sidecypher.jar"}
    assert {"/sidecypher.jar", "/secrets/"} <= set(ignored)


def test_a_project_has_a_home_and_a_folder_of_procedures_of_its_own(run, folder, monkeypatch):
    """Commands in the folder of a project need no option: its settings are read there."""
    run("init", "people")
    monkeypatch.chdir(folder / "people")

    settings = load_settings({}, {})

    assert settings.home == folder / "people/.sidecypher"
    assert settings.procedures == (folder / "people/people",)


def test_the_tests_of_a_new_project_pass(run, folder, monkeypatch):
    """`sidecypher test` runs the project's tests, and passes on what it is given."""
    run("init", "people")
    monkeypatch.chdir(folder / "people")

    code, _, err = run("test", "--", "-q", "-p", "no:cacheprovider", "-p", "no:randomly")

    assert code == 0
    assert err.startswith("next: sidecypher plugin build")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("test_it.py", "def test_it():\n    assert False\n", 1),
        ("none.py", "", 1),
        ("test_it.py", "import pytest\ndef test_it():\n    pytest.exit('', 2)\n", 1),
        ("test_it.py", "def test_it(:\n", 1),
    ],
    ids=["failed", "none found", "given up", "broken file"],
)
def test_the_exit_code_tells_how_the_tests_ended(run, folder, name, content, expected):
    """A failure is 1, and so are a folder without tests and a file that is no Python."""
    (folder / name).write_text(content)

    assert (
        run("test", "--", "-q", "-p", "no:cacheprovider", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")[0]
        == expected
    )


SLOW_END = """
import pathlib, time
import pytest

@pytest.fixture
def server():
    yield
    # Longer than `subprocess.run` has patience with what it has started.
    time.sleep(0.5)
    pathlib.Path("down").touch()

def test_it(server):
    pathlib.Path("up").touch()
    while True:
        time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("number", "kill", "code"),
    [
        (signal.SIGINT, os.killpg, 130),
        (signal.SIGHUP, os.killpg, 128 + signal.SIGHUP),
        (signal.SIGTERM, os.kill, 128 + signal.SIGTERM),
    ],
    ids=["Ctrl-C", "closed terminal", "terminated"],
)
def test_whatever_ends_it_fixtures_are_torn_down(folder, clean_environment, number, kill, code):
    """A server that a fixture has started is stopped before the command ends."""
    (folder / "test_it.py").write_text(SLOW_END)
    command = subprocess.Popen(
        [sys.executable, "-m", "sidecypher", "test", "--", "-p", "no:cacheprovider"],
        env={**clean_environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=folder,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_until((folder / "up").exists)

    kill(command.pid, number)

    assert command.wait(60) == code
    assert (folder / "down").exists()


def test_arguments_that_pytest_does_not_know_end_with_2(run, folder):
    """What pytest calls a usage error is one of ours."""
    assert run("test", "--", "--wings", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")[0] == 2


def test_without_pytest_it_says_what_to_install(clean_environment, tmp_path):
    """Where pytest is missing `sidecypher test` is one error with the way out."""
    script = (
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name: None if name == 'pytest' else find(name)\n"
        "sys.argv = ['sidecypher', 'test']\n"
        "from sidecypher.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=clean_environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "error: pytest is not installed, and `sidecypher test` needs it [SC-613]",
        "hint: Install it where sidecypher is: `pip install pytest`.",
    ]


@pytest.mark.parametrize("kept", ["notes.txt", ".hidden"])
def test_a_folder_with_files_is_left_as_it_is(run, folder, kept):
    """`init` never writes into a folder that has anything in it."""
    (folder / "people").mkdir()
    (folder / "people" / kept).write_text("mine")

    code, out, err = run("init", "people")

    assert (code, out) == (1, "")
    assert "error: `people` already exists and is not empty [SC-612]" in err
    assert files_of(folder) == [f"people/{kept}"]


def test_a_file_of_that_name_is_left_as_it_is(run, folder):
    """`init` replaces no file by a folder."""
    (folder / "people").write_text("mine")

    assert run("init", "people")[0] == 1
    assert (folder / "people").read_text() == "mine"


def test_an_empty_folder_becomes_the_project(run, folder):
    """A folder that was made for it is used."""
    (folder / "people").mkdir()

    assert run("init", "people")[0] == 0
    assert len(files_of(folder)) == len(FILES)


@pytest.mark.parametrize(
    "name",
    [
        *("", "People", "my-project", "my_project", "../up", "a/b", "class", "db", "tests"),
        *("github", "rules", "runs", "sidecypher", "1st", "é", "x" * 41, "native"),
        *("neo4j", "json", "calendar", "email", "queue", "pytest"),
    ],
)
def test_a_name_that_cannot_be_a_namespace_is_refused(run, folder, name):
    """The name is a package, a folder and a namespace of Cypher; what is not all three is none."""
    code, out, err = run("init", "--", name)

    assert (code, out) == (1, "")
    assert "[SC-612]" in err
    assert "sidecypher init people" in err
    assert list(folder.iterdir()) == []


def test_what_lies_in_the_current_folder_takes_no_name(run, folder, monkeypatch):
    """Python finds modules of the current folder too; `init` tells itself what is there."""
    monkeypatch.syspath_prepend(str(folder))
    (folder / "people").mkdir()

    assert run("init", "people")[0] == 0


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_project_is_as_open_as_all_that_one_makes(run, folder, umask):
    """Its folder has the rights of any other new one."""
    before = os.umask(umask)
    try:
        run("init", "people")
    finally:
        os.umask(before)

    assert stat.S_IMODE((folder / "people").stat().st_mode) == 0o777 & ~umask


@pytest.mark.parametrize("made", ["a file", "a folder with a file"])
def test_what_comes_meanwhile_is_left_as_it_is(run, folder, monkeypatch, made):
    """What somebody puts there while files are written is not replaced."""
    rendered = init._rendered

    def meanwhile(template, name):
        path = folder / "people" if made == "a file" else folder / "people/notes.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        return rendered(template, name)

    monkeypatch.setattr(init, "_rendered", meanwhile)

    code, _, err = run("init", "people")

    assert code == 1
    assert "error: `people` already exists and is not empty [SC-612]" in err
    assert files_of(folder) == ["people" if made == "a file" else "people/notes.txt"]


def test_a_folder_that_was_taken_away_takes_no_project(run, folder):
    """In a current folder that is no more, it says to go to another one."""
    folder.rmdir()

    code, _, err = run("init", "people")

    assert code == 1
    assert "No such file or directory [SC-614]" in err
    assert "change to an existing folder" in err


def test_nothing_half_written_stays(run, folder, monkeypatch):
    """When a file cannot be written, neither the folder nor a draft of it is there."""

    def full(template, name):
        if template == "greeting.py.j2":
            raise OSError(28, "No space left on device", "greeting.py")
        return ""

    monkeypatch.setattr(init, "_rendered", full)

    code, _, err = run("init", "people")

    assert code == 1
    assert "error: `greeting.py` cannot be written or read: No space left on device" in err
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, "sidecypher[embedded]~={version}"),
        ({"url": "file:///a/w.whl"}, "sidecypher[embedded] @ file:///a/w.whl"),
        (
            {"url": "https://host/r.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}},
            "sidecypher[embedded] @ git+https://host/r.git@c0ffee",
        ),
    ],
    ids=["index", "file", "repository"],
)
def test_a_project_depends_on_the_sidecypher_that_wrote_it(
    run, folder, monkeypatch, origin, requirement
):
    """Its requirement installs that sidecypher again, wherever an installer got it from."""

    class Installed:
        version = "9.1.2"

        def read_text(self, name):
            assert name == "direct_url.json"
            return None if origin is None else json.dumps(origin)

    monkeypatch.setattr(init, "distribution", lambda _name: Installed())

    run("init", "people")

    written = tomllib.loads((folder / "people/pyproject.toml").read_text())["project"]
    assert written["dependencies"] == [requirement.format(version=Installed.version)]
