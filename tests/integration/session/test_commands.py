"""`sidecypher session` on a real installation, as docs/console.md shows it."""

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
from docs.pages import ROOT, page_named, section

EXAMPLE = section("docs/console.md", "The same in a terminal")
PICTURE = "docs/session.svg"
SVG = "{http://www.w3.org/2000/svg}"


def block(info):
    """The only fenced block of a kind in the section."""
    _, _, rest = EXAMPLE.partition(f"```{info}\n")
    return rest.partition("```")[0]


@pytest.fixture
def command(server, session):
    """Run a verb of the command; return it when it has ended as told."""

    def command(*arguments, code=0, **more):
        done = server.command("session", *arguments, **more)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        return done

    return command


@pytest.fixture
def file(tmp_path):
    """Write a workflow file; return its path."""

    def file(value, name="workflow.json"):
        path = tmp_path / name
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
        return path

    return file


@pytest.fixture
def define(sessions):
    """Define what a workflow file holds, without the command."""

    def define(value, name=None):
        spec = {key: each for key, each in value.items() if key != "workflow"}
        sessions.one("define", name or value["workflow"], spec)

    return define


def test_the_example_of_the_pages_is_what_the_commands_do(command, file, tmp_path):
    """File, drawing and picture of docs/console.md are those of its session."""
    path, picture = file(block("json")), tmp_path / "picture.svg"

    assert command("validate", path).stdout == ""
    assert command("define", path).stdout == "triage version 1, steps: 6\n"
    command("start", "triage", "--id", "triage-7")
    command("answer", "triage-7", "The page is blank")
    command("answer", "triage-7", "tech")
    done = command("show", "triage-7", "--svg", picture)

    assert done.stdout == block("text")
    assert picture.read_text("utf-8") == page_named(PICTURE), f"write it anew to {ROOT / PICTURE}"


def test_the_example_in_ascii(command, define, sessions):
    """A terminal without the signs gets plain ones."""
    define(json.loads(block("json")))
    sessions.start("triage", id="s1")

    done = command("show", "s1", PYTHONIOENCODING="ascii")

    assert "? root    request, not run, awaits input\n  `-> team\n" in done.stdout


ASK = {
    "workflow": "ask",
    "steps": [
        {
            "id": "root",
            "function": "request",
            "input": {"statement": "Who\x1b[2J?", "options": ["Ann", "Bob"]},
        },
        {
            "id": "hello",
            "function": "reply",
            "input": {"message": "Hi @{SESSION_ID}.root.response"},
        },
    ],
    "next": [{"from": "root", "to": "hello"}],
}


def test_a_start_prints_what_is_asked(command, define):
    """Id, status, the open request with its options, and the command that answers it."""
    define(ASK)

    assert command("start", "ask", "--id", "a 1").stdout == (
        "session  a 1\n"
        "status   awaiting_input\n"
        "request  Who?[2J?\n"
        "options  Ann, Bob\n"
        "answer   sidecypher session answer 'a 1' VALUE\n"
    )
    assert command("answer", "a 1", "Bob").stdout == "session  a 1\nstatus   completed\n"


def test_a_start_takes_id_input_and_can_leave_the_steps(command, define, sessions):
    """`--no-run` leaves the first step pending; the input is that of the session."""
    define(ASK)
    options = ("--id", "a1", "--input", '{"n": 7}', "--no-run")

    assert command("start", "ask", *options).stdout == (
        "session  a1\nstatus   active\npending  root\n"
    )
    assert sessions.memory("a1") == {"input": [{"n": 7}]}
    assert "not a JSON object" in command("start", "ask", "--input", "[]", code=2).stderr
    assert "not JSON" in command("start", "ask", "--input", "{", code=2).stderr


def test_a_drawn_workflow_has_no_name(command, session):
    """Without a name, the steps without a workflow are started and checked."""
    session.run(
        "CREATE (:STEP {id: 'root', function: 'reply', input: '{\"message\": \"Hi\"}'})"
    ).consume()

    assert "status   completed" in command("start").stdout
    assert "Hi\n" in command("chat").stdout
    assert "Nothing was found." in command("validate").stderr


def test_the_name_can_be_given(command, file, sessions):
    """`--workflow` counts more than the name in the file, which needs none then."""
    nameless = {key: value for key, value in ASK.items() if key != "workflow"}

    command("define", file(ASK), "--workflow", "other")
    command("define", file(nameless), "--workflow", "third")

    assert sessions.call("validate", "other") == sessions.call("validate", "third") == []
    assert "does not name" in command("define", file(nameless), code=1).stderr


