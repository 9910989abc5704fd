"""Rows on their way out: cut into pages, encoded as they come."""

import operator
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from sidecypher import envelope
from sidecypher.errors import RowError
from sidecypher.registry import Procedure
from sidecypher.signature import Answer

PAGE_ROWS: Final = (16, 64, 256, 1000)
"""Rows of the first pages; later ones are as long as the last of these."""

FLUSH_SECONDS: Final = 0.010
"""A page with rows is sent when its producer has taken this long since the first of them."""


class Page:
    """Rows of one page, encoded as they come.

    Attributes:
        rows: Each row as JSON.
    """

    def __init__(
        self,
        procedure: Procedure,
        row_limit: int,
        byte_limit: int,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self.rows: list[msgspec.Raw] = []
        self._encode = procedure.encode_row
        self._rows_left = row_limit
        self._bytes_left = byte_limit
        self._flush_seconds = flush_seconds
        self._flush_at = 0.0

    def add(self, row: object) -> bool:
        """Add a row; tell whether the page is to be sent now."""
        text = envelope.write(self._encode(row))
        if not self.rows:
            self._flush_at = time.monotonic() + self._flush_seconds
        self.rows.append(msgspec.Raw(text))
        self._rows_left -= 1
        self._bytes_left -= len(text)
        return self._rows_left <= 0 or self._bytes_left <= 0 or time.monotonic() >= self._flush_at

    def add_all(self, rows: Iterator[Any]) -> bool:
        """Add rows until the page is full or they end; tell whether there may be more."""
        return any(map(self.add, rows)) and operator.length_hint(rows, 1) > 0

    def add_encoded(self, rows: Iterator[msgspec.Raw]) -> bool:
        """Add rows that are JSON already; tell whether there may be more."""
        for row in rows:
            self.rows.append(row)
            self._rows_left -= 1
            self._bytes_left -= memoryview(row).nbytes
            if self._rows_left <= 0 or self._bytes_left <= 0:
                return operator.length_hint(rows, 1) > 0
        return False


def rows_of(procedure: Procedure, answer: object) -> list[Any]:
    """Return the rows of a body that is no generator.

    Raises:
        RowError: The body answered with something else than its annotation says.
    """
    match procedure.signature.answer:
        case Answer.ROW | Answer.VALUE:
            return [answer]
        case Answer.VOID if answer is None:
            return []
        case Answer.MAYBE:
            return [] if answer is None else [answer]
    if isinstance(answer, list):
        return answer
    raise RowError(
        f"`{procedure.name}` returned a {type(answer).__name__} where "
        f"{procedure.signature.answer.value} is expected"
    )
