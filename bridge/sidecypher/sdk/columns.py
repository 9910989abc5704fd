"""Columns: many rows at once, for functions that compute with lists or arrays."""

import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar, cast

from sidecypher.errors import RowError, ValueTypeError
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.signature.reader import read_columns

R = TypeVar("R")

_MOST_CLASSES: Final = 256


class Columns(Generic[R]):
    """The rows of a procedure with `batch="columns"`, as one list or array for each column.

    A column is a list, a tuple, or what has a method `tolist` or `to_pylist`, such as an array of
    numpy, a column of pandas or one of Arrow. An array of vectors fits a column of lists.

    Attributes:
        row: The class of the rows.
        values: The values of each column, by the name of its attribute.

    Example:
        >>> from sidecypher import Row
        >>> class Scored(Row):
        ...     text: str
        ...     score: float
        >>> len(Columns(Scored, text=["a", "b"], score=(0.5, 1.0)))
        2
    """

    __slots__ = ("row", "values")

    def __init__(self, row: type[R], /, **columns: Any) -> None:
        """Take the columns by the names of the attributes of `row`.

        Raises:
            RowError: A column is missing, unknown, not of the same length as the others, or no list
                or array.
        """
        wanted = _attributes(cast("Hashable", row))
        for name in set(wanted) ^ columns.keys():
            what = "was given no" if name in wanted else "does not have the"
            raise RowError(
                f"`{row.__name__}` {what} column `{name}`",
                hint=f"Its columns are {', '.join(wanted)}.",
            )
        self.row = row
        self.values = {name: _as_list(name, columns[name]) for name in wanted}
        lengths = {name: len(values) for name, values in self.values.items()}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"`{name}` has {length}" for name, length in lengths.items())
            raise RowError(
                f"The columns of `{row.__name__}` have different lengths: {found}",
                hint="Give a value of each column for each row.",
            )

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.values.values())))


@lru_cache(_MOST_CLASSES)
def _attributes(row: type[Any]) -> tuple[str, ...]:
    return tuple(column.attribute for column in read_columns(row))


def _as_list(name: str, column: Any) -> Sequence[Any]:
    if isinstance(column, list | tuple):
        return column
    for method in ("to_pylist", "tolist"):
        if hasattr(column, method):
            values = getattr(column, method)()
            if isinstance(values, list):
                return values
    raise RowError(
        f"The column `{name}` is a Python {type(column).__name__}, not a list or an array",
        hint="Give a list, or an array of one dimension or more.",
    )


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

    def _values(self, row: object) -> tuple[Any, ...]:
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
