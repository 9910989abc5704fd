"""Whatever an author writes, the stubs compile and Java and Neo4j read back what was written.

Each example holds many cases, because starting a JVM costs more than all of them.
"""

import base64
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, starmap
from pathlib import Path
from typing import TypeVar, get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sidecypher.catalogue import (
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
successors = st.none() | texts


def fits(entry: ProcedureEntry | FunctionEntry) -> bool:
    try:
        render(
            Catalogue.build([entry])
            if isinstance(entry, ProcedureEntry)
            else Catalogue.build([], [entry])
        )
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
        ColumnEntry(column, draw(types), draw(texts))
        for column in draw(st.lists(words | letters, max_size=6, unique=True))
    )
    return ProcedureEntry(
        *(name, mode, draw(texts), draw(timeouts)),
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
        *(name, draw(texts), draw(timeouts)),
        signature_of(name, "FUNCTION", parameters, [ColumnEntry("value", result)]),
        *(parameters, result),
        availability=draw(availabilities),
        deprecated_by=draw(successors),
    )


Entry = TypeVar("Entry", ProcedureEntry, FunctionEntry)


def loadable(entries: st.SearchStrategy[Entry]) -> st.SearchStrategy[list[Entry]]:
    return st.lists(entries.filter(fits), max_size=20, unique_by=lambda entry: entry.name)


catalogues = st.builds(Catalogue.build, loadable(procedures()), loadable(functions())).filter(
    lambda catalogue: catalogue.procedures or catalogue.functions
)


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
    """What an author wrote, one list of facts per procedure and function."""
    facts = [[("function", entry.name), *method(entry)] for entry in catalogue.functions]
    for entry in catalogue.procedures:
        marks = [("eager", str(entry.eager).lower()), ("admin", str(entry.admin).lower())]
        columns = [(("column", each.name), ("says", each.description)) for each in entry.columns]
        start = [("procedure", entry.name), ("mode", entry.mode), *marks]
        facts.append([*start, *method(entry), *chain.from_iterable(columns)])
    return sorted(facts)


def method(entry: ProcedureEntry | FunctionEntry) -> Iterator[tuple[str, str]]:
    """What both kinds have."""
    if entry.deprecated_by is not None:
        yield "deprecated", entry.deprecated_by
    yield "description", entry.description
    for parameter in entry.parameters:
        yield "parameter", parameter.name
        if parameter.default is not None:
            yield "default", parameter.default.text


def read_back(lines: list[str]) -> list[list[tuple[str, str]]]:
    """What Java read, in the order of `written`."""
    stubs: list[list[tuple[str, str]]] = []
    for kind, encoded in (line.split(" ") for line in lines):
        if kind in {"procedure", "function"}:
            stubs.append([])
        stubs[-1].append((kind, base64.b64decode(encoded).decode()))
    return sorted(stubs)


def with_text(index: int, text: str) -> ProcedureEntry:
    parameters = (ParameterEntry("text", "STRING", default=DefaultEntry(text)),)
    columns = (ColumnEntry("value", "ANY", text),)
    signature = signature_of(f"kg.p{index}", "READ", parameters, columns)
    return ProcedureEntry(
        f"kg.p{index}", "READ", text, 1, signature, parameters, columns, deprecated_by=text
    )


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
    """Any valid catalogue compiles; names, texts, defaults and marks reach Java unchanged."""
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
    for harmless, entry_name, parameter, column in (
        (dotted, name, "a", "a"),
        (plain, "kg.score", name, "a"),
        (plain, "kg.score", "a", name),
    ):
        parameters = (ParameterEntry(parameter, "STRING"),)
        columns = (ColumnEntry(column, "STRING"),)
        procedure = ProcedureEntry(entry_name, "READ", "", 1, "0" * 16, parameters, columns)
        function = FunctionEntry(entry_name, "", 1, "0" * 16, parameters, "STRING")
        for made in (([procedure], []), ([], [function])):
            try:
                render(Catalogue.build(*made))
            except SidecypherError:
                continue
            assert harmless or (made[1] and column == name)


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
