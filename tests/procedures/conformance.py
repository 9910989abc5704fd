"""What the conformance cases need: a procedure of each type, and values as JSON."""

import json
import re
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

import msgspec

from sidecypher import (
    Context,
    Duration,
    LocalDateTime,
    LocalTime,
    Node,
    Path,
    Point,
    Relationship,
    Row,
    function,
    procedure,
)
from sidecypher.values.coders import decoder, encoder
from sidecypher.values.cypher import CypherType

_ANY = CypherType("ANY", nullable=True)

TYPES = {
    "ANY": Any,
    "BOOLEAN": bool,
    "BYTES": bytes,
    "DATE": date,
    "DURATION": Duration,
    "FLOAT": float,
    "INTEGER": int,
    "LIST<ANY>": list[Any],
    "LIST<INTEGER>": list[int],
    "LIST<LIST<STRING>>": list[list[str]],
    "LIST<MAP>": list[dict[str, Any]],
    "LIST<NODE>": list[Node],
    "LOCAL DATETIME": LocalDateTime,
    "LOCAL TIME": LocalTime,
    "MAP": dict[str, Any],
    "NODE": Node,
    "PATH": Path,
    "POINT": Point,
    "RELATIONSHIP": Relationship,
    "STRING": str,
    "ZONED DATETIME": datetime,
    "ZONED TIME": time,
}


def _typed(text: str, annotation: Any) -> Callable[..., Any]:
    """Make the procedure `test.typed...` that takes and returns one value of a type, or null."""
    namespace = {"__annotations__": {"value": annotation | None}, "__module__": __name__}
    row = type(Row)("Typed", (Row,), namespace)

    def body(value):  # type: ignore[no-untyped-def]
        return row(value=value)

    body.__annotations__ = {"value": annotation | None, "return": row}
    return procedure("test.typed" + "".join(map(str.capitalize, re.findall(r"\w+", text))))(body)


globals().update({f"typed {text}": _typed(text, each) for text, each in TYPES.items()})


@function("test.same")
def same(value: Any) -> Any:
    """Return the value."""
    return value


class Wire(Row):
    wire: str


class Value(Row):
    value: Any


@procedure("test.wire")
def wire(value: Any) -> Wire:
    """Return a value's JSON, as Python writes it."""
    return Wire(wire=_wire(value))


@procedure("test.unwire")
def unwire(wire: str) -> Value:
    """Return the value that Python reads from JSON."""
    return Value(value=_value(wire))


@procedure("test.ask", mode="WRITE")
def ask(ctx: Context, cypher: str) -> Wire:
    """Return the JSON of the one value that a statement gives."""
    return Wire(wire=_wire(ctx.run(cypher).single()["value"]))  # type: ignore[arg-type]


@procedure("test.tell", mode="WRITE")
def tell(ctx: Context, wire: str, cypher: str) -> Value:
    """Return what a statement says of the parameter `value`."""
    return Value(value=ctx.run(cypher, value=_value(wire)).single())  # type: ignore[arg-type]


def _wire(value: Any) -> str:
    return msgspec.json.encode(encoder(_ANY)(value)).decode()


def _value(wire: str) -> Any:
    return decoder(_ANY)(json.loads(wire))
