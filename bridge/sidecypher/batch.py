"""`NAME.batch`: the twin of a procedure that takes many rows of arguments in one crossing.

A twin is a procedure like any other; nothing else knows of batches. Its rows are the rows of each
call, in the order of the calls, with the number of the call before them and its error after them.
"""

import asyncio
import contextlib
import functools
import inspect
import itertools
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Sequence,
)
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from msgspec import structs

from sidecypher.catalogue import ColumnEntry, ParameterEntry, ProcedureEntry, signature_of
from sidecypher.envelope import ErrorBody
from sidecypher.errors import ArgumentError, CallError, ProcedureError, RowError, ValueTypeError
from sidecypher.registry import Executor, Procedure
from sidecypher.signature import Answer, Column, CypherType, Parameter, Signature

CONCURRENT_CALLS: Final = 16
"""How many async bodies of one batch run at a time."""

_CHUNKS: Final = (16, 64, 256)
"""So many async bodies are awaited together, as the first pages are long: `LIMIT 5` costs 16.

None of them runs between two pages: only while the caller waits is there a transaction.
"""

_CHECK_EVERY: Final = 64
"""A batch of plain bodies looks whether anybody still waits for it once in so many rows."""

_ROWS: Final = Parameter(
    "rows", CypherType("LIST", CypherType("LIST", CypherType("ANY", nullable=True))), None
)
_INDEX: Final = Column("index", "index", CypherType("INTEGER"), "number of the row, from 0")
_ERROR: Final = Column(
    "error", "error", CypherType("MAP", CypherType("ANY"), nullable=True), "code, message, hint"
)

_MANY: Final[dict[Answer, tuple[type, str]]] = {
    Answer.LIST: (list, "a list of rows"),
    Answer.ITERATOR: (Iterator, "an iterator of rows"),
}

Encoded = list[Any]
"""The JSON values of one row of a batch."""

_ROW_ERRORS: Final = (ProcedureError, ArgumentError, RowError, ValueTypeError)
"""What is one row's own error; anything else ends the batch."""


class _Call(Protocol):
    """What a batch needs of its context."""

    def check(self) -> None:
        """Raise if nobody waits, or if a statement has failed."""


def with_twins(procedures: Iterable[Procedure]) -> Iterator[Procedure]:
    """Yield each procedure, followed by its `NAME.batch` if it shall have one.

    Example:
        >>> from sidecypher import Row, procedure
        >>> class Twice(Row):
        ...     value: int
        >>> @procedure("demo.twice", batch=True)
        ... def twice(value: int) -> Twice:
        ...     return Twice(value=2 * value)
        >>> [found.name for found in with_twins([twice.__sidecypher_procedure__])]
        ['demo.twice', 'demo.twice.batch']
    """
    for procedure in procedures:
        yield procedure
        if procedure.options.batch is not False:
            yield _twin_of(procedure)


@dataclass(frozen=True, eq=False)
class Twin(Procedure):
    """The batch of one procedure; its body yields rows that are encoded already."""

    def arguments(self, sent: Sequence[Any]) -> list[Any]:
        """Return the rows as they were sent: each is decoded on its own, since it may be wrong."""
        if len(sent) == 1 and isinstance(sent[0], list):
            return [sent[0]]
        return super().arguments(sent)

    def encode_row(self, row: Any) -> Encoded:
        """Return the row as it is."""
        encoded: Encoded = row
        return encoded


def _twin_of(base: Procedure) -> Twin:
    rows = _Rows(base)
    body = _body(rows)
    # Errors, logs and reloads name the author's function.
    body.__wrapped__ = base.body  # type: ignore[attr-defined]
    return Twin(
        body=body,
        signature=Signature((_ROWS,), rows.columns, True, list, Answer.ITERATOR),  # noqa: FBT003
        entry=_entry(base, rows.columns),
        options=replace(base.options, executor=_executor(base, body), batch=False),
    )


def _entry(base: Procedure, columns: tuple[Column, ...]) -> ProcedureEntry:
    assert isinstance(base.entry, ProcedureEntry)  # noqa: S101 - functions have no batches
    name = f"{base.name}.batch"
    parameters = (ParameterEntry(_ROWS.name, str(_ROWS.type)),)
    entries = tuple(
        ColumnEntry(column.name, str(column.type), column.description) for column in columns
    )
    return structs.replace(
        base.entry,
        name=name,
        description=f"{base.name} for each row of arguments. {base.entry.description}".strip(),
        signature=signature_of(name, base.entry.mode, parameters, entries),
        parameters=parameters,
        columns=entries,
        single=False,
    )


def _executor(base: Procedure, body: Callable[..., Any]) -> Executor:
    if inspect.isasyncgenfunction(body):
        return "async"
    # In a worker process the whole batch runs there: one hop instead of one for each row.
    return "process" if base.options.executor == "process" else "thread"


