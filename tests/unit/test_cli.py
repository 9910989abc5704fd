"""The command line: results on standard output, errors as *error / hint*, codes 0, 1 and 2."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys

import pytest

from sidecypher.cli import up as up_command
from sidecypher.cli.call import call_procedure, statement, value_of
from sidecypher.cli.commands import COMMANDS, all_commands, load_command
from sidecypher.cli.output import download_bar, show_error, show_json, show_table
from sidecypher.cli.supervise import _sidecar
from sidecypher.cli.up import _environment
from sidecypher.errors import SidecypherError
from sidecypher.host.settings import load_settings

SECRET = "hunter2"


def test_help_names_every_command(run):
    """`--help` ends with 0 and names the commands; the supervisor's own is not shown."""
    code, out, err = run("--help")

    assert (code, err) == (0, "")
    for name, command in COMMANDS.items():
        assert (f" {name} " in out) is (command.panel is not None)


SESSION_COMMANDS = (
    *("errors", "people"),
    *(f"people.{name}" for name in ("commands", "connection", "conversation", "terminal")),
)


def imported_by(program):
    """Return the names of all modules that a new interpreter has after a program."""
    program += "import sys\nprint(*sys.modules, sep='\\n', file=sys.stderr)\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines())


def test_help_imports_nothing_of_what_commands_do():
    """`--help` is quick because it knows the commands without their modules."""
    imported = imported_by(
        "from sidecypher.cli.main import app\napp(['--help'], standalone_mode=False)\n"
    )

    assert not {"asyncio", "httpx", "neo4j", "pydantic", "structlog"} & imported
    assert {name for name in imported if name.startswith("sidecypher")} == {
        *("sidecypher", "sidecypher.cli", "sidecypher.cli.commands", "sidecypher.cli.errors"),
        "sidecypher.cli.main",
        *("sidecypher.cli.options", "sidecypher.cli.packages", "sidecypher.errors"),
        # Commands of packages are imported for their help.
        "sidecypher_procedures",
        *("sidecypher_procedures.agents", "sidecypher_procedures.agents.commands"),
        "sidecypher_procedures.agents.errors",
        *("sidecypher_procedures.code", "sidecypher_procedures.code.commands"),
        *("sidecypher_procedures.runs", "sidecypher_procedures.session"),
        *("sidecypher_procedures.sync", "sidecypher_procedures.sync.commands"),
        *("sidecypher_procedures.sync.changes", "sidecypher_procedures.sync.changes.commands"),
        "sidecypher_procedures.sync.postgres",
        "sidecypher_procedures.sync.postgres.commands",
        *(f"sidecypher_procedures.runs.{name}" for name in ("commands", "drawing", "errors")),
        *(f"sidecypher_procedures.session.{name}" for name in SESSION_COMMANDS),
        *("sidecypher_procedures.command_options", "sidecypher_procedures.terminal"),
    }


def test_what_asks_a_server_imports_no_sidecar():
    """`status` and its like start without what serves calls: a second each on a busy machine."""
    loaded = imported_by("from sidecypher.cli import call, cypher, down, migrate, status\n")

    assert not loaded & {"sidecypher.app", "sidecypher.loading.loader", "sidecypher_plugin.builder"}


def test_a_start_imports_no_package_before_it_is_used():
    """`up` and its sidecar read all shipped procedures without the driver and without schemas.

    Each takes a fifth of a second, and one more where it finds pandas or the packages of Jupyter.
    """
    loaded = imported_by(
        "from sidecypher.cli import serve, up\n"
        "from sidecypher.loading.loader import load\n"
        "load([])\n"
    )

    assert "sidecypher_procedures.session.procedures" in loaded
    assert not loaded & {"jsonschema", "neo4j", "numpy", "pandas", "redis", "psycopg"}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_their_own_help_says(name):
    """The summary in the list is the first paragraph of the command's own help."""
    command = load_command(name)

    assert command.name == name
    assert COMMANDS[name].summary == " ".join(command.help.split("\n\n")[0].split())


