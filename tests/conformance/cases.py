"""Reads `values.json`; every suite that is driven by it begins here."""

import json
import math
import re
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path as File
from typing import Any
from zoneinfo import ZoneInfo

import sidecypher
from sidecypher import Node, Path, Point, Relationship
from sidecypher.values.cypher import CypherType

_ELEMENT_ID = re.compile(r"[45]:[0-9a-f-]{36}:\d+")
FILE = json.loads(File(__file__).with_name("values.json").read_text("utf-8"))


@dataclass(frozen=True)
class Case:
    """One line of the file."""

    name: str
    type: str
    wire: Any = None
    also: tuple[Any, ...] = ()
    match: str = ""
    cypher: str = ""
    python: str = ""
    reason: str = ""

    def __str__(self):
        return self.name

    @property
    def kind(self):
        """The case's type; null is only of a type that allows it."""
        return type_named(self.type)

    @property
    def value(self):
        """The Python value."""
        return eval(self.python, dict(_NAMES))


def type_named(text):
    """Return the type that the catalogue writes as `text`."""
    if text.startswith("LIST<"):
        return CypherType("LIST", type_named(text[5:-1]))
    if text == "MAP":
        return CypherType("MAP", CypherType("ANY", nullable=True))
    return CypherType(text, nullable=text == "ANY")


def cyclic_list():
    """Return a list that holds itself."""
    made = []
    made.append(made)
    return made


def cyclic_map():
    """Return a map that holds itself."""
    made = {}
    made["again"] = [made]
    return made


def nested_list(levels):
    """Return lists in lists, so many levels in all."""
    made = []
    for _ in range(levels - 1):
        made = [made]
    return made


_NAMES = {name: getattr(sidecypher, name) for name in sidecypher.__all__} | {
    each.__name__: each
    for each in (
        *(Decimal, ZoneInfo, date, datetime, math, sys, time, timedelta, timezone),
        *(cyclic_list, cyclic_map, nested_list),
    )
}
_NAMES["UTC"] = UTC


def same(one, other):
    """Tell whether two values are equal in everything that Cypher would see."""
    if type(one) is not type(other):
        return False
    match one:
        case list() | tuple():
            return len(one) == len(other) and all(map(same, one, other))
        case dict():
            return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
        case float():
            signs = math.copysign(1, one) == math.copysign(1, other)
            return (one == other and signs) or (math.isnan(one) and math.isnan(other))
        case datetime() | time():
            keys = {getattr(each.tzinfo, "key", None) for each in (one, other)}
            return one == other and one.utcoffset() == other.utcoffset() and len(keys) == 1
        case Node() | Relationship() | Path():
            return all(same(getattr(one, each), getattr(other, each)) for each in one.__slots__)
        case Point():
            return same([one.srid, one.x, one.y, one.z], [other.srid, other.x, other.y, other.z])
    return one == other


def numbered(wire):
    """Return JSON with each distinct element id replaced by its number, as they appear."""
    seen = {}
    text = json.dumps(wire, ensure_ascii=False)
    return json.loads(_ELEMENT_ID.sub(lambda id_: f"#{seen.setdefault(id_[0], len(seen))}", text))


VALUES = [Case(**case) for case in FILE["values"]]
REFUSED_WIRE = [Case(**case) for case in FILE["refused_wire"]]
REFUSED_PYTHON = [Case(**case) for case in FILE["refused_python"]]
