"""`Columns`: many rows at once, for functions that compute with lists or arrays."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from sidecypher.errors import RowError
from sidecypher.sdk.signature._rows import attributes_of

R = TypeVar("R")


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
        wanted = attributes_of(row)
        for name in wanted.keys() ^ columns.keys():
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