VERBS = {
    *("Adopt", "Apply", "Build", "Call", "Check", "Count", "Draw", "Index", "Keep", "List"),
    *("Load", "Print", "Search"),
    *("Answer", "Remove", "Run", "Show", "Start", "Stop", "Watch", "Write"),
}
OPTION_VERBS = {
    *("Apply", "Call", "Choose", "Draw", "Leave", "List", "Listen", "Load", "Log", "Name", "Pass"),
    *(
        "Print",
        "Read",
        "Run",
        "Serve",
        "Set",
        "Show",
        "Skip",
        "Try",
        "Use",
        "Wait",
        "Watch",
        "Write",
    ),
}


def helped(commands):
    """Yield every command below these by its full name, groups included."""
    for name, command in commands.items():
        yield name, command
        verbs = getattr(command, "commands", {})
        yield from helped({f"{name} {verb}": each for verb, each in verbs.items()})


HELPED = dict(helped(all_commands()))


@pytest.mark.parametrize("name", HELPED)
def test_help_is_an_order_of_one_short_line(name):
    """A command and each of its options say in 60 characters what they do, without a link."""
    command = HELPED[name]
    summary = " ".join(command.help.split("\n\n")[0].split())
    options = {each.name: each.help for each in command.params if each.name != "help"}

    assert summary.split()[0] in VERBS
    assert {text.split()[0] for text in options.values()} <= OPTION_VERBS
    for text in (summary, *options.values()):
        assert len(text) <= 60
        assert text.endswith(".")
        assert "](" not in text


@pytest.mark.parametrize("words", ["", "up", "migrate info", "runs show", "cypher"])
def test_help_has_a_short_option(run, words):
    """Every command and verb takes `-h`, those of packages too."""
    code, out, err = run(*words.split(), "-h")

    assert (code, err) == (0, "")
    assert "Usage: sidecypher" in out


def test_the_version_is_one_line(run):
    """`--version` prints the name and the version, whatever is installed or set."""
    code, out, err = run("--version", SIDECYPHER_PROT="1")

    assert (code, err) == (0, "")
    assert re.fullmatch(r"sidecypher \d+\.\d+\.\d+\S*\n", out)


@pytest.mark.parametrize(
    ("line", "offered"),
    [("mig", ["migrate"]), ("up --hom", ["--home"]), ("migrate va", ["validate"])],
)
def test_a_shell_completes_commands_options_and_verbs(line, offered):
    """What is completed behind a command is that command's, though its module is loaded late."""
    words = f"sidecypher {line}"
    done = subprocess.run(
        [sys.executable, "-m", "sidecypher"],
        env={
            **os.environ,
            "_SIDECYPHER_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.split() == offered


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["staus"], "status"),
        (["migrate", "valdate"], "validate"),
        (["status", "--hom", "x"], "--home"),
        (["up", "--procedure", "x"], "--procedures"),
    ],
    ids=" ".join,
)
def test_a_misspelt_command_or_option_is_told_what_was_meant(run, arguments, meant):
    """The nearest name of a command, verb or option is in the hint."""
    code, _, err = run(*arguments)

    assert code == 2
    assert f"\nhint: Did you mean `{meant}`? Run `sidecypher " in err


@pytest.mark.parametrize(
    ("arguments", "message", "command"),
    [
        (["fly"], "No such command `fly`", ""),
        (["status", "--wings"], "No such option: --wings", " status"),
        (["call"], "Missing argument `name`", " call"),
        (["runs", "show"], "Missing argument `run`", " runs show"),
        (["up", "--lane", "old"], "Invalid value for `--lane`: `old` is not one of", " up"),
        (["migrate", "fly"], "No such command `fly`", " migrate"),
        (["migrate", "--json", "info"], "Invalid value: Put options after", " migrate"),
    ],
    ids=" ".join,
)
def test_what_is_not_understood_is_told_as_any_other_error(run, arguments, message, command):
    """Two lines without box or colour: what is wrong, and whose help to read."""
    code, out, err = run(*arguments)
    error, hint, *more = err.splitlines()

    assert (code, out, more) == (2, "", [])
    assert error.startswith(f"error: {message}")
    assert error.endswith(" [SC-616]")
    assert hint == f"hint: Run `sidecypher{command} --help` for details."


