"""`config`, `version`, `procedures` and `logs`: what there is, for people and for programs."""

import errno
import json
import subprocess
import sys

import pytest
from fix_modules import good, write

from sidecypher.cli import logs
from sidecypher.cli.errors import storage_failure
from sidecypher.host.settings import Settings

SECRET = "hunter2"


def rows_of(out):
    return {row["name"]: row for row in json.loads(out)}


def test_every_setting_is_told_with_its_source(run, tmp_path):
    """`config` lists all settings with value and source, and reads nothing else."""
    (tmp_path / "my.toml").write_text("http_port = 7002\nlog_level = 'DEBUG'\n")

    code, out, err = run(
        *("config", "--json", "--config", str(tmp_path / "my.toml"), "--procedures", "/srv/my"),
        SIDECYPHER_LOG_LEVEL="ERROR",
    )

    found = rows_of(out)
    assert (code, err) == (0, "")
    assert list(found) == list(Settings.model_fields)
    assert {name: (found[name]["value"], found[name]["from"]) for name in found if name in (
        "http_port", "log_level", "procedures", "lane"
    )} == {
        "http_port": (7002, "file"),
        "log_level": ("ERROR", "environment"),
        "procedures": (["/srv/my"], "option"),
        "lane": ("lts", "default"),
    }  # fmt: skip


def test_no_secret_is_told(run):
    """Passwords, those within an address included, and variables of others show no value."""
    variables = {
        "SIDECYPHER_NEO4J_PASSWORD": SECRET,
        "SIDECYPHER_MAVEN_URL": f"https://ann:{SECRET}@maven.example.com/central",
        "SIDECYPHER_GITHUB_TOKEN": SECRET,
    }
    for arguments in (["config"], ["config", "--json"]):
        code, out, err = run(*arguments, **variables)

        assert code == 0
        assert SECRET not in out + err
    found = rows_of(out)
    assert found["neo4j_password"]["value"] == "(not shown)"
    assert found["maven_url"]["value"] == "https://(not shown)@maven.example.com/central"
    assert found["SIDECYPHER_GITHUB_TOKEN"] == {
        "name": "SIDECYPHER_GITHUB_TOKEN", "value": "(not shown)", "from": "environment",
    }  # fmt: skip


@pytest.mark.parametrize(
    "url",
    [
        f"ann:{SECRET}@maven.example.com",
        f"https://ann:p/{SECRET}@host/x",
        f"https://ann:{SECRET}℀@host/x",
        f"https://ann:{SECRET}[@host/x",
        f"https://@host/{SECRET}",
    ],
)
def test_an_address_that_hides_no_password_is_not_told(run, url):
    """One whose password has no certain end is refused, in one message that does not show it."""
    code, out, err = run("config", SIDECYPHER_MAVEN_URL=url)

    assert (code, out) == (2, "")
    assert err.startswith("error: The setting `maven_url` cannot be used")
    assert SECRET not in err


def test_of_an_address_only_the_user_is_hidden(run):
    """Whatever else in it is the same text as the user."""
    _, out, _ = run("config", "--json", SIDECYPHER_MAVEN_URL="https://m@maven.example.com/m")

    assert rows_of(out)["maven_url"]["value"] == "https://(not shown)@maven.example.com/m"


def test_the_version_tells_what_must_fit_together(run, tmp_path):
    """`version` has the hash of all signatures, which another procedure changes."""
    _, out, err = run("version", "--json")
    write(tmp_path, "my/word.py", good("kg.word"))
    _, other, _ = run("version", "--json", "--procedures", str(tmp_path / "my"))
    _, shown, _ = run("version")

    facts, others = json.loads(out), json.loads(other)
    assert err == ""
    assert list(facts) == ["sidecypher", "python", "neo4j", "core", "catalogue"]
    assert list(facts["neo4j"]) == ["lts", "current"]
    assert facts["catalogue"] != others["catalogue"]
    assert facts["catalogue"] in shown


