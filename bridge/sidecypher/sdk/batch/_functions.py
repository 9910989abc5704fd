"""The functions of batches: many calls of one procedure, one after the other or at once."""

import asyncio
import contextlib
import inspect
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final

from sidecypher.errors import RowError
from sidecypher.sdk.batch._rows import ROW_ERRORS, BatchRows, Encoded
from sidecypher.sdk.batch.columns import ColumnsProcedure, numbered
from sidecypher.sdk.context import Context
from sidecypher.sdk.signature.model import ReturnKind

CONCURRENT_CALLS: Final = 16
"""Async calls of one batch that run at a time."""

_CHUNKS: Final = (16, 64, 256)
"""Async calls awaited together, as many as the first pages have rows: `LIMIT 5` costs 16."""

_CHECK_EVERY: Final = 64
"""Rows between two checks whether the caller still waits for a batch of a plain function."""


def batch_function(rows: BatchRows) -> Callable[..., Any]:
    """Return the function of a batch: a generator function of the context and the rows as sent."""
    if isinstance(rows.base, ColumnsProcedure):
        return _columns_async(rows, rows.base) if rows.base.is_async else _columns(rows, rows.base)
    own = rows.base.batch
    if callable(own):
        return _own_async(rows, own) if inspect.iscoroutinefunction(own) else _own(rows, own)
    if rows.base.is_async:
        return _concurrent(rows)
    return _many_rows_each(rows) if rows.is_many else _one_row_each(rows)


def _many_rows_each(rows: BatchRows) -> Callable[..., Any]:
    """Return the batch of a plain function that returns many rows."""

    def batch(context: Context, sent: list[Any]) -> Iterator[Encoded]:
        run = rows.function_with(context)
        for index, values in enumerate(sent):
            if not index % _CHECK_EVERY:
                context.check()
            try:
                yield from rows.of(index, run(*rows.arguments(values)))
            except ROW_ERRORS as error:
                yield rows.of_error(context, index, error)

    return batch


def _one_row_each(rows: BatchRows) -> Callable[..., Any]:
    """Return the batch of a plain function that returns one row at most.

    It does what `_many_rows_each` does, with as few Python calls as possible: they cost the most.
    """
    base, tail, may_be_none = rows.base, rows.tail, rows.may_be_none
    decode, encode = base.arguments, base.encode_row

    def batch(context: Context, sent: list[Any]) -> Iterator[Encoded]:
        run = rows.function_with(context)
        for index, values in enumerate(sent):
            if not index % _CHECK_EVERY:
                context.check()
            try:
                answer = run(*(decode(values) if type(values) is list else rows.arguments(values)))
                if answer is None and may_be_none:
                    yield rows.empty_row(index)
                else:
                    yield [index, *encode(answer), *tail]
            except ROW_ERRORS as error:
                yield rows.of_error(context, index, error)

    return batch


def _concurrent(rows: BatchRows) -> Callable[..., Any]:
    """Return the batch of an async function: many calls at a time if it only reads, else one."""
    workers = CONCURRENT_CALLS if rows.is_read else 1
    streams = rows.base.signature.returns is ReturnKind.ITERATOR

    async def batch(context: Context, sent: list[Any]) -> AsyncIterator[Encoded]:
        run = rows.function_with(context)

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
            except ROW_ERRORS as error:
                found.append(rows.of_error(context, index, error))
            return found

        for chunk in _chunks(len(sent)):
            for answer in await gather_in_order(call, chunk, workers):
                for row in answer:
                    yield row

    return batch


def _chunks(length: int) -> Iterator[range]:
    start = 0
    for size in itertools.chain(_CHUNKS, itertools.repeat(_CHUNKS[-1])):
        if start >= length:
            return
        yield range(start, min(start + size, length))
        start += size