@pytest.mark.parametrize(("no_color", "is_red"), [("", True), ("1", False)])
def test_an_error_is_red_on_a_terminal_only_where_colours_are_wanted(no_color, is_red):
    """`NO_COLOR` counts for a command line that is not understood, too."""
    terminal, of_command = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "NO_COLOR": no_color}
    try:
        subprocess.run(
            [sys.executable, "-m", "sidecypher", "fly"], stderr=of_command, env=environ, check=False
        )
        told = b""
        while b"for details" not in told:
            told += os.read(terminal, 10_000)
    finally:
        os.close(of_command)
        os.close(terminal)

    assert (b"\x1b[1;31merror" in told) is is_red


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["status", "--wings"],
        ["serve", "--port", "x"],
        ["call"],
        ["plugin"],
        ["plugin", "fly"],
        ["migrate", "fly"],
        ["runs"],
        ["runs", "show"],
        ["migrate", "--json", "info"],
        ["migrate", "--wait", "-1"],
    ],
    ids=" ".join,
)
def test_a_command_that_is_not_understood_ends_with_2(run, arguments):
    """An unknown command, option or value ends with 2, without a traceback."""
    code, out, err = run(*arguments)

    assert code == 2
    assert "Traceback" not in out + err


def test_nothing_running_is_status_1(run, home):
    """`status` where nothing runs ends with 1, says so and what to do, and writes nothing."""
    code, out, err = run("status")

    assert (code, err) == (1, "next: sidecypher up  # starts what does not run\n")
    assert out == "Not running.\n"
    assert not home.exists()


def test_json_is_all_there_is_on_standard_output(run, home):
    """`status --json` prints one JSON document with the promised names."""
    code, out, err = run("status", "--json")

    assert (code, err) == (1, "")
    facts = json.loads(out)
    promised = {"bolt", "http", "user", "password_file", "sidecar", "pid", "running", "home"}
    assert promised <= set(facts)
    assert (facts["running"], facts["pid"], facts["sidecar"]) == (False, None, None)
    assert (facts["user"], facts["home"]) == ("neo4j", str(home))
    assert facts["password_file"] == str(home / "neo4j-password")


def test_the_home_may_be_given_by_flag(run, tmp_path):
    """`--home` beats SIDECYPHER_HOME."""
    _, out, _ = run("status", "--json", "--home", str(tmp_path / "other"))

    assert json.loads(out)["home"] == str(tmp_path / "other")


def test_each_sidecar_has_a_name_and_a_log_and_only_the_first_one_the_ports(home):
    """Several sidecars are supervised side by side; a port can be that of one of them only."""
    settings = load_settings({"home": home, "port": 7001, "sidecars": 3}, {})
    specs = [_sidecar(settings, number) for number in range(settings.sidecars)]

    assert [spec.name for spec in specs] == ["sidecar", "sidecar-2", "sidecar-3"]
    assert [spec.log_file.name for spec in specs] == [f"{spec.name}.log" for spec in specs]
    for option in ("--port", "--http-port", "--listen"):
        assert [option in spec.argv for spec in specs] == [False, True, True]
    environment = {"SIDECYPHER_LISTEN": "tls://10.0.0.7:7001"}
    assert load_settings({"home": home, "listen": ""}, environment).listen_address is None
    assert {spec.env["SIDECYPHER_RUN_DIR"] for spec in specs} == {str(home / "run")}


