"""The rows of one call, from the function that makes them to the pages that are sent.

A page may be sent while its function works on the next row. So one thread adds rows and another
takes pages.
"""

import contextlib
import operator
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from sidecypher.errors import RowError
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.signature.model import ReturnKind

PAGE_ROWS: Final = (16, 64, 256, 1000)
"""Rows of the first pages; later ones are as long as the last of these."""

FLUSH_SECONDS: Final = 0.010
"""How long after its first row a page is sent, even if it is not full."""

_MOST_TOGETHER: Final = 128
"""Most rows that are encoded together: more of them would gain little."""


class Rows(msgspec.Struct, frozen=True):
    """Encoded rows.

    Attributes:
        count: Number of rows.
        json: A JSON array of them.
    """

    count: int
    json: bytes


class Pages:
    """The rows of one call that wait to be sent.

    Rows are encoded together, which takes a third of the time of one by one: as many as the first
    page has, then twice as many each time while they are small. Their values were taken when they
    were added, so a function may change a row afterwards.

    Attributes:
        on_first_row: Called when a page has its first row.
        bytes_taken: Size of all rows that were taken.
    """

    def __init__(self, procedure: Procedure, flush_seconds: float = FLUSH_SECONDS) -> None:
        self.on_first_row: Callable[[], None] | None = None
        self.bytes_taken = 0
        self._collect = procedure.collect
        self._plain_row = procedure.plain_row
        self._values_of = procedure.values_of
        self._encode = procedure.encode_rows
        self._is_read = procedure.is_read
        self._flush_seconds = flush_seconds
        self._flush_at = 0.0
        self._is_sent = False
        self._row_limit = self._byte_limit = 0
        self._collected: deque[Any] = deque()
        self._together = self._most_together = PAGE_ROWS[0]
        self._lock = threading.Lock()
        # What the lock protects: the rows that are encoded, in their order, and their size.
        self._encoded: deque[Rows] = deque()
        self._count = self._size = 0
        self._failure: RowError | None = None

    def begin(self, row_limit: int, byte_limit: int) -> None:
        """Begin the next page, with the rows that the latest one did not hold."""
        self._row_limit, self._byte_limit = row_limit, byte_limit
        self._flush_at = time.monotonic() + self._flush_seconds if self.has_more else 0.0
        self._is_sent = False
        self._limit_together()

    @property
    def has_more(self) -> bool:
        """Whether rows wait to be taken, or the error of the row after them."""
        return bool(self._encoded or self._collected or self._failure)

    @property
    def is_full(self) -> bool:
        """Whether the page has as many rows or bytes as it may have."""
        return (
            self._count + len(self._collected) >= self._row_limit or self._size >= self._byte_limit
        )

    def add(self, row: object) -> bool:
        """Add a row; return whether its function must wait for the request for the next page.

        Raises:
            RowError: This row does not fit its procedure, or one of the latest does not.
        """
        self._collected.append(self._collect(row))
        return self._added()

    def add_all(self, rows: Iterator[Any]) -> bool:
        """Add rows until the page is full or they end; return whether more may follow.

        Raises:
            RowError: A row does not fit its procedure.
        """
        # The body of this loop costs as much as the author's own code: it makes one call a row.
        collected, plain_row, values_of = self._collected, self._plain_row, self._values_of
        for row in rows:
            collected.append(values_of(row) if type(row) is plain_row else self._collect(row))
            if len(collected) < self._together and self._flush_at and not self._is_sent:
                continue
            if self._added():
                return operator.length_hint(rows, 1) > 0
        return False

    def add_encoded(self, rows: Iterable[Rows]) -> None:
        """Add rows that a worker process has encoded."""
        with self._lock:
            for each in rows:
                self._append(each)
        if not self._flush_at:
            self._begin_flush()

    def seconds_to_flush(self) -> float:
        """Return the seconds until a page with rows must be sent, or 0.0 if that is now."""
        return max(0.0, self._flush_at - time.monotonic())

    def take(self) -> list[Rows]:
        """Remove and return the rows of the page; rows added later belong to the next one.

        Raises:
            RowError: The next row does not fit its procedure, or one of a procedure that writes:
                a caller that reads no further must not commit its writes.
        """
        with self._lock:
            try:
                self._encode_collected()
            except RowError:
                if not self._encoded or not self._is_read:
                    raise
            self._is_sent = True
            taken: list[Rows] = []
            count = size = 0
            while self._encoded and count < self._row_limit and size < self._byte_limit:
                taken.append(self._encoded.popleft())
                count += taken[-1].count
                size += len(taken[-1].json)
            self._count -= count
            self._size -= size
            self.bytes_taken += size
            return taken

    def drop(self) -> None:
        """Remove all rows: their call has ended."""
        with self._lock:
            self._collected.clear()
            self._encoded.clear()

    def _added(self) -> bool:
        """Do what is due after a row was added; return whether the function must wait."""
        was_sent = self._is_sent
        if not self._flush_at:
            self._begin_flush()
        if len(self._collected) < self._together:
            return was_sent
        with self._lock:
            self._encode_collected()
        return was_sent or self.is_full

    def _begin_flush(self) -> None:
        self._flush_at = time.monotonic() + self._flush_seconds
        if self.on_first_row is not None:
            self.on_first_row()

    def _encode_collected(self) -> None:
        if self._failure is not None:
            raise self._failure
        # Its function may add rows meanwhile, which are left.
        rows = [self._collected.popleft() for _ in range(len(self._collected))]
        if not rows:
            return
        try:
            json = self._encode(rows)
        except RowError as error:
            self._failure = error
            # The rows before the one that does not fit are sent.
            with contextlib.suppress(RowError):
                self._encode_each(rows)
            raise
        if len(json) > self._byte_limit:
            self._encode_each(rows)
        else:
            self._append(Rows(len(rows), json))
        if len(rows) == self._together:
            fitting = self._byte_limit * len(rows) // len(json)
            self._most_together = max(1, min(2 * self._most_together, _MOST_TOGETHER, fitting))
            self._limit_together()

    def _encode_each(self, rows: list[Any]) -> None:
        for row in rows:
            self._append(Rows(1, self._encode([row])))

    def _append(self, rows: Rows) -> None:
        self._encoded.append(rows)
        self._count += rows.count
        self._size += len(rows.json)

    def _limit_together(self) -> None:
        self._together = max(1, min(self._most_together, self._row_limit - self._count))


def joined(rows: list[Rows]) -> Rows:
    """Return all rows as one array.

    Example:
        >>> joined([Rows(2, b"[[1],[2]]"), Rows(1, b"[[3]]")])
        Rows(count=3, json=b'[[1],[2],[3]]')
    """
    if len(rows) == 1:
        return rows[0]
    count = sum(each.count for each in rows)
    return Rows(count, b"[%b]" % b",".join(each.json[1:-1] for each in rows))


def rows_of(procedure: Procedure, answer: object) -> list[Any]:
    """Return the rows of a function that is not a generator.

    Raises:
        RowError: The result does not fit the annotation of the function.
    """
    match procedure.signature.returns:
        case ReturnKind.ROW | ReturnKind.VALUE:
            return [answer]
        case ReturnKind.VOID if answer is None:
            return []
        case ReturnKind.OPTIONAL_ROW:
            return [] if answer is None else [answer]
    if isinstance(answer, list):
        return answer
    raise RowError(
        f"`{procedure.name}` returned a {type(answer).__name__} where "
        f"{procedure.signature.returns.value} is expected"
    )