def test_a_wrong_file_writes_nothing(command, file, session):
    """The error has line and column, and no part of the workflow is in the graph."""
    wrong = json.dumps(ASK, indent=1).replace('"function"', '"functon"', 1)

    told = command("define", file(wrong, "ask.json"), code=1).stderr

    assert "error: `ask.json`, line 6, column 4: it is not a workflow" in told
    assert "Did you mean `function`?" in told
    assert session.run("MATCH (n:STEP|WORKFLOW) RETURN count(*)").single().value() == 0


def test_what_the_sidecar_refuses_has_its_own_code(command, file, session):
    """An error of a procedure is shown as itself, and not as one of Neo4j."""
    steps = [{"id": "root", "function": "nope"}]

    told = command("define", file({"workflow": "w", "steps": steps}), code=1).stderr

    assert "There is no function `nope`" in told
    assert "[SC-953]" in told
    assert "SC-206" not in told
    assert session.run("MATCH (n:STEP|WORKFLOW) RETURN count(*)").single().value() == 0


def test_findings_are_printed(command, file):
    """`define` stores a workflow with warnings and prints them, `validate` has them as JSON."""
    lonely = {"id": "lonely", "function": "set"}
    path = file({**ASK, "steps": [*ASK["steps"], lonely]})

    assert "No way from the entry step" in " ".join(command("define", path).stdout.split())
    [finding] = json.loads(command("validate", path, "--json").stdout)
    assert (finding["severity"], finding["line"], finding["step"]) == ("warning", 1, "lonely")
    [same] = json.loads(command("validate", "ask", "--json").stdout)
    assert same == {**finding, "line": None}


def test_an_error_finding_is_exit_code_1(command, file, session):
    """Of a file, which needs no server, and of a workflow in the graph."""
    path = file({"workflow": "w", "steps": [{"id": "root", "function": "request"}]})
    session.run(
        "CREATE (:STEP {id: 'root', workflow: 'drawn', function: 'request', input: '{'})"
    ).consume()

    of_file = command("validate", path, code=1, SIDECYPHER_NEO4J_URI="bolt://127.0.0.1:1")
    assert "It has no" in of_file.stdout
    assert "is not JSON at line 1" in " ".join(
        each["message"]
        for each in json.loads(command("validate", "drawn", "--json", code=1).stdout)
    )


def test_a_file_that_is_not_there_is_named(command):
    """What ends in `.json` is a file, and anything else a workflow."""
    assert "`none.json` cannot be read" in command("validate", "none.json", code=1).stderr
    assert "There is no workflow `none`." in command("validate", "none", code=1).stderr


def test_the_inbox_lists_open_requests(command, define, sessions):
    """Oldest first, of one workflow or of all; how to answer goes to standard error."""
    assert command("inbox").stderr == "No open requests.\n"
    define(ASK)
    define(ASK, "other")
    for name, workflow in (("first one", "ask"), ("other one", "other")):
        sessions.start(workflow, id=name)

    rows = json.loads(command("inbox", "--json").stdout)
    assert [row["sessionId"] for row in rows] == ["first one", "other one"]
    assert (rows[0]["statement"], rows[0]["options"]) == ("Who\x1b[2J?", ["Ann", "Bob"])
    done = command("inbox", "--workflow", "other")
    assert "other" in done.stdout
    assert "first" not in done.stdout
    assert "\x1b" not in done.stdout
    assert "sidecypher session answer SESSION VALUE --request REQUEST" in done.stderr


def test_one_of_several_requests_is_answered_by_its_id(command, sessions):
    """Without `--request` the answer is refused, and nothing is answered."""
    ask = ("request", {"statement": "?"})
    session = sessions.begin(
        {"root": ("set", {}), "a": ask, "b": ask}, [("root", "a"), ("root", "b")]
    )
    [_, second] = sessions.requests(session)

    assert "[SC-959]" in command("answer", session, "x", code=1).stderr
    done = command("answer", session, "x", "--request", second["requestId"])

    assert "status   awaiting_input" in done.stdout
    assert "--request" not in done.stdout
    assert sessions.memory(session)[second["stepId"]] == [{"response": "x"}]


def test_an_answer_is_json_only_where_a_text_is_refused(command, sessions):
    """A number stays a text where a text is accepted, and is a number where one is asked for."""
    asked = {"statement": "How many?", "schema": {"type": "integer"}}
    session = sessions.begin(
        {"root": ("request", {"statement": "?"}), "n": ("request", asked)}, [("root", "n")]
    )

    command("answer", session, "7")
    assert "[SC-958]" in command("answer", session, "many", code=1).stderr
    command("answer", session, "7")

    memory = sessions.memory(session)
    assert (memory["root"], memory["n"]) == ([{"response": "7"}], [{"response": 7}])


