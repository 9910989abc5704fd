"""The sources that the generator writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sidecypher.catalogue import Catalogue, ProcedureEntry
from sidecypher_plugin import render

GOLDEN = Path(__file__).parents[2] / "golden" / "plugin"
Make = Callable[..., ProcedureEntry]


@pytest.mark.parametrize("case", ["github", "hostile", "types"])
def test_sources_are_the_expected_ones(case: str) -> None:
    """The sources of a known catalogue change only when somebody means them to."""
    catalogue = Catalogue.from_json((GOLDEN / f"{case}.json").read_bytes())

    written = {Path(path).name: source for path, source in render(catalogue).items()}
    expected = {file.name: file.read_text("ascii") for file in (GOLDEN / case).glob("*.java")}

    assert written == expected, "if this was meant, run `python tests/golden/plugin/regenerate.py`"


def test_an_empty_catalogue_gives_no_sources() -> None:
    """Without procedures there is nothing to write."""
    assert render(Catalogue.build([])) == {}


def test_classes_never_share_a_name(entry: Make) -> None:
    """Namespaces that look alike get classes of their own, also where files ignore case."""
    names = ["a.b.x", "a_b.x", "A_b.x", "aB.x", "ab.x", "Github.x", "github.x", "github.x.y"]

    paths = render(Catalogue.build([entry(name) for name in names]))

    assert len({path.lower() for path in paths}) == len(names)


def test_one_class_holds_a_namespace(entry: Make) -> None:
    """Procedures of one namespace share a class, whatever sorts between their names."""
    names = ["kg.a", "kg.b.x", "kg.c"]

    sources = render(Catalogue.build([entry(name) for name in names]))

    assert [source.count("@Procedure(") for source in sources.values()] == [2, 1]


def test_no_user_text_outside_literals(entry: Make) -> None:
    """Texts appear inside string literals only; the sources have no comments at all."""
    [source] = render(Catalogue.build([entry(description="*/ secret \\u002a\\u002f //")])).values()

    assert [line.strip() for line in source.splitlines() if "secret" in line] == [
        '@Description("*/ secret \\\\u002a\\\\u002f //")'
    ]


def test_null_default_travels_as_object() -> None:
    """A default that only Python knows makes the parameter nullable and untyped for Neo4j."""
    catalogue = Catalogue.from_json((GOLDEN / "types.json").read_bytes())

    [source] = render(catalogue).values()

    assert '@Name(value = "date", defaultValue = "null") Object a6' in source
    assert '.parameter("date", "DATE", true)' in source
