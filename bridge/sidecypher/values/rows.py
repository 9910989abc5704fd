"""`Row`: the class whose attributes are a procedure's columns."""

from typing import Any, dataclass_transform

import msgspec


class _RowType(msgspec.StructMeta):
    """Metaclass that makes the attributes of every subclass of `Row` keyword arguments."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any
    ) -> type:
        # msgspec does not inherit this option.
        return super().__new__(mcs, name, bases, namespace, kw_only=True, **options)


@dataclass_transform(kw_only_default=True)
class Row(msgspec.Struct, metaclass=_RowType):
    """One row of a procedure; subclass it and annotate the columns in order.

    It is a `msgspec.Struct` with keyword arguments. To make one of three columns takes 0.20 us on
    CPython 3.11 and 0.09 on 3.13; a dataclass takes 0.24 and 0.28 (measured, 2 cores).
    `msgspec.structs` has its `asdict`, `fields` and `replace`.

    Example:
        >>> class Similar(Row):
        ...     name: str
        ...     score: float
        >>> Similar(name="a", score=0.5)
        Similar(name='a', score=0.5)
    """