def test_a_chat_goes_on_until_the_session_ends(command, sessions):
    """Replies are printed, options are chosen by text or number, and slow steps are run."""
    workflow = sessions.define(
        {
            "root": ("request", {"statement": "Again?", "options": ["yes", "no"]}),
            "slow": ("test.later", {"text": "waited", "seconds": 0.2}),
            "told": ("reply", {"message": "I @{SESSION_ID}.slow.text"}),
        },
        [
            ("root", "slow", {"value": "@{SESSION_ID}.root.response", "op": "equals",
                              "expected": "yes"}),
            ("slow", "told"),
            ("told", "root"),
        ],
    )  # fmt: skip

    done = command("chat", workflow, text_in="maybe\n1\nno\n")

    asked = "Again?\n  1. yes\n  2. no\n> "
    assert done.stdout == f"{asked}> I waited\n{asked}"
    assert "The answer is none of the 2 options" in done.stderr
    assert done.stderr.endswith("has ended: completed.\n")


def test_a_chat_that_is_left_can_be_gone_on_with(command, define, sessions):
    """The end of the input leaves the session open; `--session` shows what was said, and asks."""
    define(ASK)
    done = command("chat", "ask", "--input", '{"n": 1}', text_in="", code=1)
    line = done.stderr.splitlines()[-1]
    _, _, *arguments = line.partition("To go on: ")[2].split()

    assert arguments[:2] == ["chat", "--session"]
    assert sessions.status(arguments[2]) == "awaiting_input"
    resumed = command(*arguments, text_in="2\n")
    assert resumed.stdout == "Who?[2J?\n  1. Ann\n  2. Bob\n> Hi Bob\n"
    assert command(*arguments).stdout == "Who?[2J?\n> Bob\nHi Bob\n"


def test_ctrl_c_leaves_the_session(server, sessions, command):
    """It ends with 130 and says how to go on, and the session still waits."""
    session = sessions.begin({"root": ("request", {"statement": "Well?"})})
    chat = subprocess.Popen(
        [sys.executable, "-m", "sidecypher", "session", "chat", "--session", session],
        env=server.environ | {"PYTHONUNBUFFERED": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    shown = b""
    while not shown.endswith(b"> "):
        shown += os.read(chat.stdout.fileno(), 100)

    chat.send_signal(signal.SIGINT)
    _, told = chat.communicate(timeout=60)

    assert chat.returncode == 130
    assert f"sidecypher session chat --session {session}" in told.decode()
    assert "Traceback" not in told.decode()
    assert sessions.status(session) == "awaiting_input"


def test_a_chat_that_fails_says_why(command, sessions):
    """Errors of steps are printed, and the exit code is 1."""
    workflow = sessions.define({"root": ("reply", {"message": "@{SESSION_ID}.input.name"})})

    done = command("chat", workflow, code=1)

    assert "root failed: " in done.stderr
    assert "has ended: error" in done.stderr


def test_a_chat_waits_for_a_time(command, sessions):
    """A step that waits is waited for, without an answer of anybody."""
    workflow = sessions.define(
        {"root": ("wait", {"seconds": 1}), "then": ("reply", {"message": "Now"})},
        [("root", "then")],
    )

    done = command("chat", workflow)

    assert done.stdout == "Now\n"
    assert done.stderr.count("... root") <= 1


def test_a_session_that_is_not_there_is_named(command, tmp_path):
    """It is an error with its code; no picture is written."""
    picture = tmp_path / "picture.svg"

    assert "[SC-955]" in command("show", "none", "--svg", picture, code=1).stderr
    assert "[SC-955]" in command("chat", "--session", "none", code=1).stderr
    assert "[SC-955]" in command("answer", "none", "x", code=1).stderr
    assert not picture.exists()
    assert "`--session` alone" in command("chat", "w", "--session", "none", code=2).stderr


def test_the_procedure_draws_the_same_picture(command, define, sessions, tmp_path):
    """`session.picture` gives what `--svg` writes, and no row if there is no session."""
    define(ASK)
    sessions.start("ask", id="a1")
    picture = tmp_path / "picture.svg"
    command("show", "a1", "--svg", picture)

    assert sessions.one("picture", "a1")["svg"] == picture.read_text("utf-8")
    assert sessions.call("picture", "none") == []


def test_a_picture_is_of_the_version_of_the_session(command, define, sessions):
    """A workflow that was defined again does not change the picture of an older session."""
    define(ASK)
    sessions.start("ask", id="a1")
    define({**ASK, "steps": [{"id": "root", "function": "set"}], "next": []})

    root = ET.fromstring(sessions.one("picture", "a1")["svg"])

    assert "hello: reply, not run." in root.find(f"{SVG}desc").text
    assert "○ hello" in command("show", "a1").stdout