@pytest.mark.parametrize("password", ["hunter2", "  hunter2 ", r"hunter2\n", r"hunter2\n\n"])
def test_a_password_of_a_file_reaches_the_processes_by_a_file(home, tmp_path, password):
    """Only its owner can read it, no environment holds it, and a start without it removes it."""
    file = home / "run" / "server-password"
    (tmp_path / "given.toml").write_text(f'neo4j_password = "{password}"')
    settings = load_settings({"home": home}, {}, tmp_path / "given.toml")

    environ = _environment(settings, {})

    assert "hunter2" not in str(environ)
    assert file.stat().st_mode & 0o777 == 0o600
    assert load_settings({}, environ).neo4j_password == settings.neo4j_password
    _environment(load_settings({"home": home}, {}), {})
    assert not file.exists()


@pytest.mark.parametrize("name", ["SIDECYPHER_NEO4J_PASSWORD", "SIDECYPHER_NEO4J_PASSWORD_FILE"])
def test_a_password_of_the_environment_is_written_nowhere(home, tmp_path, name):
    """The processes inherit the variable as it is."""
    (tmp_path / "password").write_text("x")
    environ = {name: str(tmp_path / "password")}

    given = _environment(load_settings({"home": home}, environ), environ)

    assert given[name] == environ[name]
    assert not (home / "run").exists()


def test_processes_of_the_embedded_neo4j_do_not_see_another_one(home):
    """`up` keeps the variables of Neo4j's tools from its sidecars."""
    environ = {"NEO4J_URI": "neo4j://elsewhere", "NEO4J_PASSWORD": "x", "PATH": "/bin"}

    given = _environment(load_settings({"home": home}, {}), environ)

    assert load_settings({}, given).neo4j_uri == ""
    assert not [name for name in given if name.startswith("NEO4J_")]
    assert given["PATH"] == "/bin"


