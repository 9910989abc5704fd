"""What users import is what is promised; every error has a code of its own."""

import ast
import builtins
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sidecypher
from sidecypher import errors, testing
from sidecypher.errors import SidecypherError


def test_the_public_names_are_sorted_and_complete():
    """`__all__` is sorted, and names what type checkers see in the stub, from the same modules."""
    stub = Path(sidecypher.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    seen = {
        alias.asname: statement.module
        for statement in ast.parse(stub).body
        for alias in statement.names
    }

    assert sidecypher.__all__ == sorted(sidecypher.__all__)
    assert set(sidecypher.__all__) == set(seen)
    for name, module in seen.items():
        assert getattr(sidecypher, name) is getattr(importlib.import_module(module), name)


def test_a_name_that_is_not_public_is_not_there():
    """What the package does not offer is an AttributeError, as with any module."""
    with pytest.raises(AttributeError, match="has no attribute 'procedur'"):
        sidecypher.procedur  # noqa: B018

    assert set(sidecypher.__all__) <= set(dir(sidecypher))


@pytest.mark.parametrize("name", sidecypher.__all__)
def test_each_public_name_is_documented(name):
    """Whoever asks for help on a public name gets an answer."""
    value = getattr(sidecypher, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value)


def documented_errors(value):
    """Return the names in the `Raises:` sections of a public value and of its public members."""
    members = vars(value).items() if inspect.isclass(value) else ()
    own = [member for name, member in members if not name.startswith("_") or name == "__init__"]
    sections = [
        section
        for each in (value, *(getattr(member, "__func__", member) for member in own))
        for section in re.findall(
            r"^Raises:\n((?: .*\n?)+)", inspect.getdoc(each) or "", re.MULTILINE
        )
    ]
    names = [re.findall(r"^ {4}(\w+(?:, \w+)*):", section, re.MULTILINE) for section in sections]
    return {name for found in names for listed in found for name in listed.split(", ")}


@pytest.mark.parametrize("name", sidecypher.__all__)
def test_each_documented_error_can_be_imported(name):
    """An error under `Raises:` of a public name is a public name itself, or one of Python's own."""
    errors_of = documented_errors(getattr(sidecypher, name))

    assert errors_of <= {*sidecypher.__all__, *dir(builtins)}


def test_documented_errors_are_found_in_classes_and_functions():
    """The test above reads functions, methods, and class methods."""
    assert documented_errors(sidecypher.procedure) == {"SignatureError"}
    assert documented_errors(sidecypher.EncodedRow) == {"RowError"}
    assert "ValueError" in documented_errors(sidecypher.Context)


@pytest.mark.parametrize(
    "module",
    [
        module.name
        for module in pkgutil.walk_packages(sidecypher.__path__, "sidecypher.")
        if module.name != "sidecypher.__main__"
    ],
)
def test_every_module_can_be_imported_and_says_what_it_is_for(module):
    """Each module stands for itself and begins with a docstring."""
    if ".ray." in module:
        pytest.importorskip("ray", reason="the extra of these modules is not installed")
    assert importlib.import_module(module).__doc__


def every_error():
    found, open_ends = set(), [SidecypherError]
    while open_ends:
        below = open_ends.pop().__subclasses__()
        open_ends += below
        found.update(each for each in below if each.__module__ == errors.__name__)
    return sorted(found, key=lambda each: each.__name__)


def test_each_error_has_a_code_of_its_own():
    """No two errors share a code; only the base classes, which nothing raises, have SC-000."""
    codes = [each.code for each in every_error() if each is not errors.CallError]

    assert len(codes) == len(set(codes))
    assert all(len(code) == 6 and code.startswith("SC-") for code in codes)
    assert SidecypherError.code == errors.CallError.code == "SC-000"
    assert "SC-000" not in codes


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_each_error_is_in_the_tree_of_the_docstring(kind):
    """The tree that opens `errors.py` shows every error with its code and parent."""
    line = next(line for line in errors.__doc__.splitlines() if f" {kind.__name__} " in line)

    assert kind is errors.CallError or kind.code in line
    assert ("│" in line) is (kind.__base__ is errors.CallError)


def test_an_error_carries_what_people_and_programs_need():
    """Message, code, hint, retryability and details are attributes; the text is the message."""
    details = {"index": "people"}
    error = errors.ProcedureError(
        "No index", code="kg.no-index", hint="Make it.", retryable=True, details=details
    )
    details["index"] = "changed"

    assert str(error) == error.message == "No index"
    assert (error.code, error.hint, error.retryable) == ("kg.no-index", "Make it.", True)
    assert error.details == {"index": "people"}


def test_an_error_without_more_has_the_defaults_of_its_class():
    """Code and hint come from the class unless they are given; an empty hint is a hint."""
    error = errors.UnknownProcedure("No `a.b`")

    assert (error.code, error.hint, error.retryable, error.details) == (
        "SC-203", errors.UnknownProcedure.default_hint, False, {},
    )  # fmt: skip
    assert errors.UnknownProcedure("No `a.b`", hint="").hint == ""


def test_a_failed_statement_keeps_neo4js_code():
    """A `CypherError` has Neo4j's status as attribute and as detail."""
    error = errors.CypherError("Invalid input", neo4j_code="Neo.ClientError.Statement.SyntaxError")

    assert error.neo4j_code == "Neo.ClientError.Statement.SyntaxError"
    assert error.details == {"neo4jCode": "Neo.ClientError.Statement.SyntaxError"}


@pytest.mark.parametrize(
    ("message", "split"),
    [
        ("[SC-204] `a.b` got 1 argument\nof 2", ("SC-204", "`a.b` got 1 argument\nof 2")),
        ("[kg.no-index] No index", ("kg.no-index", "No index")),
        ("A node has `t` = '[SC-210] x'", ("", "A node has `t` = '[SC-210] x'")),
        ("[two words] x", ("", "[two words] x")),
        ("", ("", "")),
    ],
)
def test_a_message_of_neo4j_is_split_at_its_code(message, split):
    """A code is what stands in brackets at the beginning, also one of an author's own."""
    assert errors.split_code(message) == split


def test_the_pytest_plugin_imports_nothing_heavy():
    """A pytest that uses no fixture of the plugin imports nothing for it but its two packages."""
    program = """
import sys
from pathlib import Path

import pytest

before = set(sys.modules)
import sidecypher.testing.pytest_plugin

print(*sorted(set(sys.modules) - before))
"""
    imported = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()

    assert imported == ["sidecypher", "sidecypher.testing", "sidecypher.testing.pytest_plugin"]


def test_testing_offers_what_it_names():
    """Each name of `sidecypher.testing` is imported when first asked for, and no other is there."""
    for name in testing.__all__:
        assert getattr(testing, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Environment'"):
        testing.Environment  # noqa: B018