def _own(rows: BatchRows, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return the batch that an author wrote as a plain function."""

    def batch(context: Context, sent: list[Any]) -> Iterator[Encoded]:
        valid = _ValidRows(rows, context, sent)
        entries = own(context, valid.arguments) if valid.arguments else []
        yield from valid.rows_of(entries)

    return batch


def _own_async(rows: BatchRows, own: Callable[..., Any]) -> Callable[..., Any]:
    """Return the batch that an author wrote as an async function."""

    async def batch(context: Context, sent: list[Any]) -> AsyncIterator[Encoded]:
        valid = _ValidRows(rows, context, sent)
        entries = await own(context, valid.arguments) if valid.arguments else []
        for row in valid.rows_of(entries):
            yield row

    return batch


def _columns(rows: BatchRows, base: ColumnsProcedure) -> Callable[..., Any]:
    """Return the batch of a plain function that takes and returns columns."""

    def batch(context: Context, sent: list[Any]) -> Iterator[Any]:
        valid = _ValidColumns(rows, base, context, sent)
        run = rows.function_with(context)
        yield from valid.rows_of(run(*valid.columns) if valid.count else None)

    return batch


def _columns_async(rows: BatchRows, base: ColumnsProcedure) -> Callable[..., Any]:
    """Return the batch of an async function that takes and returns columns."""

    async def batch(context: Context, sent: list[Any]) -> AsyncIterator[Any]:
        valid = _ValidColumns(rows, base, context, sent)
        run = rows.function_with(context)
        for row in valid.rows_of(await run(*valid.columns) if valid.count else None):
            yield row

    return batch


class _ValidColumns:
    """The arguments that a function of columns gets: of the rows whose arguments fit.

    Attributes:
        count: Number of these rows.
        columns: A list for each parameter.
        refused: The rows of the others, by their numbers.
    """

    def __init__(
        self, rows: BatchRows, base: ColumnsProcedure, context: Context, sent: list[Any]
    ) -> None:
        self._rows = rows
        self._base = base
        self._sent = len(sent)
        self.refused: dict[int, Encoded] = {}
        columns = base.argument_columns(sent)
        if columns is None:
            found = _ValidRows(rows, context, sent)
            self.refused = found.refused
            columns = [[value for [value] in column] for column in zip(*found.arguments)]  # noqa: B905
        self.columns = columns
        self.count = len(sent) - len(self.refused)

    def rows_of(self, answer: object) -> Iterator[Any]:
        """Yield the rows of the answer and those that were refused, in order.

        Args:
            answer: What the function returned; None if no row fitted.

        Raises:
            RowError: The answer has another number of rows, or a value is not of its column's type.
        """
        if not self.count:
            yield from self.refused.values()
            return
        columns, tail = self._base.encode_columns(answer, self.count), self._rows.tail
        if not self.refused:
            yield from numbered(columns, tail, iter(range(self._sent)))
            return
        valid = (index for index in range(self._sent) if index not in self.refused)
        found = numbered(columns, tail, valid)
        for index in range(self._sent):
            yield self.refused[index] if index in self.refused else next(found)


class _ValidRows:
    """The rows that an author's own batch gets: those whose arguments fit."""

    def __init__(self, rows: BatchRows, context: Context, sent: list[Any]) -> None:
        self._rows = rows
        self._context = context
        self.refused: dict[int, Encoded] = {}
        self._count = len(sent)
        self.arguments: list[tuple[Any, ...]] = []
        for index, values in enumerate(sent):
            try:
                self.arguments.append(tuple(rows.arguments(values)))
            except ROW_ERRORS as error:
                self.refused[index] = rows.of_error(context, index, error)

    def rows_of(self, entries: Any) -> Iterator[Encoded]:
        """Yield the rows of all entries and of the errors, in order.

        Raises:
            RowError: The number of entries is not that of the rows that were passed.
        """
        name = f"{self._rows.base.name}.batch"
        if not isinstance(entries, list):
            raise RowError(f"`{name}` returned a {type(entries).__name__}, not a list of entries")
        if len(entries) != len(self.arguments):
            raise RowError(
                f"`{name}` returned {len(entries)} entries for {len(self.arguments)} rows",
                hint="Return one entry for each row: a row, None, a list or a ProcedureError.",
            )
        remaining = iter(entries)
        for index in range(self._count):
            if index in self.refused:
                yield self.refused[index]
                continue
            try:
                yield from self._rows.of_entry(index, next(remaining))
            except ROW_ERRORS as error:
                yield self._rows.of_error(self._context, index, error)


async def gather_in_order(
    call: Callable[[int], Awaitable[list[Encoded]]], indexes: range, workers: int
) -> list[list[Encoded]]:
    """Await `call` for each index, `workers` at a time, and return the results in order.

    The first exception cancels the other calls, and is raised when all have ended.
    `asyncio.TaskGroup` would let a SystemExit end the loop and all other calls with it.
    """
    results: dict[int, list[Encoded]] = {}
    errors: list[BaseException] = []
    cancels: list[asyncio.CancelledError] = []
    pending = iter(indexes)

    async def work() -> None:
        try:
            for index in pending:
                results[index] = await call(index)
        except BaseException as error:  # noqa: BLE001 - a function may raise anything
            errors.append(error)
            stop()

    tasks = [asyncio.ensure_future(work()) for _ in range(min(workers, len(indexes)))]
    to_stop = list(tasks)

    def stop() -> None:
        # Once each: a second cancel would interrupt a function's clean-up.
        while to_stop:
            to_stop.pop().cancel()

    while not all(task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as error:
            # The batch is cancelled a second time when it has cleaned up for too long.
            to_stop += tasks if cancels else []
            cancels.append(error)
            stop()
    for reason in (*cancels, *errors):
        raise reason
    return [results[index] for index in indexes]
