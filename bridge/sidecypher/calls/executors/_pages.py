"""Rows on their way out: cut into pages, encoded as they come.

A page may be sent while its body works on the next row. So one thread adds rows and another sends
them, without a lock: the one only appends, the other only cuts off what is there.
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
"""A page with rows is sent when its producer has taken this long since the first of them."""


class Page:
    """Rows of one page, encoded as they come.

    Attributes:
        rows: Each row as JSON, until it is sent.
        begun: Called with the page when the first row is there.
        bytes_left: How many more it may take.
    """

    def __init__(
        self,
        procedure: Procedure,
        row_limit: int,
        byte_limit: int,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self.rows: list[bytes] = []
        self.begun: Callable[[Page], None] | None = None
        self._encode = procedure.encode_row
        self._rows_left = row_limit
        self.bytes_left = byte_limit
        self._flush_seconds = flush_seconds
        self._flush_at = 0.0
        self._is_sent = False

    def add(self, row: object) -> bool:
        """Add a row; tell whether its body is to wait until the next page is asked for."""
        was_sent = self._is_sent
        text = envelope.write(self._encode(row))
        if self.rows:
            self.rows.append(text)
        else:
            self._flush_at = time.monotonic() + self._flush_seconds
            self.rows.append(text)
            if self.begun is not None:
                self.begun(self)
        self._rows_left -= 1
        self.bytes_left -= len(text)
        return was_sent or self._rows_left <= 0 or self.bytes_left <= 0

    def add_all(self, rows: Iterator[Any]) -> bool:
        """Add rows until the page is full or they end; tell whether there may be more."""
        return any(map(self.add, rows)) and operator.length_hint(rows, 1) > 0

    def patience(self) -> float:
        """Return the seconds until it has to be sent, 0.0 when that is now; it has a row."""
        return max(0.0, self._flush_at - time.monotonic())

    def take(self) -> list[bytes]:
        """Return the rows that are to be sent now; what is added later is for the next page."""
        self._is_sent = True
        rows = self.rows[:]
        del self.rows[: len(rows)]
        return rows

    def take_over(self, sent: "Page") -> bool:
        """Take what was added to a page after it was sent; tell whether this one is full then."""
        return self.add_encoded(deque(sent.rows))

    def add_encoded(self, rows: deque[bytes]) -> bool:
        """Take rows that are JSON already, as far as they fit; tell whether the page is full."""
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
    """Return the rows of a body that is not a generator.

    Raises:
        RowError: The body answered with something else than its annotation says.
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
