"""`NAME.batch`: the batch variant of a procedure, which accepts many rows in one call.

A variant is a procedure like any other; nothing else knows of batches. It returns the rows of
each call, in the order of the calls. Each row begins with the number of its call and ends with
its error.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from msgspec import structs

from sidecypher.errors import RowError
from sidecypher.protocol import envelope
from sidecypher.protocol.catalogue import ColumnEntry, ParameterEntry, ProcedureEntry, signature_of
from sidecypher.sdk.batch._functions import batch_function
from sidecypher.sdk.batch._rows import BatchRows, Encoded
from sidecypher.sdk.registry import IN_WORKERS, Executor, Procedure
from sidecypher.sdk.signature.model import Column, Parameter, ReturnKind, Signature
from sidecypher.values.cypher import CypherType

_ROWS: Final = Parameter(
    "rows", CypherType("LIST", CypherType("LIST", CypherType("ANY", nullable=True))), None
)


def with_batches(procedures: Iterable[Procedure]) -> Iterator[Procedure]:
    """Yield each procedure, followed by its `NAME.batch` if it has one.

    Example:
        >>> from sidecypher import Row, procedure
        >>> class Twice(Row):
        ...     value: int
        >>> @procedure("demo.twice", batch=True)
        ... def twice(value: int) -> Twice:
        ...     return Twice(value=2 * value)
        >>> [found.name for found in with_batches([twice.__sidecypher_procedure__])]
        ['demo.twice', 'demo.twice.batch']
    """
    for procedure in procedures:
        yield procedure
        if procedure.batch is not False:
            yield _variant_of(procedure)


@dataclass(frozen=True, eq=False)
class BatchVariant(Procedure):
    """The batch of one procedure; its function yields rows that are already encoded."""

    def arguments(self, sent: Sequence[Any]) -> list[Any]:
        """Return the rows as they were sent: the function decodes each and reports its error."""
        if len(sent) == 1 and isinstance(sent[0], list):
            return [sent[0]]
        return super().arguments(sent)

    def encode_row(self, row: Any) -> Encoded:
        """Return the row as it is."""
        encoded: Encoded = row
        return encoded

    collect = encode_row

    def counting_from(self, first: int) -> Procedure:
        """Return this batch for rows of which the first has the number `first`."""
        if not first:
            return self
        function = self.function

        def batch(*arguments: Any) -> Iterator[Encoded]:
            for number, *values in function(*arguments):
                yield [first + number, *values]

        return replace(self, function=batch)

    def encode_rows(self, collected: Sequence[Encoded]) -> bytes:
        """Return a JSON array of the rows, which the function has checked already.

        Raises:
            RowError: A string of a column that was checked as a whole cannot be written.
        """
        try:
            return envelope.write(collected)
        except UnicodeEncodeError:
            raise RowError(
                f"A row of `{self.name}` has a string with half of a surrogate pair"
            ) from None


def _variant_of(base: Procedure) -> BatchVariant:
    rows = BatchRows(base)
    batch = batch_function(rows)
    # Errors, logs and reloads name the author's function.
    batch.__wrapped__ = base.function  # type: ignore[attr-defined]
    return BatchVariant(
        function=batch,
        signature=Signature((_ROWS,), rows.columns, True, list, ReturnKind.ITERATOR),  # noqa: FBT003
        entry=_entry(base, rows.columns),
        executor=_executor(base, batch),
        ray=base.ray,
    )


def _entry(base: Procedure, columns: tuple[Column, ...]) -> ProcedureEntry:
    assert isinstance(base.entry, ProcedureEntry)  # noqa: S101 - functions have no batches
    name = f"{base.name}.batch"
    parameters = (ParameterEntry(_ROWS.name, str(_ROWS.type)),)
    entries = tuple(
        ColumnEntry(column.name, str(column.type), column.description) for column in columns
    )
    return structs.replace(
        base.entry,
        name=name,
        description=f"{base.name} for each row of arguments. {base.entry.description}".strip(),
        signature=signature_of(name, base.entry.mode, parameters, entries),
        parameters=parameters,
        columns=entries,
        single=False,
        cache="",
    )


def _executor(base: Procedure, batch: Callable[..., Any]) -> Executor:
    if inspect.isasyncgenfunction(batch):
        return "async"
    # In a worker process the whole batch runs there: one hop instead of one for each row.
    return base.executor if base.executor in IN_WORKERS else "thread"
