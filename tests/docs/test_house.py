"""The rooms of the house are few, and CONTRIBUTING lists them."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest
from docs.pages import section

import sidecypher
import sidecypher_plugin
import sidecypher_procedures
import sidecypher_schema
from sidecypher.host.settings import PLUGIN_VARIABLES

JAVA = Path(__file__).parents[2] / "plugin-build/core/src/main/java/io/sidecypher/core"
PACKAGES = [sidecypher, sidecypher_plugin, sidecypher_procedures, sidecypher_schema]
BRIDGE = Path(sidecypher.__file__).parent
ROOMS = {path.parent.name for path in BRIDGE.glob("*/__init__.py")}


def test_contributing_lists_the_rooms():
    """The table of rooms names the folders of `bridge/sidecypher`, each once."""
    listed = re.findall(r"^\| `(\w+)` \|", section("CONTRIBUTING.md", "The house"), re.MULTILINE)

    assert sorted(name for name in listed if name in ROOMS) == sorted(ROOMS)


def test_the_top_level_is_small():
    """At the top stand the rooms, `app` and `errors`: fourteen entries at most."""
    modules = {path.stem for path in BRIDGE.glob("*.py") if not path.stem.startswith("__")}

    assert modules == {"app", "errors"}
    assert len(ROOMS | modules) <= 14


def test_private_modules_stay_in_their_room():
    """A module whose name begins with `_` is imported in its own room only, tests apart."""
    private = {
        ".".join(path.relative_to(BRIDGE.parent).with_suffix("").parts): room_of(path)
        for path in BRIDGE.rglob("_[!_]*.py")
    }
    strangers = [
        (importer.name, name)
        for importer in BRIDGE.rglob("*.py")
        for name in imported_by(importer) & private.keys()
        if private[name] != room_of(importer)
    ]

    assert private
    assert strangers == []


def room_of(path):
    """Return the name of the folder of `bridge/sidecypher` that a file is in."""
    return path.relative_to(BRIDGE).parts[0]


def imported_by(path):
    """Return the modules that a file imports, and what it imports from packages."""
    found = set()
    for statement in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            found.add(statement.module)
            found.update(f"{statement.module}.{alias.name}" for alias in statement.names)
    return found


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_an_init_says_what_belongs_in_its_package(package):
    """An `__init__` begins with a docstring and has at most sixty lines."""
    for path in Path(package.__file__).parent.rglob("__init__.py"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith('"""'), path
        assert len(text.splitlines()) <= 60, path


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_imports_are_a_tenth_of_the_code(package):
    """Of the lines that hold code, at most a tenth are imports: modules are not too small."""
    imports = code = 0
    for path in Path(package.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        code += len(lines_of_code(text))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports += node.end_lineno - node.lineno + 1

    assert imports / code <= 0.1


@pytest.mark.parametrize(
    ("namespace", "most"), [("github", 34), ("rules", 30), ("runs", 23), ("session", 32)]
)
def test_a_namespace_has_few_modules(namespace, most):
    """A shipped namespace has `procedures`, and few modules, at most 25 of them in a folder."""
    folder = Path(sidecypher_procedures.__file__).parent / namespace
    modules = [path for path in folder.rglob("*.py") if path.name != "__init__.py"]
    folders = [path.parent for path in modules]

    assert folder / "procedures.py" in modules
    assert len(modules) <= most
    assert max(map(folders.count, folders)) <= 25


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_decoders_are_made_when_their_module_is_imported(package):
    """No function decodes into a type that it names: msgspec crashes if two threads begin so."""
    typed = [
        f"{path}:{node.lineno}"
        for path in Path(package.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "decode"
        and any(each.arg == "type" for each in node.keywords)
    ]

    assert typed == []


def lines_of_code(text):
    """Return the numbers of the lines that hold more than comments."""
    empty = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {
        line
        for token in tokens
        if token.type not in empty
        for line in range(token.start[0], token.end[0] + 1)
    }


def test_the_variables_of_the_plugin_are_those_that_it_reads():
    """The sidecar ignores each variable of the Java half, and no other."""
    source = (JAVA / "Settings.java").read_text("utf-8")
    names = re.search(r"NAMES = Set\.of\((.*?)\);", source, re.DOTALL)[1]

    assert {f"SIDECYPHER_{name.upper()}" for name in re.findall(r'"(\w+)"', names)} == (
        PLUGIN_VARIABLES
    )
