"""The connection of a run: sessions of a database and of `system`, with this package's errors."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, LiteralString

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

from sidecypher_schema.errors import GraphUnavailable, SchemaError

SYSTEM: Final = "system"
NO_LIMIT: Final = 0.0
"""Time limit of a transaction: none, since scripts may fill large indexes."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Server:
    """Version and edition of a Neo4j server.

    Attributes:
        version: Such as `5.26.29`.
        edition: `community` or `enterprise`.
    """

    version: str
    edition: str


@dataclass(frozen=True, slots=True)
class Graph:
    """A database that is to be migrated.

    Attributes:
        driver: Driver of its server.
        database: Its name.
    """

    driver: neo4j.Driver
    database: str

    def run(
        self, query: str, parameters: Mapping[str, Any] | None = None, database: str | None = None
    ) -> Rows:
        """Run one of this package's own statements in its own transaction; return its rows.

        It must be safe to run twice: it is tried again after a deadlock, for example if two runs
        create the same constraint.

        Raises:
            GraphUnavailable: There is no connection, or the statement is refused.
        """

        @neo4j.unit_of_work(timeout=NO_LIMIT)
        def work(tx: neo4j.ManagedTransaction) -> Rows:
            return tx.run(query, dict(parameters or {})).data()

        with reported(), self.session(database) as session:
            return session.execute_write(work)

    def session(self, database: str | None = None) -> neo4j.Session:
        """Return a session of a database, by default the one that is migrated."""
        # Labels that nothing has yet are not a mistake here.
        return self.driver.session(
            database=database or self.database, notifications_min_severity="OFF"
        )

    def server(self) -> Server:
        """Return version and edition."""
        query: LiteralString = (
            "CALL dbms.components() YIELD name, versions, edition "
            "WHERE name = 'Neo4j Kernel' RETURN versions[0] AS version, edition"
        )
        return Server(**self.run(query)[0])


def connect(driver: neo4j.Driver, database: str | None = None) -> Graph:
    """Return a database of a server, by default that of the driver's user.

    Raises:
        GraphUnavailable: There is no connection, or no such database.
    """
    with reported(), driver.session(database=database) as session:
        found = session.run("CALL db.info() YIELD name RETURN name").single(strict=True)
        return Graph(driver, str(found["name"]))


def unlimited(query: str) -> neo4j.Query:
    """Return a statement without a time limit; it comes from a migration or trigger file."""
    return neo4j.Query(query, timeout=NO_LIMIT)


@contextmanager
def reported() -> Iterator[None]:
    """Raise errors of the driver and of Neo4j as errors of this package.

    Raises:
        GraphUnavailable: There is no connection, or a statement is refused.
    """
    try:
        with reported_loss():
            yield
    except Neo4jError as error:
        raise GraphUnavailable(
            f"Neo4j refused a request: {message_of(error)}", details={"code": error.code}
        ) from None


@contextmanager
def reported_loss() -> Iterator[None]:
    """Raise the loss of the connection as an error of this package.

    Raises:
        GraphUnavailable: There is no connection.
    """
    try:
        yield
    except DriverError as error:
        raise GraphUnavailable(f"Neo4j did not answer: {message_of(error)}") from None
    except ValueError as error:
        # If DNS fails for good, the driver raises this.
        if not isinstance(error.__cause__, OSError):
            raise
        raise GraphUnavailable(f"Neo4j did not answer: {error}") from None


@contextmanager
def afterwards(clean_up: Callable[[], object]) -> Iterator[None]:
    """Call a function after a block, even if the block fails; the first error is raised.

    Args:
        clean_up: Function to call; its own error is dropped if the block has failed.

    Raises:
        SchemaError: Error of the block, or else of the function.
    """
    try:
        yield
    except BaseException:
        with suppress(SchemaError):
            clean_up()
        raise
    clean_up()


def message_of(error: Exception) -> str:
    """Return the message of an error of Neo4j or its driver."""
    return getattr(error, "message", None) or str(error) or type(error).__name__
