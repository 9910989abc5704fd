"""S10: what an author writes becomes Java source, and nothing but what it says."""

import base64
import tempfile
from itertools import chain, starmap
from pathlib import Path

import pytest
from fix_catalogues import HOSTILE, catalogues, jvm_sized, with_text
from hypothesis import example, given, settings

from sidecypher.protocol.catalogue import Catalogue
from sidecypher_plugin.generator import render

READER = Path(__file__).with_name("ReadBack.java")


def written(catalogue):
    """What an author wrote, one list of facts per procedure and function."""
    facts = [[("function", entry.name), *method(entry)] for entry in catalogue.functions]
    for entry in catalogue.procedures:
        marks = [("eager", str(entry.eager).lower()), ("admin", str(entry.admin).lower())]
        columns = [(("column", each.name), ("says", each.description)) for each in entry.columns]
        start = [("procedure", entry.name), ("mode", entry.mode), *marks]
        facts.append([*start, *method(entry), *chain.from_iterable(columns)])
    return sorted(facts)


def method(entry):
    """What both kinds have."""
    if entry.deprecated_by is not None:
        yield "deprecated", entry.deprecated_by
    yield "description", entry.description
    for parameter in entry.parameters:
        yield "parameter", parameter.name
        if parameter.default is not None:
            yield "default", parameter.default.text


def read_back(lines):
    """What Java read, in the order of `written`."""
    stubs = []
    for kind, encoded in (line.split(" ") for line in lines):
        if kind in {"procedure", "function"}:
            stubs.append([])
        stubs[-1].append((kind, base64.b64decode(encoded).decode()))
    return sorted(stubs)


@pytest.mark.slow
@settings(jvm_sized, max_examples=2)
@example(catalogue=Catalogue.build(starmap(with_text, enumerate(HOSTILE))))
@given(catalogue=catalogues)
def test_java_reads_back_what_was_written(
    run_java, jdk_compiler, core_jar, neo4j_classpath, catalogue
):
    """Any valid catalogue compiles; names, texts, defaults and marks reach Java unchanged."""
    sources = render(catalogue)
    stubs = [path.removesuffix(".java").replace("/", ".") for path in sources]
    reader = "io/sidecypher/generated/ReadBack.java"
    sources[reader] = READER.read_text("ascii")
    with tempfile.TemporaryDirectory() as folder:
        jars = [core_jar, *neo4j_classpath]
        jdk_compiler.compile(sources, classpath=jars, folder=Path(folder))

        lines = run_java(
            [Path(folder, "classes"), *jars], "io.sidecypher.generated.ReadBack", *stubs
        )

    assert read_back(lines) == written(catalogue)
