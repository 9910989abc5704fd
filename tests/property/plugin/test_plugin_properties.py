"""Whatever an author writes, the stubs compile and Java and Neo4j read back what was written.

Each example holds many cases, because starting a JVM costs more than all of them.
"""

import base64
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from itertools import starmap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sidecypher.catalogue import (
    Catalogue,
    ColumnEntry,
    DefaultEntry,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)
from sidecypher.errors import SidecypherError
from sidecypher_plugin import UnfitProcedure, render
from sidecypher_plugin.defaults import is_default
from sidecypher_plugin.javac import compile_sources

HERE = Path(__file__).parent
JVM_SECONDS = 120

jvm_sized = settings(
    max_examples=4,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

HOSTILE = (
    *("*/", "/*", "//", "\\u002a\\u002f", "\\u0022", "\\\\u0022", "\\uuu0022", "\\u005c\\u0022"),
    *('"', '\\"', "\\", "'", "\n", "\r", "\r\n", "\t", "\0", "\x1a", "\x7f", "\u2028", "\ufeff"),
    *("é", "\uffff", "😀", "\U0010ffff", "{{ x }}", "{% raw %}", "{#", "${x}", '");}} //', "null"),
)
texts = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=6).map("".join)

words = st.sampled_from(
    "Object String Long List Map Stream Row0 P0 p0 a0 tx log call row record yield var of java "
    "describe0 Name Mode kg KG k_g k__g github Github a b A x1 sealed when module value".split()
)
letters = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,7}", fullmatch=True)
scalars = ("BOOLEAN", "INTEGER", "FLOAT", "STRING", "MAP", "DATE", "ANY")
types = st.recursive(
    st.sampled_from((*scalars, "LOCAL DATETIME", "ZONED DATETIME")),
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


def fits(entry: ProcedureEntry) -> bool:
    try:
        render(Catalogue.build([entry]))
    except UnfitProcedure:
        return False
    return True


@st.composite
def defaults(draw: st.DrawFn, cypher_type: str) -> DefaultEntry:
    if cypher_type == "STRING":
        return DefaultEntry(draw(texts))
    if cypher_type in literals and draw(st.booleans()):
        return DefaultEntry(literals[cypher_type])
    return DefaultEntry("null", any=True)


@st.composite
def entries(draw: st.DrawFn) -> ProcedureEntry:
    name = ".".join(draw(st.lists(words | letters, min_size=2, max_size=4)))
    mode = draw(st.sampled_from(("READ", "WRITE", "SCHEMA")))
    names = draw(st.lists(words | letters | st.just("class"), max_size=6, unique=True))
    required = draw(st.integers(0, len(names)))
    parameters = []
    for index, parameter in enumerate(names):
        cypher_type = draw(types)
        default = draw(defaults(cypher_type)) if index >= required else None
        parameters.append(ParameterEntry(parameter, cypher_type, draw(st.booleans()), default))
    columns = tuple(
        ColumnEntry(column, draw(types))
        for column in draw(st.lists(words | letters, min_size=1, max_size=6, unique=True))
    )
    signature = signature_of(name, mode, parameters, columns)
    timeout = draw(st.integers(1, 2**63 - 1))
    return ProcedureEntry(name, mode, draw(texts), timeout, signature, tuple(parameters), columns)


catalogues = st.lists(
    entries().filter(fits), min_size=1, max_size=25, unique_by=lambda entry: entry.name
).map(Catalogue.build)


@pytest.fixture(scope="module")
def java(javac: Path) -> Callable[..., list[str]]:
    """Runs a Java class and gives the lines it prints."""

    def run(classpath: Sequence[Path], *arguments: str, lines: Sequence[str] = ()) -> list[str]:
        path = os.pathsep.join(map(str, classpath))
        finished = subprocess.run(
            [javac.with_name("java"), "-XX:TieredStopAtLevel=1", "-cp", path, *arguments],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            timeout=JVM_SECONDS,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.splitlines()

    return run


def written(catalogue: Catalogue) -> list[list[tuple[str, str]]]:
    """What an author wrote, one list of facts per procedure."""
    procedures = []
    for entry in catalogue.procedures:
        facts = [("procedure", entry.name), ("mode", entry.mode)]
        facts.append(("description", entry.description))
        for parameter in entry.parameters:
            facts.append(("parameter", parameter.name))
            if parameter.default is not None:
                facts.append(("default", parameter.default.text))
        facts += [("column", column.name) for column in entry.columns]
        procedures.append(facts)
    return procedures


def read_back(lines: list[str]) -> list[list[tuple[str, str]]]:
    """What Java read, in the order of `written`."""
    procedures: list[list[tuple[str, str]]] = []
    for kind, encoded in (line.split(" ") for line in lines):
        if kind == "procedure":
            procedures.append([])
        procedures[-1].append((kind, base64.b64decode(encoded).decode()))
    return sorted(procedures)


def with_text(index: int, text: str) -> ProcedureEntry:
    parameters = (ParameterEntry("text", "STRING", default=DefaultEntry(text)),)
    columns = (ColumnEntry("value", "ANY"),)
    signature = signature_of(f"kg.p{index}", "READ", parameters, columns)
    return ProcedureEntry(f"kg.p{index}", "READ", text, 1, signature, parameters, columns)


@jvm_sized
@example(catalogue=Catalogue.build(starmap(with_text, enumerate(HOSTILE))))
@given(catalogue=catalogues)
def test_java_reads_back_what_was_written(
    java: Callable[..., list[str]],
    javac: Path,
    core_jar: Path,
    neo4j_classpath: list[Path],
    catalogue: Catalogue,
) -> None:
    """Any valid catalogue compiles; names, texts, defaults and columns reach Java unchanged."""
    sources = render(catalogue)
    stubs = [path.removesuffix(".java").replace("/", ".") for path in sources]
    reader = "io/sidecypher/generated/ReadBack.java"
    sources[reader] = (HERE / "ReadBack.java").read_text("ascii")
    with tempfile.TemporaryDirectory() as folder:
        jars = [core_jar, *neo4j_classpath]
        compile_sources(sources, javac=javac, classpath=jars, folder=Path(folder))

        lines = java([Path(folder, "classes"), *jars], "io.sidecypher.generated.ReadBack", *stubs)

    assert read_back(lines) == written(catalogue)


@example("kg.score\n")
@example("kg.\u0130")
@given(st.text(st.characters(codec=None)) | st.lists(texts | letters).map(".".join))
def test_hostile_names_are_refused(name: str) -> None:
    """A name is plain ASCII or gives a named error, wherever it stands."""
    plain = name.isascii() and name.isidentifier()
    dotted = "." in name and all(part.isascii() and part.isidentifier() for part in name.split("."))
    for harmless, procedure, parameter, column in (
        (dotted, name, "a", "a"),
        (plain, "kg.score", name, "a"),
        (plain, "kg.score", "a", name),
    ):
        entry = ProcedureEntry(
            procedure,
            *("READ", "", 1, "0" * 16),
            parameters=(ParameterEntry(parameter, "STRING"),),
            columns=(ColumnEntry(column, "STRING"),),
        )
        try:
            render(Catalogue.build([entry]))
        except SidecypherError:
            continue
        assert harmless


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
}
"""The parameters of `ReadDefaults.java`."""

quoted = texts.map(lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'")
keys = letters | texts.map(lambda text: "`" + text.replace("`", "``") + "`")
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
    java: Callable[..., list[str]],
    javac: Path,
    neo4j_classpath: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[list[tuple[str, str]]], list[bool]]:
    """Asks Neo4j's own classes which defaults they can parse."""
    folder = tmp_path_factory.mktemp("reader")
    compile_sources(
        {"ReadDefaults.java": (HERE / "ReadDefaults.java").read_text("ascii")},
        javac=javac,
        classpath=neo4j_classpath,
        folder=folder,
    )
    classpath = [folder / "classes", *neo4j_classpath]

    def parse(defaults: list[tuple[str, str]]) -> list[bool]:
        lines = [f"{kind} {base64.b64encode(text.encode()).decode()}" for kind, text in defaults]
        answers = java(classpath, "org.neo4j.procedure.impl.ReadDefaults", lines=lines)
        return [answer == "accepted" for answer in answers]

    return parse


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
