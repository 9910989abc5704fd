"""The rows of a batch: each call's own, between its number and its error."""

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
"""What is one row's own error; anything else ends the batch."""

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
    """Makes the rows of a batch from what the calls of one procedure give.

    Attributes:
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
        self.is_read: Final = base.is_read
        self._error_at = [*names, *(column.name for column in added)].index(_ERROR.name) + 1
        self.tail: Final[Encoded] = [None] * len(added)
        self._nulls: Encoded = [None] * (len(self.columns) - 1)
        answer = base.signature.returns
        self.is_many: Final = answer in _MANY
        self.may_lack: Final = answer in {ReturnKind.OPTIONAL_ROW, ReturnKind.VOID}
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

    def body_with(self, context: Context) -> Callable[..., Any]:
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
            kind, expected = _MANY[self.base.signature.returns]
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
            # A generator of the author's, when the caller wants no more of the batch.
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

    def of_error(self, context: Context, index: int, error: CallError) -> Encoded:
        """Return the row that tells the error of a call.

        Raises:
            SidecypherError: It is not the row's alone: a statement has failed, the caller waits no
                more, or the procedure writes.
        """
        context.check()
        if not self.is_read:
            # A copy: another row, or another call, may have been given the same error.
            told_of = copy.copy(error)
            told_of.message = f"In row {index} of the batch: {error.message}"
            raise told_of from error
        told = ErrorBody.of(error)
        row = [index, *self._nulls]
        row[self._error_at] = {"code": told.code, "message": told.message, "hint": told.hint}
        return row


def _nullable(column: Column) -> Column:
    return replace(column, type=replace(column.type, nullable=True))
