"""The pytest plugin runs an author's tests in memory, over the wire and in Neo4j."""

import pytest
from docs.pages import ROOT, blocks

from sidecypher.host.settings import load_settings

CACHE = load_settings({}).cache_dir

pytest_plugins = ["pytester"]

# The project is the one that docs/testing.md shows.
PAGE = [ROOT / "docs" / "testing.md"]
PROCEDURES = blocks("python", pages=PAGE)[0].text
SETTINGS = blocks("toml", pages=PAGE)[0].text
(SHOWN,) = [block.text for block in blocks("text", pages=PAGE) if "def test_" in block.text]
VALUES = """
from datetime import date, datetime

from sidecypher import Duration, Row, procedure


class Value(Row):
    at: datetime
    day: date
    length: Duration


@procedure("people.value")
def value(at: datetime, length: Duration) -> Value:
    return Value(at=at, day=at.date(), length=length)
"""
TESTS = f"""
from datetime import UTC, date, datetime

import pytest

from sidecypher import CallError, Duration

{SHOWN}

def test_values_have_the_same_classes(sidecypher_call):
    at = datetime(2024, 2, 29, 10, 11, tzinfo=UTC)
    [row] = sidecypher_call("people.value", at, Duration(months=1))
    assert row == {{"at": at, "day": date(2024, 2, 29), "length": Duration(months=1)}}
    assert [type(each) for each in row.values()] == [datetime, date, Duration]

def test_an_error_has_its_code(sidecypher_call):
    with pytest.raises(CallError, match="^An age is not negative") as caught:
        sidecypher_call("people.older", -1)
    assert caught.value.code == "people.age"

def test_parameters_may_be_expected(sidecypher_call):
    sidecypher_call.given("CREATE (:Person {{name: $name, age: 61}})", name="Ann")
    sidecypher_call.expect(
        "MATCH (n:Person) WHERE n.age > $than RETURN n.name AS name ORDER BY name",
        params={{"than": 60}},
        records=[{{"name": "Ann"}}],
    )
    assert sidecypher_call("people.older", 60) == [{{"name": "Ann"}}]

def test_a_wrong_argument_is_refused(sidecypher_call):
    with pytest.raises(CallError, match="(?i)integer"):
        sidecypher_call("people.older", "eighteen")
"""


@pytest.fixture
def project(pytester, monkeypatch):
    """An author's project with one procedure and its tests."""
    monkeypatch.delenv("SIDECYPHER_HOME", raising=False)
    # pytester gives its tests a home of their own, in which the jars would be fetched again.
    monkeypatch.setenv("SIDECYPHER_CACHE_DIR", str(CACHE))
    pytester.makepyprojecttoml(SETTINGS)
    procedures = pytester.mkdir("procedures")
    procedures.joinpath("people.py").write_text(PROCEDURES)
    procedures.joinpath("value.py").write_text(VALUES)
    pytester.makepyfile(TESTS)
    return pytester


def run(project, *arguments):
    # What this suite itself is run with must not reach the author's.
    return project.runpytest_subprocess(
        "-p", "no:randomly", "-p", "no:socket", "-p", "no:cacheprovider", *arguments
    )


@pytest.mark.slow
def test_an_authors_tests_run_without_a_server(project):
    """By default the tests run in memory."""
    run(project).assert_outcomes(passed=5)


@pytest.mark.slow
@pytest.mark.timeout(400)  # a Neo4j of its own
def test_the_same_tests_run_on_memory_wire_and_neo4j(project):
    """`--sidecypher-on` runs each test once in each place, with equal results."""
    run(project, "--sidecypher-on", "memory,py4j,neo4j").assert_outcomes(passed=15)


def test_what_an_interrupted_start_has_begun_is_stopped(project):
    """Ctrl-C while Neo4j starts leaves none of its processes."""
    project.makeconftest("""
        from sidecypher.testing import pytest_plugin

        def _command(environ, command, *options):
            with open("commands", "a") as file:
                file.write(f"{command} ")
            if command == "up":
                raise KeyboardInterrupt

        pytest_plugin._command = _command
    """)

    run(project, "--sidecypher-on", "neo4j")

    assert (project.path / "commands").read_text().split() == ["up", "down"]


def test_an_unknown_place_is_told(project):
    """A place that does not exist is an error of the command, which names those that do."""
    told = run(project, "--sidecypher-on", "docker")

    assert told.ret != 0
    told.stdout.fnmatch_lines(["*does not know `docker`; it accepts memory, py4j, neo4j*"])
