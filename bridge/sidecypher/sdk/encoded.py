"""`EncodedRow`: a row that is checked and encoded once, and returned many times."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

import msgspec

from sidecypher.errors import RowError, ValueTypeError
from sidecypher.sdk.signature.model import Column
from sidecypher.sdk.signature.reader import read_columns
from sidecypher.values.codec.containers import DEEPEST
from sidecypher.values.codec.problems import Coder
from sidecypher.values.coders import decoder, encoder
from sidecypher.values.rows import Row

R = TypeVar("R", bound=Row)

_MOST_CLASSES: Final = 256

_write: Final = msgspec.json.Encoder().encode
_read: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode


class EncodedRow(msgspec.Struct, Generic[R], frozen=True, gc=False):
    """A row in the form in which it is sent to Neo4j; a function can return it instead of the row.

    Use it for rows that seldom change, such as those of a cache. Its values are checked and encoded
    once, not for each call. It needs less memory than the row, and no garbage collection.

    Attributes:
        row: The class of the row.
        json: Its values, in the order of the columns.
        MOST_LEVELS: Deepest nesting of lists and maps in a column.

    Example:
        >>> from sidecypher import EncodedRow, Row
        >>> class Greeting(Row):
        ...     text: str
        >>> greeting = EncodedRow.of(Greeting(text="Hello"))
        >>> greeting.json
        b'["Hello"]'
        >>> greeting.decode()
        Greeting(text='Hello')
    """

    MOST_LEVELS: ClassVar[int] = DEEPEST

    row: type[R]
    json: bytes

    @classmethod
    def of(cls, row: R) -> Self:
        """Check and encode a row.

        Raises:
            RowError: A value has another type than its column.
        """
        codec = _codec(type(row))
        return cls(type(row), _write([codec.encoded(row, column) for column in codec.columns]))

    def decode(self) -> R:
        """Return the row."""
        codec = _codec(self.row)
        sent = msgspec.json.decode(self.json)
        values = {
            column.attribute: decode(value)
            for column, decode, value in zip(codec.columns, codec.decoders, sent, strict=True)
        }
        return self.row(**values)

    def values(self) -> list[msgspec.Raw]:
        """Return each value as it is sent."""
        return _read(self.json)


@dataclass(frozen=True)
class _RowCodec:
    """Encoders and decoders of the rows of one class."""

    columns: tuple[Column, ...]
    encoders: dict[str, Coder]
    decoders: tuple[Coder, ...]

    def encoded(self, row: object, column: Column) -> Any:
        try:
            return self.encoders[column.name](getattr(row, column.attribute))
        except ValueTypeError as error:
            problem = error.message
        except RecursionError:
            problem = "nests too deeply, or holds itself"
        raise RowError(f"The column `{column.name}` of `{type(row).__name__}` {problem}")


@lru_cache(_MOST_CLASSES)
def _codec(row: type[Any]) -> _RowCodec:
    columns = read_columns(row)
    return _RowCodec(
        columns,
        {column.name: encoder(column.type) for column in columns},
        tuple(decoder(column.type) for column in columns),
    )
