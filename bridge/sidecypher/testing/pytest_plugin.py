"""pytest fixtures for authors of procedures: one test in memory, over the socket, or in Neo4j.

pytest loads this plugin itself. Set the folders of your procedures in the configuration::

    [tool.pytest.ini_options]
    sidecypher_procedures = ["procedures"]

Then a test uses the fixture `sidecypher_call`::

    def test_greets_by_name(sidecypher_call):
        assert sidecypher_call("demo.greet", "Ann") == [{"text": "Hello Ann"}]

`pytest` runs it in memory, without a server; `pytest --sidecypher-on memory,py4j,neo4j` runs it
three times: in memory, over the sidecar's real socket, and in an embedded Neo4j.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pytest

if TYPE_CHECKING:
    import neo4j

    from sidecypher.testing import ExpectedStatements, ProcedureEnvironment

_PLACES = ("memory", "py4j", "neo4j")


class Caller(Protocol):
    """Type of the fixture `sidecypher_call`."""

    def __call__(self, name: str, *arguments: Any) -> list[dict[str, Any]]:
        """Call a procedure and return its rows, each a dict by column name."""

    def given(self, cypher: str, **params: Any) -> None:
        """Run a statement that prepares the graph; without a graph this does nothing."""

    def expect(
        self,
        cypher: str,
        *,
        params: Mapping[str, Any] | None = None,
        records: Iterable[dict[str, Any]] = (),
    ) -> None:
        """Set the records that the mock of the graph returns; on a real graph this does nothing."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--sidecypher-on` and the setting `sidecypher_procedures`."""
    parser.addoption(
        "--sidecypher-on",
        default="memory",
        metavar="PLACES",
        help="where tests with `sidecypher_call` run: memory, py4j, neo4j, or several with commas",
    )
    parser.addini(
        "sidecypher_procedures", "folders of procedures, relative to this file", "paths", []
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test with `sidecypher_call` once per place."""
    if "sidecypher_call" not in metafunc.fixturenames:
        return
    places = metafunc.config.getoption("--sidecypher-on").split(",")
    unknown = sorted(set(places) - set(_PLACES))
    if unknown:
        raise pytest.UsageError(
            f"--sidecypher-on does not know `{unknown[0]}`; it accepts {', '.join(_PLACES)}"
        )
    metafunc.parametrize("sidecypher_call", places, indirect=True)


@dataclass(frozen=True, slots=True)
class EmbeddedNeo4j:
    """A Neo4j with a sidecar, running for the whole test run.

    Attributes:
        uri: Its Bolt address.
        home: Its data directory, deleted after the run.
    """

    uri: str
    home: Path
    driver: "neo4j.Driver"


@pytest.fixture(scope="session")
def sidecypher_neo4j(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedNeo4j]:
    """Start an embedded Neo4j and a sidecar with the configured procedures, once per run."""
    # Every pytest of the environment loads this plugin, mostly for tests that use none of it.
    from sidecypher.host.address import embedded_address, read_ports  # noqa: PLC0415

    home = tmp_path_factory.mktemp("sidecypher")
    environ = os.environ | {
        "SIDECYPHER_HOME": str(home),
        "SIDECYPHER_PROCEDURES": ",".join(map(str, _folders(request.config))),
    }
    try:
        up = _command(environ, "up", "--json", "--no-check")
        if up.returncode:
            pytest.fail(f"`sidecypher up` failed\n{up.stderr}", pytrace=False)
        address = embedded_address(home, read_ports(home / "ports.json"))
        with address.driver() as driver:
            yield EmbeddedNeo4j(address.uri, home, driver)
    finally:
        _command(environ, "down")


@pytest.fixture
def sidecypher_session(sidecypher_neo4j: EmbeddedNeo4j) -> "Iterator[neo4j.Session]":
    """Open a session on an empty graph."""
    with sidecypher_neo4j.driver.session() as session:
        session.run("MATCH (n) DETACH DELETE n").consume()
        yield session


@pytest.fixture
def sidecypher_call(request: pytest.FixtureRequest) -> Iterator[Caller]:
    """Call procedures where `--sidecypher-on` says."""
    place: Literal["memory", "py4j", "neo4j"] = getattr(request, "param", "memory")
    if place == "neo4j":
        from sidecypher.testing._real_graph import RealGraph  # noqa: PLC0415

        yield RealGraph(request.getfixturevalue("sidecypher_session"))
        return
    from sidecypher.testing import ExpectedStatements, ProcedureEnvironment  # noqa: PLC0415

    statements = ExpectedStatements()
    folders = _folders(request.config)
    with ProcedureEnvironment(folders=folders, run=statements, transport=place) as environment:
        yield _MockedGraph(environment, statements)
    statements.verify()


class _MockedGraph:
    """Calls in an environment with a mock of the graph."""

    def __init__(
        self, environment: "ProcedureEnvironment", statements: "ExpectedStatements"
    ) -> None:
        self._environment = environment
        self.expect = statements.expect

    def __call__(self, name: str, *arguments: Any) -> list[dict[str, Any]]:
        return self._environment.call(name, *arguments)

    def given(self, cypher: str, **params: Any) -> None:
        """Do nothing: there is no graph."""


def _folders(config: pytest.Config) -> list[Path]:
    return list(config.getini("sidecypher_procedures"))


def _command(environ: Mapping[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-P", "-m", "sidecypher", *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