def test_the_version_of_what_cannot_be_loaded_is_none(run, tmp_path):
    """The hash of the other signatures would be that of another installation."""
    write(tmp_path, "my/word.py", "def broken(:")
    code, out, err = run("version", "--json", "--procedures", str(tmp_path / "my"))

    assert (code, json.loads(out)["catalogue"]) == (0, None)
    assert "`word.py` is left out" in err


@pytest.mark.slow
@pytest.mark.parametrize("command", ["version", "procedures", "doctor"])
def test_json_is_all_there_is_whatever_a_module_writes(clean_environment, tmp_path, home, command):
    """Also to the descriptor itself, or by a program that it runs."""
    write(
        tmp_path,
        "my/loud.py",
        "import os, subprocess\nos.write(1, b'loud')\n"
        "subprocess.run(['echo', 'louder'])\nprint('loudest')\n" + good("kg.loud"),
    )
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher", command, "--json", "--procedures", "my"],
        env={
            **clean_environment,
            "SIDECYPHER_HOME": str(home),
            "SIDECYPHER_GITHUB_BASE_URL": "http://127.0.0.1:9",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert json.loads(done.stdout)
    assert "loud" in done.stderr
    assert "louder" in done.stderr


def test_procedures_are_told_with_a_sample_call(run, tmp_path):
    """`procedures` lists those of installed packages and own folders, with what to paste."""
    write(tmp_path, "my/word.py", good("kg.word"))
    folder = ("--procedures", str(tmp_path / "my"))

    _, out, err = run("procedures", "kg", "--json", *folder)
    _, everything, _ = run("procedures", "--json", *folder)
    code, shown, _ = run("procedures", "kg", *folder)

    assert (code, err) == (0, "")
    assert json.loads(out) == [
        {
            "name": "kg.word",
            "kind": "procedure",
            "mode": "READ",
            "signature": "kg.word() :: (value :: STRING)",
            "description": "",
            "options": [],
            "sample": "CALL kg.word() YIELD value",
        }
    ]
    assert {"kg.word", "github.getIssue", "sidecypher.health"} <= set(rows_of(everything))
    assert "CALL kg.word() YIELD value" in shown


def test_options_are_listed_with_their_meaning(run, tmp_path):
    """`procedures` lists each option with its path, type, default and description."""
    write(
        tmp_path,
        "my/search.py",
        """
from typing import Annotated

from sidecypher import Description, Options, Row, procedure

class Hit(Row):
    text: str

class SearchOptions(Options):
    max_age: Annotated[float, Description("seconds")] = 60.0

@procedure("kg.search")
def search(
    text: Annotated[str, Description("words")], options: SearchOptions = SearchOptions()
) -> Hit:
    return Hit(text=text)
""",
    )
    folder = ("--procedures", str(tmp_path / "my"))
    meaning = "FLOAT, default 60.0: seconds"

    _, out, _ = run("procedures", "kg", "--json", *folder)
    _, shown, _ = run("procedures", "kg", *folder)

    assert json.loads(out)[0]["options"] == [
        {"name": "text", "meaning": "STRING: words"},
        {"name": "options.maxAge", "meaning": meaning},
    ]
    assert "    `text` is STRING: words\n" in shown
    assert f"    `options.maxAge` is {meaning}\n" in shown


def test_a_name_that_no_procedure_has_is_told(run):
    """`procedures NAME` that finds none fails, with the way to all of them."""
    code, out, err = run("procedures", "wings")

    assert (code, out) == (1, "")
    assert "No procedure's name begins with `wings`" in err


@pytest.fixture
def log_folder(home):
    folder = home / "logs"
    folder.mkdir(parents=True)
    (folder / "neo4j.log").write_text(
        "2026-01-01 10:00:00.500+0000 INFO  Started.\n\tat a place\nno time yet\n"
    )
    (folder / "sidecar.log").write_text(
        '{"event": "sidecar ready", "level": "info", "timestamp": "2026-01-01T10:00:00.100000Z"}\n'
        "printed by a procedure\n"
        '{"call": "c-1", "rows": [1], "event": "call failed", "level": "warning", '
        '"timestamp": "2026-01-01T10:00:01Z"}\n'
        '{"call": "c-12", "event": "call failed", "level": "warning", '
        '"timestamp": "2026-01-01T10:00:02Z"}\n'
        "no end of this li"
    )
    return folder


def events(out):
    return [(line[:10].strip(), line[11:].strip()) for line in out.splitlines()]


def test_lines_of_all_processes_come_by_time(run, log_folder):
    """What has no time of its own stays behind the line before it; a begun line has to wait."""
    code, out, err = run("logs")

    assert (code, err) == (0, "")
    sidecar = (log_folder / "sidecar.log").read_text().splitlines()
    neo4j = (log_folder / "neo4j.log").read_text().splitlines()
    assert events(out) == [
        *(("sidecar", line) for line in sidecar[:2]),
        *(("neo4j", line.strip()) for line in neo4j),
        *(("sidecar", line) for line in sidecar[2:4]),
    ]


def test_lines_are_chosen_by_process_number_and_call(run, log_folder):
    """An id is matched whole, and the number of lines is that of those chosen."""
    assert [each[0] for each in events(run("logs", "--process", "neo4j")[1])] == ["neo4j"] * 3
    assert len(events(run("logs", "--lines", "2")[1])) == 2
    assert run("logs", "--lines", "0")[1] == ""
    [(_, about)] = events(run("logs", "--call", "c-1")[1])
    assert json.loads(about)["call"] == "c-1"
    assert run("logs", "--call", "c-2") == (0, "", "No line has the call id `c-2`.\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [((), "This home has no log"), (("--process", "wings"), "no log of `wings`")],
)
def test_a_log_that_is_not_there_is_told(run, arguments, told):
    """`logs` of a home that never ran, or of an unknown process, fails with the way out."""
    code, out, err = run("logs", *arguments)

    assert (code, out) == (1, "")
    assert told in err
    assert "[SC-615]" in err


def test_what_is_written_later_is_followed(run, log_folder, monkeypatch):
    """`--follow` shows what comes, a new process and a truncated file included, until Ctrl-C."""
    begun = (log_folder / "sidecar.log").read_text()
    steps = iter(
        [
            lambda: (log_folder / "sidecar.log").write_text(begun + "ne\n"),
            lambda: (log_folder / "sidecar-2.log").write_text("new\n"),
            lambda: (log_folder / "neo4j.log").write_text("begun anew\n"),
        ]
    )

    def step(_seconds):
        following = next(steps, None)
        if following is None:
            raise KeyboardInterrupt
        following()

    monkeypatch.setattr(logs, "sleep", step)

    code, out, _ = run("logs", "--follow", "--lines", "1")

    assert code == 130
    assert events(out)[1:] == [
        ("sidecar", "no end of this line"),
        ("sidecar-2", "new"),
        ("neo4j", "begun anew"),
    ]


def test_a_log_that_is_taken_away_ends_nothing(run, log_folder):
    """A link to nowhere, as a file that is removed meanwhile, has no lines."""
    (log_folder / "gone.log").symlink_to(log_folder / "nowhere")
    before = run("logs")

    assert before[0] == 0


def test_only_errors_of_files_are_told_as_such():
    """A refused connection is no trouble of a disk."""
    assert storage_failure(ConnectionRefusedError(111, "Connection refused")) is None
    assert storage_failure(PermissionError(13, "Permission denied", "/srv/x")).code == "SC-614"


@pytest.mark.parametrize("name", ["ENOENT", "EIO", "EBUSY", "EMFILE", "ENFILE", "ENOSPC", "EROFS"])
def test_each_trouble_of_a_file_has_its_way_out(name):
    """What a disk or a folder can do to a command is an error with a hint, no traceback."""
    told = storage_failure(OSError(getattr(errno, name), "told", "/srv/x"))

    assert (told.code, told.message) == ("SC-614", "`x` cannot be written or read: told")
    assert told.hint.endswith(".")
