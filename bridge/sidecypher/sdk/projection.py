"""Projections: the result of a statement as an Arrow table, for functions that need it all.

The statement runs in the caller's transaction before the function starts, so the function may run
in another process or on another machine. Another process of this machine reads the table from
shared memory without a copy.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time
from typing import TYPE_CHECKING, Any, Final

from sidecypher.errors import MessageTooLarge, ProcedureFailed, ValueTypeError
from sidecypher.protocol.envelope import CursorRequest, RunRequest
from sidecypher.sdk.call import Call
from sidecypher.sdk.results import check_reply
from sidecypher.values.coders import decode_all

if TYPE_CHECKING:
    # It needs a tenth of a second to be imported, and few procedures have a projection.
    import pyarrow as pa

_STATEMENT: Final = 1


def project(call: Call, statement: str, parameters: dict[str, Any], most_bytes: int) -> "pa.Table":
    """Return the result of a statement in the caller's transaction.

    Args:
        call: The call whose function gets the table.
        statement: A statement whose columns are numbers, texts, booleans, dates, times, or lists of
            these; null is allowed.
        parameters: Its parameters, encoded.
        most_bytes: How large the table may become.

    Raises:
        CypherError: The statement failed; the call is doomed.
        ProcedureFailed: pyarrow is not installed.
        ValueTypeError: A column has values that a table cannot hold, or of two types.
        MessageTooLarge: The table would be larger than `most_bytes`.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - see above
    except ImportError:
        raise ProcedureFailed(
            f"`{call.name}` has a projection, and pyarrow is not installed",
            hint="Run `pip install pyarrow` where the sidecar runs.",
        ) from None

    reply = call.send("run", RunRequest(call.call_id, _STATEMENT, statement, parameters))
    parts: list[pa.Table] = []
    size = 0
    while True:
        check_reply(call, reply)
        parts.append(_table(call.name, reply.columns, reply.rows))
        size += parts[-1].nbytes
        if size > most_bytes:
            raise MessageTooLarge(
                f"The projection of `{call.name}` has more than {most_bytes} bytes",
                hint="Return fewer rows or columns, or raise `worker_memory_mb`.",
            )
        if not reply.more:
            break
        call.check()
        reply = call.send("next", CursorRequest(call.call_id, _STATEMENT))
    try:
        # A later page may have a float where the first had integers, or a value where it had nulls.
        return pa.concat_tables(parts, promote_options="permissive").combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise ValueTypeError(
            f"A column of the projection of `{call.name}` has values of two types",
            hint="Convert it in the statement, with `toFloat` or `toString`.",
        ) from None


def _table(name: str, columns: list[str], rows: list[list[Any]]) -> "pa.Table":
    import pyarrow as pa  # noqa: PLC0415 - see above

    values = [decode_all(column) for column in zip(*rows, strict=True)] or [()] * len(columns)
    arrays = []
    for column, each in zip(columns, values, strict=True):
        try:
            arrays.append(_array(each))
        except (pa.ArrowException, OverflowError, TypeError):
            raise ValueTypeError(
                f"The column `{column}` of the projection of `{name}` has values that a table "
                "cannot hold, or of two types",
                hint="Return properties and `id(n)` instead of nodes, each column of one type.",
            ) from None
    return pa.table(arrays, names=columns)


def _array(values: Sequence[Any]) -> "pa.Array":
    """Return the array of a column; datetimes with a zone are in UTC.

    Raises:
        ArrowException, OverflowError, TypeError: A table cannot hold the values.
    """
    import pyarrow as pa  # noqa: PLC0415 - see above

    first = next((value for value in values if value is not None), None)
    if isinstance(first, datetime):
        with_zone = {value.tzinfo is not None for value in values if value is not None}
        if len(with_zone) > 1:
            raise TypeError("with and without a zone")
        if first.tzinfo is not None:
            values = [value and value.astimezone(UTC) for value in values]
    elif isinstance(first, time) and any(value and value.tzinfo for value in values):
        raise TypeError("a time with a zone")
    array = pa.array(values)
    kind = array.type
    while pa.types.is_list(kind):
        kind = kind.value_type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise TypeError("a map or bytes")
    return array


@contextlib.contextmanager
def shared(table: "pa.Table | None") -> Iterator[str]:
    """Share a table with other processes of this machine; yield its path, or "" without a table.

    Raises:
        OSError: There is no memory left, or this system cannot share any.
    """
    if table is None:
        yield ""
        return
    import pyarrow as pa  # noqa: PLC0415 - see above

    if sys.platform != "linux":
        raise OSError("Only Linux shares memory by a path")
    # Without a name in a folder nothing is left behind, whatever ends this process.
    descriptor = os.memfd_create("sidecypher-projection")
    try:
        with (
            pa.OSFile(f"/proc/self/fd/{descriptor}", "wb") as file,
            pa.ipc.new_file(file, table.schema) as writer,
        ):
            writer.write_table(table)
        yield f"/proc/{os.getpid()}/fd/{descriptor}"
    finally:
        os.close(descriptor)


def shared_table(path: str) -> "pa.Table":
    """Return a table that another process shares.

    Raises:
        OSError: That process has ended.
    """
    import pyarrow as pa  # noqa: PLC0415 - see above

    return pa.ipc.open_file(pa.memory_map(path)).read_all()