class _Rows:
    """Makes the rows of a batch from what the calls of one procedure give.

    Attributes:
        columns: The batch's columns.
        tail: What follows the procedure's own values in a row without an error.
        is_read: Whether a row's error is told in its row; else it ends the call.
        is_many: Whether a call may have many rows.
        may_lack: Whether a call may have none where one is expected.
    """

    def __init__(self, base: Procedure) -> None:
        self.base: Final = base
        own = base.signature.columns
        names = [column.name for column in own]
        # A procedure's own error column takes the errors of its batch too.
        added = () if _ERROR.name in names else (_ERROR,)
        self.columns: Final = (_INDEX, *map(_nullable, own), *added)
        self.is_read: Final = isinstance(base.entry, ProcedureEntry) and base.entry.mode == "READ"
        self._error_at = [*names, *(column.name for column in added)].index(_ERROR.name) + 1
        self.tail: Final[Encoded] = [None] * len(added)
        self._nulls: Encoded = [None] * (len(self.columns) - 1)
        answer = base.signature.answer
        self.is_many: Final = answer in _MANY
        self.may_lack: Final = answer in {Answer.MAYBE, Answer.VOID}
        self._encode = base.encode_row

    def arguments(self, values: object) -> list[Any]:
        """Return the Python arguments of one call, without the context.

        Raises:
            ArgumentError: They do not fit the procedure's parameters.
        """
        if isinstance(values, list):
            return self.base.arguments(values)
        raise ArgumentError(
            f"A row of `{self.base.name}.batch` is no list of arguments",
            hint=f"Give a list of lists; each is for {self.base.usage()}.",
        )

    def body_with(self, context: _Call) -> Callable[..., Any]:
        """Return the procedure's body, with the context for its first argument if it takes one."""
        if self.base.signature.takes_context:
            return functools.partial(self.base.body, context)
        return self.base.body

    def one(self, index: int, row: object) -> Encoded:
        """Return one row of a call."""
        return [index, *self._encode(row), *self.tail]

    def nothing(self, index: int) -> Encoded:
        """Return the row of a call that gave none; the caller's own row would go with it."""
        return [index, *self._nulls]

    def of(self, index: int, answer: Any) -> Iterator[Encoded]:
        """Yield the rows of a call that gave `answer`.

        Raises:
            RowError: It is not what the procedure's annotation says.
        """
        if self.is_many:
            kind, expected = _MANY[self.base.signature.answer]
            if not isinstance(answer, kind):
                raise RowError(
                    f"`{self.base.name}` returned a {type(answer).__name__} "
                    f"where {expected} is expected"
                )
            yield from self._each(index, answer)
        elif answer is None and self.may_lack:
            yield self.nothing(index)
        else:
            yield self.one(index, answer)

    def _each(self, index: int, given: Any) -> Iterator[Encoded]:
        try:
            for row in given:
                yield self.one(index, row)
        finally:
            # A generator of the author's, when nobody wants more of the batch.
            if isinstance(given, Generator):
                given.close()

    def of_entry(self, index: int, entry: Any) -> Iterator[Encoded]:
        """Yield the rows of one entry of an author's own batch.

        Raises:
            ProcedureError: The entry is one.
            RowError: It is nothing that an entry may be.
        """
        if isinstance(entry, ProcedureError):
            raise entry
        if isinstance(entry, list):
            yield from self._each(index, entry)
        elif entry is not None:
            yield self.one(index, entry)
        elif not self.is_many:
            yield self.nothing(index)

    def of_error(self, context: _Call, index: int, error: CallError) -> Encoded:
        """Return the row that tells the error of a call.

        Raises:
            SidecypherError: It is not the row's alone: a statement has failed, nobody waits any
                more, or the procedure writes.
        """
        context.check()
        if not self.is_read:
            error.message = f"In row {index} of the batch: {error.message}"
            raise error
        told = ErrorBody.of(error)
        row = [index, *self._nulls]
        row[self._error_at] = {"code": told.code, "message": told.message, "hint": told.hint}
        return row


def _nullable(column: Column) -> Column:
    return replace(column, type=replace(column.type, nullable=True))


def _body(rows: _Rows) -> Callable[..., Any]:
    own = rows.base.options.batch
    if callable(own):
        return _own_async(rows, own) if inspect.iscoroutinefunction(own) else _own(rows, own)
    if rows.base.is_async:
        return _concurrent(rows)
    return _in_order(rows) if rows.is_many else _singly(rows)


def _in_order(rows: _Rows) -> Callable[..., Any]:
    """Return the batch of a plain body that gives many rows."""

    def body(context: _Call, sent: list[Any]) -> Iterator[Encoded]:
        run = rows.body_with(context)
        for index, values in enumerate(sent):
            if not index % _CHECK_EVERY:
                context.check()
            try:
                yield from rows.of(index, run(*rows.arguments(values)))
            except _ROW_ERRORS as error:
                yield rows.of_error(context, index, error)

    return body


