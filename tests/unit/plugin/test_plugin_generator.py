"""The sources that the generator writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sidecypher.protocol.catalogue import (
    Catalogue,
    ColumnEntry,
    FunctionEntry,
    ParameterEntry,
    ProcedureEntry,
)
from sidecypher_plugin.errors import UnfitProcedure
from sidecypher_plugin.generator import render

GOLDEN = Path(__file__).parents[2] / "golden" / "plugin"
Make = Callable[..., ProcedureEntry]
MakeFunction = Callable[..., FunctionEntry]


@pytest.mark.parametrize("case", ["all", "github", "hostile", "types"])
def test_sources_are_the_expected_ones(case: str) -> None:
    """The sources of a known catalogue change only when somebody means them to."""
    catalogue = Catalogue.from_json((GOLDEN / f"{case}.json").read_bytes())

    written = {Path(path).name: source for path, source in render(catalogue).items()}
    expected = {file.name: file.read_text("ascii") for file in (GOLDEN / case).glob("*.java")}

    assert written == expected, "if this was meant, run `python tests/golden/plugin/regenerate.py`"


def test_an_empty_catalogue_gives_no_sources() -> None:
    """Without procedures and functions there is nothing to write."""
    assert render(Catalogue.build([])) == {}


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "kg.",
        "kg..a",
        "kg.a b",
        "kg.é",
        'kg.a"b',
        "kg.a*/b",
        "kg.\\u0041",
        "kg.a\n",
        "../a",
    ],
)
def test_what_is_more_than_a_name_is_refused(
    entry: Make, function: MakeFunction, name: str
) -> None:
    """A name is ASCII letters, digits and underscores, wherever it stands."""
    refused = [
        Catalogue.build([entry(name)]),
        Catalogue.build([], [function(name)]),
        Catalogue.build([entry(columns=(ColumnEntry(name, "STRING"),))]),
        Catalogue.build([entry(parameters=(ParameterEntry(name, "STRING"),))]),
    ]

    for catalogue in refused:
        with pytest.raises(UnfitProcedure, match="has the name") as caught:
            render(catalogue)
        assert "ASCII letters" in caught.value.hint


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


def test_procedures_and_functions_share_a_class(entry: Make, function: MakeFunction) -> None:
    """A namespace has one class, with its functions after its procedures."""
    catalogue = Catalogue.build([entry("kg.b")], [function("kg.a"), function("k.a")])

    sources = render(catalogue)

    assert [Path(path).name for path in sources] == ["K_0.java", "Kg_1.java"]
    of_kg = list(sources.values())[1]
    assert of_kg.index('@Procedure(name = "kg.b"') < of_kg.index('@UserFunction(name = "kg.a"')


def test_no_user_text_outside_literals(entry: Make, function: MakeFunction) -> None:
    """Texts appear inside string literals only; the sources have no comments at all."""
    text, literal = "*/ secret \\u002a\\u002f //", '"*/ secret \\\\u002a\\\\u002f //"'
    columns = (ColumnEntry("value", "ANY", text),)
    parameters = (ParameterEntry("node", "STRING", description=text),)
    catalogue = Catalogue.build(
        [entry(description=text, deprecated_by=text, parameters=parameters, columns=columns)],
        [function(description=text, deprecated_by=text)],
    )

    [source] = render(catalogue).values()

    assert [line.strip() for line in source.splitlines() if "secret" in line] == [
        f'@Procedure(name = "kg.score", mode = Mode.READ, deprecatedBy = {literal})',
        f"@Description({literal})",
        f'@Name(value = "node", description = {literal}) String a0) {{',
        f"@Description({literal}) Object value) {{",
        f'@UserFunction(name = "kg.score", deprecatedBy = {literal})',
        f"@Description({literal})",
    ]


def test_marks_are_written_only_where_they_are_set(entry: Make, function: MakeFunction) -> None:
    """What Neo4j and the core assume without a word is not written."""
    words = ["eager", "Deprecated", "deprecatedBy", "@Admin", "singleRow", "availability"]

    [plain] = render(Catalogue.build([entry()], [function()])).values()
    [marked] = render(
        Catalogue.build(
            [entry(eager=True, admin=True, single=True, deprecated_by="kg.new")],
            [function(availability="OFF")],
        )
    ).values()

    assert [word for word in words if word in plain.replace("procedure.Admin;", "")] == []
    assert [word for word in words if word not in marked] == []
    assert '.availability("OFF")' in marked


def test_deprecated_without_a_successor(entry: Make, function: MakeFunction) -> None:
    """An empty successor marks the stub as deprecated and names nothing."""
    catalogue = Catalogue.build([entry(deprecated_by="")], [function(deprecated_by="")])

    [source] = render(catalogue).values()

    assert source.count("    @Deprecated\n") == 2
    assert "deprecatedBy" not in source


def test_null_default_travels_as_object() -> None:
    """A default that only Python knows makes the parameter nullable and untyped for Neo4j."""
    catalogue = Catalogue.from_json((GOLDEN / "types.json").read_bytes())

    [source] = render(catalogue).values()

    assert '@Name(value = "date", defaultValue = "null") Object a6' in source
    assert '.parameter("date", "DATE", true)' in source
