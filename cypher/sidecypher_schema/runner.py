"""Apply pending scripts, each statement in its database and transaction."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal

import neo4j
from neo4j.exceptions import Neo4jError

from sidecypher_schema.chain import Author, record
from sidecypher_schema.errors import StatementFailed
from sidecypher_schema.graph import (
    NO_LIMIT,
    SYSTEM,
    Graph,
    message_of,
    reported,
    reported_loss,
    unlimited,
)
from sidecypher_schema.lexer import Statement
from sidecypher_schema.lock import Lock
from sidecypher_schema.scripts import Script

INDEX_SECONDS: Final = 3600
"""Time limit for filling new indexes."""

Kind = Literal["schema", "data", "alone"]
"""Schema and data never share a transaction; `alone` begins transactions of its own."""

BeforeStatement = Callable[[Script, Statement], None]
"""Function that is called before each statement."""


def ignore_statement(script: Script, statement: Statement) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class Runner:
    """A run that applies scripts.

    Attributes:
        lock: Its lock, in the database that is migrated.
        author: User who runs it.
        target: Name of the chain.
        before_each: Called before each statement.
    """

    lock: Lock
    author: Author
    target: str
    before_each: BeforeStatement

    @property
    def graph(self) -> Graph:
        """The database that is migrated."""
        return self.lock.graph

    def apply(self, script: Script, versions: Sequence[str]) -> float:
        """Run a script and record it.

        Args:
            script: The pending script.
            versions: Versions that were applied before, in their order.

        Returns:
            Seconds it took.

        Raises:
            StatementFailed: Neo4j refused one of its statements.
            LockLost: Another run has begun.
        """
        started = time.monotonic()
        groups = self._groups(script)
        # A script that ends with data is recorded in the transaction of that data.
        last = groups.pop() if groups and groups[-1].joins(self.graph) else None
        for group in groups:
            self._run_group(script, group)
        if any(group.kind == "schema" for group in groups):
            await_indexes(self.graph)
        with self._transaction(self.graph.database) as tx:
            for statement in last.statements if last else ():
                self._run(script, statement, tx)
            self.lock.confirm(tx)
            seconds = time.monotonic() - started
            record(tx, script, versions, author=self.author, target=self.target, seconds=seconds)
            # Neo4j may refuse changes of earlier statements of the transaction only now.
            with located(script, last.statements[-1]) if last else reported():
                tx.commit()
        return seconds

    def _run_group(self, script: Script, group: "_Group") -> None:
        self.lock.confirm()
        if group.kind == "data":
            with self._transaction(group.database) as tx:
                for statement in group.statements:
                    self._run(script, statement, tx)
                self.lock.confirm(tx)
                with located(script, group.statements[-1]):
                    tx.commit()
            return
        for statement in group.statements:
            self.lock.confirm()
            with self.graph.session(group.database) as session:
                self._run(script, statement, session)

    def _groups(self, script: Script) -> list["_Group"]:
        """Group statements that share a transaction; Neo4j plans each before the first runs."""
        kinds = [
            (self._kind(script, each), self._database(each), each) for each in script.statements
        ]
        return [
            _Group(kind, database, [each for _, _, each in found])
            for (kind, database), found in groupby(kinds, key=lambda found: found[:2])
        ]

    def _kind(self, script: Script, statement: Statement) -> Kind:
        if statement.database == SYSTEM:
            return "alone"
        with (
            located(script, statement),
            self.graph.session(self._database(statement)) as session,
        ):
            summary = session.run(unlimited(f"EXPLAIN {statement.text}")).consume()
        if summary.query_type == "s":
            return "schema"
        return "alone" if _begins_transactions(summary.plan) else "data"

    def _database(self, statement: Statement) -> str:
        return statement.database or self.graph.database

    @contextmanager
    def _transaction(self, database: str) -> Iterator[neo4j.Transaction]:
        with (
            reported(),
            self.graph.session(database) as session,
            session.begin_transaction(timeout=NO_LIMIT) as tx,
        ):
            yield tx

    def _run(
        self, script: Script, statement: Statement, runner: neo4j.Session | neo4j.Transaction
    ) -> None:
        self.before_each(script, statement)
        with located(script, statement):
            if isinstance(runner, neo4j.Session):
                runner.run(unlimited(statement.text)).consume()
            else:
                runner.run(statement.text).consume()


@dataclass(frozen=True, slots=True)
class _Group:
    kind: Kind
    database: str
    statements: list[Statement]

    def joins(self, graph: Graph) -> bool:
        """Return whether the chain can be written in the same transaction."""
        return self.kind == "data" and self.database == graph.database


def await_indexes(graph: Graph) -> None:
    """Wait until all indexes are filled.

    Raises:
        GraphUnavailable: One of them cannot be filled.
    """
    graph.run("CALL db.awaitIndexes($seconds)", {"seconds": INDEX_SECONDS})


@contextmanager
def located(script: Script, statement: Statement) -> Iterator[None]:
    """Raise an error with file and line if Neo4j refuses a statement.

    Args:
        script: Script with the statement.
        statement: Statement that runs.

    Raises:
        StatementFailed: Neo4j refused it.
        GraphUnavailable: The connection was lost.
    """
    try:
        with reported_loss():
            yield
    except Neo4jError as error:
        message = message_of(error)
        raise StatementFailed(
            f"Statement {script.statements.index(statement) + 1} of {len(script.statements)} in "
            f"`{script.source}`, line {statement.line}, was refused: {message}",
            details={
                "file": script.source,
                "line": statement.line,
                "code": error.code,
                "message": message,
            },
        ) from None


def _begins_transactions(plan: dict[str, Any] | None) -> bool:
    """Return whether a plan has `CALL { ... } IN TRANSACTIONS`."""
    if plan is None:
        return False
    return plan["operatorType"].startswith("Transaction") or any(
        map(_begins_transactions, plan.get("children", ()))
    )
