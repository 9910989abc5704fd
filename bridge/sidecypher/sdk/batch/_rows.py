"""The rows of a batch: those of each call, between its number and its error."""

import copy
import functools
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from typing import Any, Final

from sidecypher.errors import ArgumentError, CallError, ProcedureError, RowError, ValueTypeError
from sidecypher.protocol.envelope import ErrorBody
from sidecypher.sdk.context import Context
from sidecypher.sdk.registry import Procedure
from sidecypher.sdk.signature.model import Column, ReturnKind
from sidecypher.values.cypher import CypherType

ROW_ERRORS: Final = (ProcedureError, ArgumentError, RowError, ValueTypeError)
"""Errors of one row; any other error ends the batch."""

Encoded = list[Any]
"""The JSON values of one row of a batch."""

_INDEX: Final = Column("index", "index", CypherType("INTEGER"), "number of the row, from 0")
_ERROR: Final = Column(
    "error", "error", CypherType("MAP", CypherType("ANY"), nullable=True), "code, message, hint"
)

_MANY: Final[dict[ReturnKind, tuple[type, str]]] = {
    ReturnKind.LIST: (list, "a list of rows"),
    ReturnKind.ITERATOR: (Iterator, "an iterator of rows"),
}


class BatchRows:
    """Encoder of the rows of a batch, from the results of one procedure's calls.

    Attributes:
        tail: Values after the procedure's own in a row without an error.
        is_read: Whether a row's error is returned in its row; otherwise it ends the call.
        is_many: Whether a call may return many rows.
        may_be_none: Whether a call may return None instead of a row.
    """

    def __init__(self, base: Procedure) -> None:
        self.base: Final = base
        own = base.signature.columns
        names = [column.name for column in own]
        # A procedure's own error column also holds the errors of its batch.
        added = () if _ERROR.name in names else (_ERROR,)
        self.columns: Final = (_INDEX, *map(_nullable, own), *added)
        self.is_read: Final = base.is_read
        self._error_at = [*names, *(column.name for column in added)].index(_ERROR.name) + 1
        self.tail: Final[Encoded] = [None] * len(added)
        self._nulls: Encoded = [None] * (len(self.columns) - 1)
        answer = base.signature.returns
        self.is_many: Final = answer in _MANY
        self.may_be_none: Final = answer in {ReturnKind.OPTIONAL_ROW, ReturnKind.VOID}
        self._encode = base.encode_row

    def arguments(self, values: object) -> list[Any]:
        """Return the Python arguments of one call, without the context.

        Raises:
            ArgumentError: They do not fit the procedure's parameters.
        """
        if isinstance(values, list):
            return self.base.arguments(values)
        raise ArgumentError(
            f"A row of `{self.base.name}.batch` is not a list of arguments",
            hint=f"Give a list of lists; each is for {self.base.usage()}.",
        )

    def function_with(self, context: Context) -> Callable[..., Any]:
        """Return the procedure's function, with the context bound if it accepts one."""
        if self.base.signature.takes_context:
            return functools.partial(self.base.function, context)
        return self.base.function

    def one(self, index: int, row: object) -> Encoded:
        """Return one row of a call."""
        return [index, *self._encode(row), *self.tail]

    def empty_row(self, index: int) -> Encoded:
        """Return a row of nulls for a call without rows; Cypher would drop the caller's row."""
        return [index, *self._nulls]

    def of(self, index: int, answer: Any) -> Iterator[Encoded]:
        """Yield the rows of a call that returned `answer`.

        Raises:
            RowError: The answer does not match the procedure's annotation.
        """
        if self.is_many:
            kind, expected = _MANY[self.base.signature.returns]
            if not isinstance(answer, kind):
                raise RowError(
                    f"`{self.base.name}` returned a {type(answer).__name__} "
                    f"where {expected} is expected"
                )
            yield from self._each(index, answer)
        elif answer is None and self.may_be_none:
            yield self.empty_row(index)
        else:
            yield self.one(index, answer)

    def _each(self, index: int, rows: Any) -> Iterator[Encoded]:
        try:
            for row in rows:
                yield self.one(index, row)
        finally:
            # A generator of the author, when the caller stops reading the batch.
            if isinstance(rows, Generator):
                rows.close()

    def of_entry(self, index: int, entry: Any) -> Iterator[Encoded]:
        """Yield the rows of one entry of an author's own batch.

        Raises:
            ProcedureError: The entry is one.
            RowError: The entry has another type than a row, None or a list.
        """
        if isinstance(entry, ProcedureError):
            raise entry
        if isinstance(entry, list):
            yield from self._each(index, entry)
        elif entry is not None:
            yield self.one(index, entry)
        elif not self.is_many:
            yield self.empty_row(index)

    def of_error(self, context: Context, index: int, error: CallError) -> Encoded:
        """Return the row that holds the error of a call.

        Raises:
            SidecypherError: The error ends the batch: a statement has failed, the caller has
                stopped waiting, or the procedure writes.
        """
        context.check()
        if not self.is_read:
            # A copy: another row or call may hold the same error.
            copied = copy.copy(error)
            copied.message = f"In row {index} of the batch: {error.message}"
            raise copied from error
        fields = ErrorBody.of(error)
        row = [index, *self._nulls]
        row[self._error_at] = {"code": fields.code, "message": fields.message, "hint": fields.hint}
        return row


def _nullable(column: Column) -> Column:
    return replace(column, type=replace(column.type, nullable=True))