def test_a_signal_that_is_ignored_stays_so(run):
    """`nohup` has set SIGHUP so, and expects the program to leave it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        run("config")

        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_down_where_nothing_runs_is_no_failure(run):
    """`down` may be said twice."""
    code, out, err = run("down")

    assert (code, out) == (0, "")
    assert err.splitlines() == [
        "Nothing was running.",
        "next: sidecypher up  # starts Neo4j and the sidecar",
    ]


@pytest.mark.parametrize("command", [["status"], ["down"], ["serve"], ["call", "kg.a"], ["up"]])
def test_an_unknown_setting_ends_every_command_with_2(run, home, command):
    """A mistyped SIDECYPHER_ variable is refused by name, with a hint, before anything is done."""
    code, out, err = run(*command, SIDECYPHER_PROT=SECRET)

    assert (code, out) == (2, "")
    assert "error: There is no setting `SIDECYPHER_PROT` [SC-601]" in err
    assert "hint: Did you mean `SIDECYPHER_PORT`?" in err
    assert SECRET not in err
    assert not home.exists()


@pytest.mark.parametrize("command", ["dev", "serve"])
@pytest.mark.parametrize("port", ["0", "65536", "-1"])
def test_a_debugger_has_a_port_that_exists(run, command, port):
    """Any other one is refused before anything is started."""
    code, _, err = run(command, "--debug-port", port)

    assert code == 2
    assert "error: Invalid value for `--debug-port`: Input should be" in err


def test_a_wrong_value_ends_with_2_and_is_not_shown(run):
    """A value that cannot be used is told by its setting."""
    code, _, err = run("status", SIDECYPHER_PORT=SECRET)

    assert code == 2
    assert "error: The setting `port` cannot be used" in err
    assert SECRET not in err


@pytest.mark.parametrize("command", ["down", "restart", "logs", "reload", "status"])
def test_a_neo4j_of_other_tools_concerns_no_command_that_does_not_connect(
    run, monkeypatch, command
):
    """An address for other tools that sidecypher refuses does not keep anybody from stopping it."""
    monkeypatch.setattr(up_command, "up", lambda *_: None)
    _, _, err = run(command, NEO4J_URI="http://elsewhere:7474")

    assert "neo4j_uri" not in err


def test_a_call_where_nothing_runs_tells_what_to_start(run):
    """`call` without a server ends with 1 and names the two ways out."""
    code, out, err = run("call", "kg.score")

    assert (code, out) == (1, "")
    assert "error: There is no Neo4j to connect to [SC-" in err
    assert "hint: Run `sidecypher up`, or set SIDECYPHER_NEO4J_URI." in err


@pytest.mark.parametrize("name", ["score", "kg.score() RETURN 1 //", "kg.a-b", "db.labels"])
def test_a_call_of_what_is_no_name_ends_with_1(run, name):
    """A name that is none is refused before anything is sent."""
    code, out, err = run("call", name, SIDECYPHER_NEO4J_URI="bolt://127.0.0.1:1")

    assert (code, out) == (1, "")
    assert name in err.splitlines()[0]
    assert "[SC-101]" in err
    assert "hint: " in err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("1.5", 1.5),
        ("null", None),
        ("true", True),
        ('{"a": [1, "b"]}', {"a": [1, "b"]}),
        ('"5"', "5"),
        ("neo4j", "neo4j"),
        ("", ""),
        ("{a: 1}", "{a: 1}"),
        ("2024-02-29", "2024-02-29"),
    ],
)
def test_an_argument_is_json_if_it_parses_as_json(text, value):
    """Each argument of `call` is JSON, or else the text as it stands."""
    assert value_of(text) == value


class Asked:
    """Stands in for a driver: keeps the query that it is asked."""

    def execute_query(self, query, parameters, database_):
        self.query, self.parameters, self.database = query, parameters, database_


def test_a_call_has_the_time_that_its_procedure_has():
    """The limit that the server has for transactions, 60 s in the embedded one, is not for it."""
    asked = Asked()
    call_procedure(asked, "runs.archive", ["r1"])

    assert (asked.query.text, asked.parameters) == ("CALL runs.archive($a0)", {"a0": "r1"})
    assert asked.query.timeout == 0


def test_values_are_parameters_of_the_statement():
    """The statement has the name and parameters; no value is ever written into it."""
    assert statement("kg.score", 0) == "CALL kg.score()"
    assert statement("kg.score", 3) == "CALL kg.score($a0, $a1, $a2)"


@pytest.mark.parametrize("command", [("call", "kg.score"), ("migrate",), ("cypher", "RETURN 1")])
def test_a_dns_that_fails_for_good_is_an_error(run, monkeypatch, command):
    """The driver raises a ValueError then, which must not become a traceback."""

    def fail(*_, **__):
        raise socket.gaierror(socket.EAI_FAIL, "Non-recoverable failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", fail)

    code, _, err = run(*command, SIDECYPHER_NEO4J_URI="bolt://neo4j.example")

    assert code == 1
    assert err.startswith("error: ")
    assert "neo4j.example" in err


def test_a_negative_number_is_told_how_to_be_written(run):
    """`-5` looks like an option, so the hint has the `--` that ends the options."""
    code, _, err = run("call", "kg.score", "-5")

    assert code == 2
    assert "hint: Write `--` before values that begin with `-`." in err


def test_an_error_is_shown_with_its_cause_and_hint(capsys):
    """An error is its text and code, the end of the log or the cause, and the hint; no markup."""
    error = SidecypherError(
        "`[bold]x` broke", code="SC-301", hint="Do [this].", details={"log_tail": ["one", "two"]}
    )
    plain = SidecypherError("It broke")
    plain.__cause__ = ValueError("the reason")
    repeated = SidecypherError("It broke")
    repeated.__cause__ = ValueError("{message: It broke}")

    show_error(error)
    show_error(plain)
    show_error(repeated)

    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "error: `[bold]x` broke [SC-301]",
        "cause: one",
        "       two",
        "hint: Do [this].",
        "error: It broke [SC-000]",
        "cause: ValueError: the reason",
        "error: It broke [SC-000]",
    ]


def test_a_table_shows_values_as_they_are(capsys):
    """Values are text, never markup: null, JSON for maps and lists, the rest as it is."""
    show_table("kg.score", ["a", "b"], [[None, "[red]x[/]"], [{"k": ["é"]}, 1.5]])

    out = capsys.readouterr().out
    for shown in ("kg.score", "null", "[red]x[/]", '{"k": ["é"]}', "1.5"):
        assert shown in out


def test_json_output_takes_any_value(capsys):
    """A value that JSON does not have is shown as text."""
    show_json({"path": os.sep, "at": object})

    assert json.loads(capsys.readouterr().out) == {"path": "/", "at": "<class 'object'>"}


def test_the_module_is_the_command(clean_environment, home):
    """`python -m sidecypher` is `sidecypher`, as a process with the same exit codes."""
    command = [sys.executable, "-m", "sidecypher", "status", "--json", "--home", home]

    ended = subprocess.run(
        command, env=clean_environment, capture_output=True, timeout=60, check=False
    )

    assert (ended.returncode, ended.stderr) == (1, b"")
    assert json.loads(ended.stdout)["running"] is False


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--version >&-", 0),
        ("config --json >&-", 0),
        ("config --json <&- >&- 2>&-", 0),
        ("cypher - <&-", 1),
    ],
)
def test_a_closed_stream_is_an_empty_one(clean_environment, home, command, code):
    """Input and output that a service or a script has closed are no reason to break."""
    line = f'"$0" -m sidecypher {command}'
    given = {**clean_environment, "SIDECYPHER_HOME": str(home)}

    ended = subprocess.run(
        ["sh", "-c", line, sys.executable], env=given, capture_output=True, timeout=60, check=False
    )

    assert (ended.returncode, b"Traceback" in ended.stderr) == (code, False)


def test_a_statement_that_is_not_utf_8_is_told(clean_environment):
    """Bytes of standard input that are no text are refused before Neo4j is asked."""
    ended = subprocess.run(
        [sys.executable, "-m", "sidecypher", "cypher", "-"],
        input=b"RETURN '\xff'",
        env=clean_environment,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 2
    assert b"The standard input is not a text in UTF-8" in ended.stderr


def test_a_settings_file_that_is_no_toml_is_one_message(run, tmp_path, monkeypatch):
    """The file of the current folder is told by its name and the place in it; exit code 2."""
    (tmp_path / "sidecypher.toml").write_text(f"home = {SECRET}\n")
    monkeypatch.chdir(tmp_path)

    code, out, err = run("status")

    assert (code, out) == (2, "")
    assert err.count("\n") == 2
    assert "error: The settings file `sidecypher.toml` is not TOML: " in err
    assert "at line 1" in err
    assert SECRET not in err


@pytest.mark.slow
def test_without_colours_nothing_is_coloured(clean_environment, home):
    """With NO_COLOR neither help nor errors have colours, whatever the terminal."""
    for arguments in (["up", "--help"], ["call", "kg.word"]):
        told = [
            subprocess.run(
                [sys.executable, "-m", "sidecypher", *arguments],
                env={
                    **clean_environment,
                    "SIDECYPHER_HOME": str(home),
                    "FORCE_COLOR": "1",
                    **colours,
                },
                capture_output=True,
                text=True,
                check=False,
            )
            for colours in ({}, {"NO_COLOR": "1"})
        ]
        coloured, plain = (
            re.findall(r"\x1b\[[\d;]*3\d[\d;]*m", f"{t.stdout}{t.stderr}") for t in told
        )

        assert (bool(coloured), plain) == (True, []), arguments


def test_a_bar_of_what_is_there_already_draws_nothing(capsys):
    """Where no bytes are missing not even an empty line is printed; where some are, a bar is."""
    with download_bar("Fetching"):
        pass
    nothing = capsys.readouterr()
    with download_bar("Fetching") as on_bytes:
        on_bytes(1, 2)
        on_bytes(2, 2)

    assert (nothing.out, nothing.err) == ("", "")
    assert "Fetching" in capsys.readouterr().err


def test_a_plugin_gets_the_name_of_a_jar(run):
    """Neo4j loads no other file, and a folder of that name cannot be replaced after the build."""
    code, _, err = run("plugin", "build", "--output", "build")

    assert code == 2
    assert "`--output build` does not end in `.jar` [SC-616]" in err
