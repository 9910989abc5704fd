"""Whatever default an author writes, Neo4j can read it, or null stands for it.

Each example holds many cases, because starting a JVM costs more than all of them.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fix_catalogues import hostile_texts, jvm_sized, letters
from hypothesis import given
from hypothesis import strategies as st

from sidecypher import Duration
from sidecypher.sdk.signature._defaults import Default, default_of
from sidecypher.values.cypher import CypherType
from sidecypher_plugin.compiler import Compiler

HERE = Path(__file__).parent

_ANY = CypherType("ANY", nullable=True)
_INTEGER = CypherType("INTEGER", nullable=True)


def maps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(letters | hostile_texts, values, max_size=4)


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | hostile_texts
    | st.dates(),
    lambda inner: st.lists(inner, max_size=4) | maps(inner),
    max_leaves=10,
)


DEFAULTS = {
    "integer": (CypherType("INTEGER"), st.integers(-(2**63), 2**63 - 1)),
    "real": (CypherType("FLOAT"), st.floats()),
    "truth": (CypherType("BOOLEAN"), st.booleans()),
    "text": (CypherType("STRING"), hostile_texts),
    "map": (CypherType("MAP"), maps(anything)),
    "list": (CypherType("LIST", _ANY), st.lists(anything, max_size=4)),
    "integers": (
        CypherType("LIST", _INTEGER),
        st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=4),
    ),
    "texts": (CypherType("LIST", CypherType("STRING")), st.lists(hostile_texts, max_size=4)),
    "reals": (CypherType("LIST", CypherType("FLOAT")), st.lists(st.floats(), max_size=4)),
    "days": (CypherType("LIST", CypherType("DATE")), st.lists(st.dates(), max_size=2)),
    "blobs": (CypherType("LIST", CypherType("BYTES")), st.lists(st.binary(), max_size=2)),
    "blob": (CypherType("BYTES"), st.binary(max_size=4)),
    "span": (CypherType("DURATION"), st.builds(Duration, days=st.integers(0, 9))),
}
"""By a parameter of `ReadDefaults.java`: its type, and the defaults that an author may write."""

candidates = st.one_of(
    [
        values.map(lambda value, name=name, kind=kind: (name, default_of(value, kind)))
        for name, (kind, values) in DEFAULTS.items()
    ]
)


@pytest.fixture(scope="module")
def neo4j_parses(
    run_java: Callable[..., list[str]],
    jdk_compiler: Compiler,
    neo4j_classpath: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[list[tuple[str, str]]], list[bool]]:
    """Asks Neo4j's own classes which defaults they can parse."""
    folder = tmp_path_factory.mktemp("reader")
    jdk_compiler.compile(
        {"ReadDefaults.java": (HERE / "ReadDefaults.java").read_text("ascii")},
        classpath=neo4j_classpath,
        folder=folder,
    )
    classpath = [folder / "classes", *neo4j_classpath]

    def parse(defaults: list[tuple[str, str]]) -> list[bool]:
        lines = [f"{kind} {base64.b64encode(text.encode()).decode()}" for kind, text in defaults]
        answers = run_java(classpath, "org.neo4j.procedure.impl.ReadDefaults", lines=lines)
        return [answer == "accepted" for answer in answers]

    return parse


def test_neo4j_parses_null_for_what_only_python_knows(
    neo4j_parses: Callable[[list[tuple[str, str]]], list[bool]],
) -> None:
    """The one default of a parameter that is ANY for Neo4j is one that Neo4j can parse."""
    assert neo4j_parses([("anything", "null")]) == [True]


@pytest.mark.slow
@jvm_sized
@given(defaults=st.lists(candidates, min_size=50, max_size=200))
def test_neo4j_parses_every_default(
    neo4j_parses: Callable[[list[tuple[str, str]]], list[bool]],
    defaults: list[tuple[str, Default]],
) -> None:
    """The text of a default is one that Neo4j itself can parse, or null stands for it."""
    written = [(name, default.text) for name, default in defaults if not default.by_null]

    parsed = neo4j_parses(written)

    refused = [default for default, fine in zip(written, parsed, strict=True) if not fine]
    assert refused == []
