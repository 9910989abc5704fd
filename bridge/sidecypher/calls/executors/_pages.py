"""Pages of rows, encoded as the function yields them.

A page may be sent while its function works on the next row. So one thread adds rows and another
sends them, without a lock: the first only appends, the second only removes from the start.
"""

import operator
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

from sidecypher.errors import RowError
from sidecypher.protocol import envelope
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.signature.model import ReturnKind

PAGE_ROWS: Final = (16, 64, 256, 1000)
"""Rows of the first pages; later ones are as long as the last of these."""

FLUSH_SECONDS: Final = 0.010
"""How long after its first row a page is sent, even if it is not full."""


class Page:
    """Rows of one page, encoded when they are added.

    Attributes:
        rows: Each row as JSON, until it is sent.
        on_first_row: Called with the page when it has its first row.
        bytes_left: Number of bytes that may still be added.
    """

    def __init__(
        self,
        procedure: Procedure,
        row_limit: int,
        byte_limit: int,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self.rows: list[bytes] = []
        self.on_first_row: Callable[[Page], None] | None = None
        self._encode = procedure.encode_row
        self._rows_left = row_limit
        self.bytes_left = byte_limit
        self._flush_seconds = flush_seconds
        self._flush_at = 0.0
        self._is_sent = False

    def add(self, row: object) -> bool:
        """Add a row; return whether its function must wait for the request for the next page."""
        was_sent = self._is_sent
        text = envelope.write(self._encode(row))
        if self.rows:
            self.rows.append(text)
        else:
            self._flush_at = time.monotonic() + self._flush_seconds
            self.rows.append(text)
            if self.on_first_row is not None:
                self.on_first_row(self)
        self._rows_left -= 1
        self.bytes_left -= len(text)
        return was_sent or self._rows_left <= 0 or self.bytes_left <= 0

    def add_all(self, rows: Iterator[Any]) -> bool:
        """Add rows until the page is full or they end; return whether more may follow."""
        return any(map(self.add, rows)) and operator.length_hint(rows, 1) > 0

    def seconds_to_flush(self) -> float:
        """Return the seconds until a page with rows must be sent, or 0.0 if that is now."""
        return max(0.0, self._flush_at - time.monotonic())

    def take(self) -> list[bytes]:
        """Remove and return the rows to send now; rows added later belong to the next page."""
        self._is_sent = True
        rows = self.rows[:]
        del self.rows[: len(rows)]
        return rows

    def take_over(self, sent: "Page") -> bool:
        """Add the rows that `sent` got after it was sent; return whether this page is full."""
        return self.add_encoded(deque(sent.rows))

    def add_encoded(self, rows: deque[bytes]) -> bool:
        """Move rows of JSON into the page while they fit; return whether it is full."""
        if rows and not self.rows:
            self._flush_at = time.monotonic() + self._flush_seconds
        while self._rows_left > 0 and self.bytes_left > 0:
            if not rows:
                return False
            row = rows.popleft()
            self.rows.append(row)
            self._rows_left -= 1
            self.bytes_left -= len(row)
        return True


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
