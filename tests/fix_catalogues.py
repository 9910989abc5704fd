"""Catalogues such as authors may write who mean no good, for the tests of what is made of them.

Each example of `catalogues` holds many cases, because starting a JVM costs more than all of them.
"""

from typing import TypeVar, get_args

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sidecypher.protocol.catalogue import (
    Availability,
    Catalogue,
    ColumnEntry,
    DefaultEntry,
    FunctionEntry,
    Mode,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)
from sidecypher.sdk.signature.names import is_column_name

jvm_sized = settings(
    max_examples=4,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""For tests that start a JVM for each example."""

HOSTILE = (
    *("*/", "/*", "//", "\\u002a\\u002f", "\\u0022", "\\\\u0022", "\\uuu0022", "\\u005c\\u0022"),
    *('"', '\\"', "\\", "'", "\n", "\r", "\r\n", "\t", "\0", "\x1a", "\x7f", "\u2028", "\ufeff"),
    *("é", "\uffff", "😀", "\U0010ffff", "{{ x }}", "{% raw %}", "{#", "${x}", '");}} //', "null"),
)
hostile_texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=6).map("".join)

words = st.sampled_from(
    "Object String Long List Map Stream Row0 P0 p0 a0 tx log call row record yield var of java "
    "describeP0 F0 f0 Name Mode Node Path run evaluate kg KG k_g k__g github Github a b A x1 "
    "sealed when module value".split()
)
letters = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,7}", fullmatch=True)
scalars = (
    *("ANY", "BOOLEAN", "BYTES", "DATE", "DURATION", "FLOAT", "INTEGER", "LOCAL DATETIME"),
    *("LOCAL TIME", "MAP", "NODE", "PATH", "POINT", "RELATIONSHIP", "STRING", "ZONED DATETIME"),
    "ZONED TIME",
)
types = st.recursive(
    st.sampled_from(scalars),
    lambda inner: inner.map("LIST<{}>".format),
    max_leaves=4,
)
literals = {
    "BOOLEAN": "true",
    "INTEGER": "-7",
    "FLOAT": "1e+16",
    "MAP": "{a: ['x', {b: null}]}",
    "LIST<INTEGER>": "[1]",
}


names = st.lists(words | letters, min_size=2, max_size=4).map(".".join)
timeouts = st.integers(1, 2**63 - 1)
availabilities = st.sampled_from(get_args(Availability))
successors = st.none() | hostile_texts


@st.composite
def defaults(draw: st.DrawFn, cypher_type: str) -> DefaultEntry:
    if cypher_type == "STRING":
        return DefaultEntry(draw(hostile_texts))
    if cypher_type in literals and draw(st.booleans()):
        return DefaultEntry(literals[cypher_type])
    return DefaultEntry("null", any=True)


@st.composite
def parameter_lists(draw: st.DrawFn) -> tuple[ParameterEntry, ...]:
    names = draw(st.lists(words | letters | st.just("class"), max_size=6, unique=True))
    required = draw(st.integers(0, len(names)))
    parameters = []
    for index, parameter in enumerate(names):
        cypher_type = draw(types)
        default = draw(defaults(cypher_type)) if index >= required else None
        parameters.append(ParameterEntry(parameter, cypher_type, draw(st.booleans()), default))
    return tuple(parameters)


@st.composite
def procedures(draw: st.DrawFn) -> ProcedureEntry:
    name, mode = draw(names), draw(st.sampled_from(get_args(Mode)))
    parameters = draw(parameter_lists())
    columns = tuple(
        ColumnEntry(column, draw(types), draw(hostile_texts))
        for column in draw(
            st.lists((words | letters).filter(is_column_name), max_size=6, unique=True)
        )
    )
    return ProcedureEntry(
        *(name, mode, draw(hostile_texts), draw(timeouts)),
        signature_of(name, mode, parameters, columns),
        *(parameters, columns),
        single=draw(st.booleans()),
        availability=draw(availabilities),
        eager=draw(st.booleans()),
        admin=draw(st.booleans()),
        deprecated_by=draw(successors),
    )


@st.composite
def functions(draw: st.DrawFn) -> FunctionEntry:
    name, parameters, result = draw(names), draw(parameter_lists()), draw(types)
    return FunctionEntry(
        *(name, draw(hostile_texts), draw(timeouts)),
        signature_of(name, "FUNCTION", parameters, [ColumnEntry("value", result)]),
        *(parameters, result),
        availability=draw(availabilities),
        deprecated_by=draw(successors),
    )


Entry = TypeVar("Entry", ProcedureEntry, FunctionEntry)


def unique(entries: st.SearchStrategy[Entry]) -> st.SearchStrategy[list[Entry]]:
    return st.lists(entries, max_size=20, unique_by=lambda entry: entry.name)


catalogues = st.builds(Catalogue.build, unique(procedures()), unique(functions())).filter(
    lambda catalogue: catalogue.procedures or catalogue.functions
)


def with_text(index: int, text: str) -> ProcedureEntry:
    """Return a procedure that has a text wherever it may have one."""
    parameters = (ParameterEntry("text", "STRING", default=DefaultEntry(text)),)
    columns = (ColumnEntry("value", "ANY", text),)
    signature = signature_of(f"kg.p{index}", "READ", parameters, columns)
    return ProcedureEntry(
        f"kg.p{index}", "READ", text, 1, signature, parameters, columns, deprecated_by=text
    )
