"""Functions that run in the transaction of a caller, whose connection is sync or async.

Such a function is written once, as a generator: it yields statements and gets their rows.
"""

from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import (
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    overload,
)

from psycopg import AsyncConnection, Connection, sql
from psycopg.rows import dict_row

from sidecypher_procedures.sync.postgres.connection import translating_setup

Owner = TypeVar("Owner")
Given = ParamSpec("Given")
Result_co = TypeVar("Result_co", covariant=True)


class Statement(NamedTuple):
    """A statement and its parameters."""

    query: sql.Composed
    params: Mapping[str, Any]


Rows = list[dict[str, Any]]
Steps = Generator[Statement, Rows, Result_co]


class Bound(Protocol[Given, Result_co]):
    """A method that accepts either kind of connection."""

    @overload
    def __call__(
        self, conn: Connection[Any], /, *arguments: Given.args, **named: Given.kwargs
    ) -> Result_co: ...

    @overload
    def __call__(
        self, conn: AsyncConnection[Any], /, *arguments: Given.args, **named: Given.kwargs
    ) -> Awaitable[Result_co]: ...


class in_transaction(Generic[Owner, Given, Result_co]):  # noqa: N801 - a decorator
    """Make a generator of statements a method whose first argument is a connection.

    The method runs in the current transaction of the connection. With an `AsyncConnection`, its
    result has to be awaited.
    """

    def __init__(self, steps: Callable[Concatenate[Owner, Given], Steps[Result_co]]) -> None:
        self._steps = steps
        self.__doc__ = steps.__doc__

    def __get__(self, owner: Owner, kind: type[Owner]) -> Bound[Given, Result_co]:
        """Return the method of an object."""

        def bound(conn: Any, /, *arguments: Given.args, **named: Given.kwargs) -> Any:
            steps = self._steps(owner, *arguments, **named)
            run = _run_async if isinstance(conn, AsyncConnection) else _run
            return run(conn, steps)

        return bound


def _run(conn: Connection[Any], steps: Steps[Result_co]) -> Result_co:
    with translating_setup(), conn.cursor(row_factory=dict_row) as cursor:
        try:
            statement = next(steps)
            while True:
                cursor.execute(statement.query, statement.params)
                statement = steps.send(cursor.fetchall() if cursor.description else [])
        except StopIteration as end:
            return cast("Result_co", end.value)


async def _run_async(conn: AsyncConnection[Any], steps: Steps[Result_co]) -> Result_co:
    with translating_setup():
        async with conn.cursor(row_factory=dict_row) as cursor:
            try:
                statement = next(steps)
                while True:
                    await cursor.execute(statement.query, statement.params)
                    rows = await cursor.fetchall() if cursor.description else []
                    statement = steps.send(rows)
            except StopIteration as end:
                return cast("Result_co", end.value)
