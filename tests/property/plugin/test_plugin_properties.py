"""Whatever default an author writes, Neo4j reads it, or the generator refuses it.

Each example holds many cases, because starting a JVM costs more than all of them.
"""

import base64
from collections.abc import Callable
from pathlib import Path

import pytest
from fix_catalogues import hostile_texts, jvm_sized, letters
from hypothesis import given
from hypothesis import strategies as st

from sidecypher_plugin.compiler import Compiler
from sidecypher_plugin.defaults import is_default

HERE = Path(__file__).parent

NEO4J_TYPES = {
    "integer": "INTEGER",
    "real": "FLOAT",
    "truth": "BOOLEAN",
    "text": "STRING",
    "map": "MAP",
    "list": "LIST<ANY>",
    "integers": "LIST<INTEGER>",
    "texts": "LIST<STRING>",
    "reals": "LIST<FLOAT>",
    "days": "LIST<DATE>",
    "blobs": "LIST<BYTES>",
    "spans": "LIST<DURATION>",
    "moments": "LIST<LIST<ZONED TIME>>",
    "places": "LIST<POINT>",
    "nodes": "LIST<NODE>",
    "paths": "LIST<PATH>",
    "blob": "BYTES",
    "span": "DURATION",
    "place": "POINT",
    "node": "NODE",
}
"""The parameters of `ReadDefaults.java`."""

quoted = hostile_texts.map(lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'")
keys = letters | hostile_texts.map(lambda text: "`" + text.replace("`", "``") + "`")
scalars_as_text = (
    quoted
    | st.integers(-(2**63), 2**63 - 1).map(str)
    | st.floats(allow_nan=False, allow_infinity=False).map(repr)
    | st.sampled_from(("null", "true", "false", "date()", "1 + 1", "-x", "''''", "1e400", "-0"))
)
values = st.recursive(
    scalars_as_text,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(keys, inner).map(": ".join), max_size=4).map(
            lambda pairs: "{" + ", ".join(pairs) + "}"
        )
    ),
    max_leaves=10,
)
scraps = st.lists(
    st.sampled_from([*"[]{},:'\"`\\.-+eE019aux \n", "null", "true", "\\u0027", "//", "/*"]),
    max_size=8,
).map("".join)
candidates = st.tuples(st.sampled_from(sorted(NEO4J_TYPES)), values | scraps)


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


@jvm_sized
@given(defaults=st.lists(candidates, min_size=50, max_size=200))
def test_neo4j_parses_every_accepted_default(
    neo4j_parses: Callable[[list[tuple[str, str]]], list[bool]],
    defaults: list[tuple[str, str]],
) -> None:
    """A default that the generator lets through is one that Neo4j itself can parse."""
    accepted = [(kind, text) for kind, text in defaults if is_default(text, NEO4J_TYPES[kind])]

    parsed = neo4j_parses(accepted)

    refused = [default for default, fine in zip(accepted, parsed, strict=True) if not fine]
    assert refused == []
