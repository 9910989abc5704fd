"""Procedures whose functions take and return columns."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sidecypher.errors import RowError, ValueTypeError
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.signature.columns import Columns


@dataclass(frozen=True, eq=False)
class ColumnsProcedure(Procedure):
    """A procedure whose function takes a list for each parameter, and returns `Columns`."""

    def arguments(self, sent: Sequence[Any]) -> list[Any]:
        """Return the arguments of a call with one row: a list of one value each."""
        return [[value] for value in super().arguments(sent)]

    def argument_columns(self, sent: Sequence[Any]) -> list[list[Any]] | None:
        """Return the arguments of many rows; None if those of a row do not fit."""
        if set(map(type, sent)) != {list}:
            return None
        try:
            columns = list(zip(*sent, strict=True))
            decoders = zip(self._decoders, columns, strict=True)
            return [list(map(decode, column)) for decode, column in decoders]
        except (ValueError, ValueTypeError, RecursionError):
            return None

    def columns(self, answer: object, count: int) -> list[Sequence[Any]]:
        """Return the columns of an answer that has `count` rows.

        Raises:
            RowError: It has another number of rows, or is not of this procedure.
        """
        row = self.signature.row
        if not isinstance(answer, Columns) or answer.row is not row:
            found = answer.row if isinstance(answer, Columns) else type(answer)
            raise RowError(
                f"`{self.name}` returned a {found.__name__} where columns are expected",
                hint=f"Return `Columns({row.__name__}, ...)`.",
            )
        if len(answer) != count:
            raise RowError(
                f"`{self.name}` returned {len(answer)} rows for {count}",
                hint="Return columns with one value for each row.",
            )
        return [answer.values[column.attribute] for column in self.signature.columns]

    def encode_columns(self, answer: object, count: int) -> list[Sequence[Any]]:
        """Return the JSON values of each column of an answer that has `count` rows.

        Raises:
            RowError: As `columns` does, or a value is not of its column's type.
        """
        columns = self.columns(answer, count)
        written: list[Sequence[Any]] = []
        for index, values in enumerate(columns):
            try:
                if index in self._alone:
                    written.append(list(map(self._encoders[index], values)))
                else:
                    written.append(self._together[index](values))
            except (ValueTypeError, RecursionError):
                raise self._wrong_column(zip(*columns, strict=True), [index]) from None
        return written

    def _values_in(self, row: object) -> tuple[Any, ...]:
        return tuple(values[0] for values in self.columns(row, 1))


def numbered(
    columns: list[Sequence[Any]], tail: Sequence[Any], numbers: Iterator[int]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of columns, each between its number and `tail`.

    Example:
        >>> list(numbered([["a", "b"], [1, 2]], [None], iter([0, 3])))
        [(0, 'a', 1, None), (3, 'b', 2, None)]
    """
    return zip(numbers, *columns, *map(itertools.repeat, tail))  # noqa: B905 - `tail` has no end