def _singly(rows: _Rows) -> Callable[..., Any]:
    """Return the batch of a plain body that gives one row at most.

    It does what `_in_order` does, with as few Python calls as can be: they are most of its cost.
    """
    base, tail, may_lack = rows.base, rows.tail, rows.may_lack
    decode, encode = base.arguments, base.encode_row

    def body(context: _Call, sent: list[Any]) -> Iterator[Encoded]:
        run = rows.body_with(context)
        for index, values in enumerate(sent):
            if not index % _CHECK_EVERY:
                context.check()
            try:
                answer = run(*(decode(values) if type(values) is list else rows.arguments(values)))
                if answer is None and may_lack:
                    yield rows.nothing(index)
                else:
                    yield [index, *encode(answer), *tail]
            except _ROW_ERRORS as error:
                yield rows.of_error(context, index, error)

    return body


def _concurrent(rows: _Rows) -> Callable[..., Any]:
    """Return the batch of an async body: many at a time, unless one row's write may matter."""
    workers = CONCURRENT_CALLS if rows.is_read else 1
    streams = rows.base.signature.answer is Answer.ITERATOR

    async def body(context: _Call, sent: list[Any]) -> AsyncIterator[Encoded]:
        run = rows.body_with(context)

        async def call(index: int) -> list[Encoded]:
            found: list[Encoded] = []
            try:
                answer = run(*rows.arguments(sent[index]))
                if streams:
                    async with contextlib.aclosing(answer):
                        async for row in answer:
                            found.append(rows.one(index, row))  # noqa: PERF401 - kept on an error
                else:
                    found.extend(rows.of(index, await answer))
            except _ROW_ERRORS as error:
                found.append(rows.of_error(context, index, error))
            return found

        for chunk in _chunks(len(sent)):
            for given in await gather_in_order(call, chunk, workers):
                for row in given:
                    yield row

    return body


def _chunks(length: int) -> Iterator[range]:
    start = 0
    for size in itertools.chain(_CHUNKS, itertools.repeat(_CHUNKS[-1])):
        if start >= length:
            return
        yield range(start, min(start + size, length))
        start += size


def _own(rows: _Rows, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return the batch that an author wrote as a plain function."""

    def body(context: _Call, sent: list[Any]) -> Iterator[Encoded]:
        taken = _Taken(rows, context, sent)
        entries = own(context, taken.arguments) if taken.arguments else []
        yield from taken.rows_of(entries)

    return body


def _own_async(rows: _Rows, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return the batch that an author wrote as an async function."""

    async def body(context: _Call, sent: list[Any]) -> AsyncIterator[Encoded]:
        taken = _Taken(rows, context, sent)
        entries = await own(context, taken.arguments) if taken.arguments else []
        for row in taken.rows_of(entries):
            yield row

    return body


class _Taken:
    """The rows that an author's own batch gets: those whose arguments fit.

    Attributes:
        arguments: Their arguments.
    """

    def __init__(self, rows: _Rows, context: _Call, sent: list[Any]) -> None:
        self._rows = rows
        self._context = context
        self._refused: dict[int, Encoded] = {}
        self._count = len(sent)
        self.arguments: list[tuple[Any, ...]] = []
        for index, values in enumerate(sent):
            try:
                self.arguments.append(tuple(rows.arguments(values)))
            except _ROW_ERRORS as error:
                self._refused[index] = rows.of_error(context, index, error)

    def rows_of(self, entries: Any) -> Iterator[Encoded]:
        """Yield the rows of all entries, and those of the errors, in order.

        Raises:
            RowError: There is not one entry for each row that was given.
        """
        name = f"{self._rows.base.name}.batch"
        if not isinstance(entries, list):
            raise RowError(f"`{name}` returned a {type(entries).__name__}, not a list of entries")
        if len(entries) != len(self.arguments):
            raise RowError(
                f"`{name}` returned {len(entries)} entries for {len(self.arguments)} rows",
                hint="Return one entry for each row: a row, None, a list or a ProcedureError.",
            )
        given = iter(entries)
        for index in range(self._count):
            if index in self._refused:
                yield self._refused[index]
                continue
            try:
                yield from self._rows.of_entry(index, next(given))
            except _ROW_ERRORS as error:
                yield self._rows.of_error(self._context, index, error)


async def gather_in_order(
    call: Callable[[int], Awaitable[list[Encoded]]], indexes: range, workers: int
) -> list[list[Encoded]]:
    """Await `call` for each index, so many at a time, and return what they gave in order.

    The first one that raises cancels the others, and its exception is raised when all have ended.
    `asyncio.TaskGroup` would let a SystemExit end the loop and all other calls with it.
    """
    results: dict[int, list[Encoded]] = {}
    errors: list[BaseException] = []
    pending = iter(indexes)

    async def work() -> None:
        try:
            for index in pending:
                results[index] = await call(index)
        except BaseException as error:  # noqa: BLE001 - a body may raise anything
            errors.append(error)
            for task in tasks:
                task.cancel()

    tasks = [asyncio.ensure_future(work()) for _ in range(min(workers, len(indexes)))]
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    if errors:
        raise errors[0]
    return [results[index] for index in indexes]
