"""Every example of the pages works."""

import json
import re
import tomllib

import pytest
from docs.pages import CALL, PAGES, blocks, cypher_blocks, name_of, page_named, run_python, section

from sidecypher.operations import procedures as introspection
from sidecypher.sdk.batch.variants import with_batches
from sidecypher.sdk.registry import Registry, procedures_in
from sidecypher_procedures import migrations
from sidecypher_procedures.algo import procedures as algo
from sidecypher_procedures.code import procedures as code
from sidecypher_procedures.github import procedures as github
from sidecypher_procedures.rules import procedures as rules
from sidecypher_procedures.runs import procedures as runs
from sidecypher_procedures.session import procedures as session
from sidecypher_procedures.sync.changes import procedures as outbox

# Their blocks are run by tests of their own.
RUN = "".join(
    [
        section("docs/algo.md", "Your first ranks"),
        section("docs/rules.md", "Recipes"),
        section("docs/runs-queries.md", "Queries"),
        page_named("docs/code-trace.md"),
        page_named("docs/code-queries.md"),
        section("docs/browser.md", "What errors look like"),
        page_named("docs/tutorial.md"),
    ]
)
SHIPPED = (algo, code, github, introspection, migrations, outbox, rules, runs, session)
KINDS = {"python", "python neo4j", "cypher", "sh", "json", "toml", "text", "yaml", "ini"}
_YIELD = re.compile(r"\)\s*YIELD\s+(?P<columns>\w+(?:\s*,\s*\w+)*)")
_OPEN, _CLOSE = "([{", ")]}"


@pytest.mark.parametrize(
    "name", [name_of(page) for page in PAGES if blocks("python", pages=[page])]
)
def test_python_blocks_run_in_order(name):
    """The Python blocks of a page run one after the other, as their reader would run them."""
    run_python(name)


@pytest.mark.parametrize("block", cypher_blocks(), ids=str)
def test_cypher_blocks_call_what_exists(block):
    """A procedure called in a Cypher block exists, takes these arguments and has these columns."""
    known = Registry(with_batches(procedures_in([*SHIPPED, run_python(block.page)])))
    found = list(CALL.finditer(block.text))

    assert found or block.text in RUN, "an example without a call of ours is run by no test"
    for call in found:
        procedure = known.get(call["name"])
        arguments, end = _arguments(block.text, call.end())
        parameters = procedure.entry.parameters
        required = sum(parameter.default is None for parameter in parameters)
        assert required <= arguments <= len(parameters), procedure.usage()
        yielded = _YIELD.match(block.text, end)
        wanted = set(re.split(r"\s*,\s*", yielded["columns"])) if yielded else set()
        assert wanted <= {column.name for column in procedure.entry.columns}


def _arguments(text, start):
    """Count the arguments of a call; return it with the place of the closing parenthesis."""
    depth, commas, quoted = 0, 0, False
    for index in range(start, len(text)):
        character = text[index]
        if character == "'":
            quoted = not quoted
        elif quoted:
            continue
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE and depth:
            depth -= 1
        elif character in _CLOSE:
            return (commas + 1 if text[start:index].strip() else 0), index
        elif character == "," and not depth:
            commas += 1
    raise AssertionError("the call is never closed")


def test_every_block_says_what_it_is():
    """A block names its language, so that a test looks after it."""
    others = [str(block) for page in PAGES for block in _all(page) if block.info not in KINDS]

    assert others == []


def _all(page):
    infos = set(re.findall(r"^ *```(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE))
    return blocks(*infos, "", pages=[page])


@pytest.mark.parametrize("block", blocks("json", "toml"), ids=str)
def test_data_blocks_parse(block):
    """A block of JSON or TOML is what it says."""
    parse = json.loads if block.info == "json" else tomllib.loads

    assert parse(block.text)


def test_the_first_screen_of_the_readme():
    """25 lines show a procedure, its call and answer, for whom it is, and where to begin."""
    lines = page_named("README.md").splitlines()
    screen = "\n".join(lines[:25])
    procedure = screen.partition("```python\n")[2].partition("```")[0].splitlines()
    code = [line for line in procedure if line and not line.startswith("from ")]
    parts = ["@procedure", "CALL demo", '"Hello Ann"', "**Use it**", "**Do not use it**"]
    places = [screen.index(part) for part in [*parts, "**Start here:**"]]

    assert places == sorted(places)
    assert len(code) == 5


def test_the_readme_installs_before_it_builds():
    """What users need comes first; below it stand the two commands of a clone."""
    text = page_named("README.md")
    parts = ["pip install", "sidecypher dev", "From a clone", "make demo", "make test"]
    places = [text.index(part) for part in parts]

    assert places == sorted(places)


def test_pages_install_the_wheel():
    """sidecypher is not on PyPI: no block asks there for it."""
    lines = [line for block in blocks("sh") for line in block.text.splitlines()]
    named = [line for line in lines if re.search(r"pip install .*\bsidecypher\b", line)]

    assert named
    assert [each for each in named if not re.search("dist/sidecypher-|--no-index", each)] == []
