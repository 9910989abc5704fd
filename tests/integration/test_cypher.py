"""`sidecypher cypher`, and a package's command, on a real server."""

import csv
import io
import json
import subprocess
import sys

import pytest
from fix_acme import COMMANDS, install_acme


def test_parameters_are_json_or_else_strings(server):
    """Each value keeps its type, and the row has every column in order."""
    query = "RETURN $n + 1 AS n, $t AS t, $l[0] AS first, $m.a AS a"
    done = server.command(
        *("cypher", query, "--format", "json"),
        *("-P", "n=41", "-P", "t=a=b", "-P", "l=[true]", "-P", 'm={"a": null}'),
    )

    assert done.stderr == ""
    assert json.loads(done.stdout) == [{"n": 42, "t": "a=b", "first": True, "a": None}]


@pytest.mark.parametrize("value", [str(2**63), '"\\ud800"', "\udcff"], ids=ascii)
def test_a_value_that_cannot_be_sent_is_an_error(server, value):
    """An integer beyond 64 bits and what is no text fail without a traceback."""
    for arguments in (("cypher", "RETURN $x", "-P", f"x={value}"), ("call", "test.echo", value)):
        done = server.command(*arguments)

        assert done.returncode == 1
        assert "[SC-215]" in done.stderr.splitlines()[0]
        assert "Traceback" not in done.stderr


def test_a_statement_comes_from_a_file_or_from_standard_input(server, tmp_path):
    """`-f FILE` and `-` run the same as the statement itself."""
    file = tmp_path / "one.cypher"
    file.write_text("RETURN 1 AS one")
    told = [
        server.command("cypher", "RETURN 1 AS one", "--format", "csv"),
        server.command("cypher", "-f", file, "--format", "csv"),
        server.command("cypher", "-", "--format", "csv", text_in="RETURN 1 AS one"),
    ]

    assert [each.stdout for each in told] == ["one\n1\n"] * 3


def test_values_that_json_does_not_have_are_shown(server):
    """A table and CSV have dates as text, and JSON has them with their tag, as over HTTP."""
    query = (
        "WITH point({x: 1, y: 2}) AS p "
        "RETURN date('2024-02-29') AS day, 'a,b' AS text, [1, null] AS list, p"
    )
    table, as_csv, as_json = (
        server.command("cypher", query, "--format", name).stdout
        for name in ("table", "csv", "json")
    )

    point = {"$point": [7203, 1.0, 2.0]}
    assert list(csv.reader(io.StringIO(as_csv)))[1] == [
        *("2024-02-29", "a,b", "[1, null]", json.dumps(point))
    ]
    assert "2024-02-29" in table
    assert json.loads(as_json)[0]["day"] == {"$date": "2024-02-29"}
    assert json.loads(as_json)[0]["p"] == point


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["RETURN"], 1, "[SC-206]"),
        (["RETURN $missing"], 1, "missing"),
        ([], 2, "either a statement or `--file`"),
        (["RETURN 1", "-f", "x"], 2, "either a statement or `--file`"),
        (["RETURN 1", "-P", "x"], 2, "`x` is not a parameter"),
        (["-f", "/none/x.cypher"], 1, "`x.cypher` cannot be written or read"),
    ],
)
def test_mistakes_are_errors_with_their_exit_code(server, arguments, code, told):
    """A failed statement ends with 1, a wrong command line with 2; there is no traceback."""
    done = server.command("cypher", *arguments)

    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert done.stderr.startswith("error: ")


def test_a_statement_without_rows_prints_none(server, session):
    """What it writes is committed; standard output stays empty, and in JSON it is a list."""
    done = server.command("cypher", "CREATE (:Written {by: $by})", "-P", "by=cli")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "No rows.\n")
    assert session.run("MATCH (n:Written {by: 'cli'}) RETURN count(n)").single().value() == 1
    assert server.command("cypher", "FINISH", "--format", "json").stdout == "[]\n"


def test_the_command_of_a_package_shows_rows(server, session, tmp_path):
    """The command of the guide reads the graph of the server that commands talk to."""
    session.run("UNWIND ['new', 'new', 'done'] AS state CREATE (:Message {state: state})").consume()
    install_acme(tmp_path, commands=COMMANDS)

    done = subprocess.run(
        [sys.executable, "-m", "sidecypher", "acme", "--json"],
        env=server.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stderr == ""
    assert json.loads(done.stdout) == [
        {"state": "done", "messages": 1},
        {"state": "new", "messages": 2},
    ]
