"""Commands and variables that the pages name."""

import importlib.util
import re
import shlex
from itertools import pairwise

import fix_external
import pytest
import typer
from docs.pages import (
    PAGES,
    ROOT,
    blocks,
    code_in,
    headings,
    inline_code,
    name_of,
    page_named,
    rows,
    section,
)
from typer.testing import CliRunner

from command_reference import every_command, reference
from sidecypher.cli.commands import all_commands
from sidecypher.cli.main import app
from sidecypher.cli.status import read_status
from sidecypher.host.settings import Settings, load_settings
from sidecypher_procedures.algo.settings import AlgoSettings
from sidecypher_procedures.code.settings import CodeSettings
from sidecypher_procedures.github.settings import GithubSettings
from sidecypher_procedures.rules.client.model import ClientSettings
from sidecypher_procedures.rules.settings import RulesSettings
from sidecypher_procedures.runs.settings import RunsSettings
from sidecypher_procedures.session.settings import SessionSettings
from sidecypher_procedures.sync.postgres.settings import PostgresSettings
from sidecypher_procedures.sync.settings import RedisSettings, SyncSettings

APP = typer.main.get_command(app)
GROUP = all_commands()
_SIDECYPHER = {"sidecypher", ".venv/bin/sidecypher"}
_PYTHON = {"python", ".venv/bin/python"}
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*=")


def commands():
    """Return the commands that people call, by full name."""
    return dict(every_command(GROUP))


def resolve(words):
    """Return the command that some words after `sidecypher` name, and the words left."""
    if not words or words[0].startswith("-"):
        return APP, words
    command, words = GROUP[words[0]], words[1:]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        command = command.commands[words[0]]
        words = words[1:]
    return command, words


def options(command):
    """Return all spellings of a command's options."""
    return {
        spelling
        for parameter in command.params
        if parameter.param_type_name == "option"
        for spelling in (*parameter.opts, *parameter.secondary_opts)
    }


def shell_lines():
    found = []
    for block in blocks("sh"):
        for line in block.text.splitlines():
            words = shlex.split(line, comments=True)
            while words and _VARIABLE.match(words[0]):
                words = words[1:]
            if words:
                found.append(pytest.param(words, id=f"{block}-{' '.join(words)}"))
    return found


@pytest.mark.parametrize("words", shell_lines())
def test_shell_commands_exist(words):
    """A command line in a shell block names a command, target, module or file that is there."""
    if words[0] in _SIDECYPHER:
        command, rest = resolve(words[1:])
        command.make_context(" ".join(words), list(rest))
    elif words[0] == "make":
        assert words[1] in _targets()
    elif words[0] in _PYTHON and words[1] == "-m":
        assert importlib.util.find_spec(words[2])
        assert [word for word in words if word.startswith("tests/") and not _is_there(word)] == []
    elif words[0] in _PYTHON:
        assert _is_there(words[1])
    elif words[:2] == ["docker", "compose"]:
        # tests/integration/docker runs them.
        assert all(_is_there(file) for option, file in pairwise(words) if option == "--file")
    elif "/" in words[0]:
        assert _is_there(words[0])
    else:
        assert words[0] in {"pip", "uv", "uvx", "git", "cd", "cp", "rm", "export", "neo4j"}


def _targets():
    return re.findall(r"^([a-z-]+):", page_named("Makefile"), re.MULTILINE)


def _is_there(path):
    return (ROOT / path).exists()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_in_sentences_exist(page):
    """A command in the middle of a sentence exists, with the options it is named with."""
    for code in inline_code(page):
        words = code.split()
        if words[0] == "sidecypher":
            command, rest = resolve(words[1:])
            assert {word for word in rest if word.startswith("-")} <= options(command) | {"--help"}
        elif words[0] == "make" and len(words) > 1:
            assert {word for word in words[1:] if "=" not in word} <= set(_targets())


def test_the_cli_page_is_what_the_commands_say_of_themselves():
    """docs/cli.md is written from the help of the commands; `make reference` does it."""
    assert page_named("docs/cli.md") == reference()


@pytest.mark.parametrize("name", commands())
def test_every_command_shows_an_example(name):
    """The help of each command ends with a block of examples that name it."""
    *_, examples = commands()[name].help.partition("```sh\n")

    assert f"sidecypher {name}" in examples


def test_the_cli_page_has_every_command():
    """docs/cli.md has one heading for each command, and no other."""
    found = {title.removeprefix("`sidecypher ").rstrip("`") for title in _command_titles()}

    assert found == set(commands())


def _command_titles():
    return [title for title in headings(ROOT / "docs/cli.md") if title.startswith("`sidecypher ")]


@pytest.mark.parametrize("name", commands())
def test_the_cli_page_has_every_option(name):
    """The table of a command has exactly its arguments and options."""
    command = commands()[name]
    text = section("docs/cli.md", f"`sidecypher {name}`")
    table = [*rows(text, "option"), *rows(text, "argument or option")]
    arguments = {each.name for each in command.params if each.param_type_name == "argument"}

    assert {code for row in table for code in code_in(row[0])} == options(command) | arguments


@pytest.mark.parametrize("name", commands())
def test_help_of_every_command_works(name):
    """`--help` of a command shows all of its options."""
    told = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": "80"}).output

    assert max(map(len, told.splitlines())) <= 80
    assert [each for each in options(commands()[name]) if each not in told] == []


def test_the_members_of_the_status_are_documented(tmp_path):
    """docs/cli.md tells each member that `status --json` prints."""
    facts = read_status(load_settings({"home": tmp_path}, {}))
    table = rows(section("docs/cli.md", "`sidecypher status`"), "member")

    assert [code_in(row[0])[0] for row in table] == list(facts)


VARIABLES_OF_TESTS = (fix_external.URI, fix_external.PASSWORD)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_variables_exist(page):
    """Every `SIDECYPHER_` variable that a page names is one that something reads."""
    fields = {
        *Settings.model_fields,
        *(f"github_{name}" for name in GithubSettings.model_fields),
        *(f"rules_{name}" for name in RulesSettings.model_fields),
        *(f"runs_{name}" for name in RunsSettings.model_fields),
        *(f"algo_{name}" for name in AlgoSettings.model_fields),
        *(f"code_{name}" for name in CodeSettings.model_fields),
        *(f"postgres_{name}" for name in PostgresSettings.model_fields),
        "postgres_schema",  # its field has another name
        *(f"redis_{name}" for name in RedisSettings.model_fields),
        *(f"sync_{name}" for name in SyncSettings.model_fields),
        *(f"session_{name}" for name in SessionSettings.model_fields),
        *(f"graphrag_{name}" for name in ClientSettings.model_fields),
    }
    plugin = {code_in(row[0])[0] for row in rows(page_named("docs/settings.md"), "name")}
    known = {f"SIDECYPHER_{name.upper()}" for name in fields | plugin}
    known |= {"SIDECYPHER_CONFIG", "SIDECYPHER_NEO4J_PASSWORD_FILE", *VARIABLES_OF_TESTS}
    known.add("SIDECYPHER_ACME_TOKEN")  # the example of an author's own
    named = set(re.findall(r"SIDECYPHER_\w*[A-Z]\b", page.read_text(encoding="utf-8")))

    assert named - known == set()
