"""The generator trusts no catalogue: what cannot become a loadable stub is refused by name."""

from collections.abc import Callable

import msgspec
import pytest

from sidecypher.catalogue import (
    Catalogue,
    CatalogueError,
    ColumnEntry,
    DefaultEntry,
    FunctionEntry,
    ParameterEntry,
    ProcedureEntry,
)
from sidecypher.errors import DuplicateProcedure
from sidecypher_plugin import UnfitProcedure, render

Make = Callable[..., ProcedureEntry]
MakeFunction = Callable[..., FunctionEntry]


def refusal(entry: ProcedureEntry | FunctionEntry) -> str:
    functions = [entry] if isinstance(entry, FunctionEntry) else []
    procedures = [entry] if isinstance(entry, ProcedureEntry) else []
    with pytest.raises(UnfitProcedure) as caught:
        render(Catalogue.build(procedures, functions))
    assert caught.value.code == "SC-402"
    assert caught.value.hint
    return str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "score", "kg.", ".score", "kg..score", "kg.score ", " kg.score", "kg.score\n"),
        *("1kg.score", "kg.1score", "_kg.score", "kg.sc-ore", "kg.sc ore", "kg.score()", "kg.é"),
        *('kg.a"b', "kg.a*/b", "kg.\\u0041", "kg.a\0b", "kg.a$b", "kg." + "a" * 198),
    ],
)
def test_names_outside_the_pattern_are_refused(entry: Make, name: str) -> None:
    """A name is parts of ASCII letters, digits and underscores, at least two of them."""
    assert "procedure" in refusal(entry(name))


@pytest.mark.parametrize(
    "namespace",
    [
        *("graph", "tx", "db", "dbms", "cdc", "date", "datetime", "duration", "localdatetime"),
        *("localtime", "time", "internal", "unsupported", "abac", "builtin", "coll", "math"),
        *("plugin", "point", "stored", "string", "vector", "db.mine"),
    ],
)
def test_namespaces_of_neo4j_are_refused(entry: Make, namespace: str) -> None:
    """Namespaces that Neo4j reserves, now or soon, are refused with everything below them."""
    assert "reserves" in refusal(entry(f"{namespace}.score"))


@pytest.mark.parametrize("name", ["class.new", "list.map", "Object.String", "kg.a_b", "K.x2.y"])
def test_java_words_are_fine_in_procedure_names(entry: Make, name: str) -> None:
    """A procedure's name is only text in Java, so Java's own words are allowed."""
    assert render(Catalogue.build([entry(name)]))


@pytest.mark.parametrize(
    "name",
    [
        *("wait", "notify", "notifyAll", "clone", "finalize", "hashCode", "toString", "getClass"),
        *("class", "int", "goto", "null", "true", "false", "strictfp"),
    ],
)
def test_columns_java_cannot_have_are_refused(entry: Make, name: str) -> None:
    """A column becomes a record component: no keyword, and no method of Object."""
    assert f"`{name}`" in refusal(entry(columns=(ColumnEntry(name, "STRING"),)))


@pytest.mark.parametrize("name", ["", "_", "1a", "a b", "a-b", "é", "a\n", "a`", "a" * 201])
def test_parameters_and_columns_follow_the_pattern(entry: Make, name: str) -> None:
    """Names of parameters and columns are plain ASCII identifiers."""
    assert "column" in refusal(entry(columns=(ColumnEntry(name, "STRING"),)))
    assert "parameter" in refusal(entry(parameters=(ParameterEntry(name, "STRING"),)))


def test_doubled_names_are_refused(entry: Make) -> None:
    """Two parameters, or two columns, cannot share a name."""
    two_columns = (ColumnEntry("a", "STRING"), ColumnEntry("a", "INTEGER"))
    two_parameters = (ParameterEntry("a", "STRING"), ParameterEntry("a", "INTEGER"))

    assert "two columns called `a`" in refusal(entry(columns=two_columns))
    assert "two parameters called `a`" in refusal(entry(parameters=two_parameters))


def test_more_than_java_can_pass_is_refused(entry: Make) -> None:
    """A Java method has 255 slots, one of them for `this`."""
    columns = tuple(ColumnEntry(f"c{index}", "STRING") for index in range(255))
    parameters = tuple(ParameterEntry(f"p{index}", "STRING") for index in range(255))

    assert "254" in refusal(entry(columns=columns))
    assert "254" in refusal(entry(parameters=parameters))


def test_functions_are_checked_as_procedures_are(function: MakeFunction) -> None:
    """A function's name, parameters, defaults, result and facts are looked at too."""
    unreadable = ParameterEntry("a", "INTEGER", default=DefaultEntry("null"))

    for refused, told in (
        (function("score"), "The function `score` has no namespace"),
        (function("db.score"), "The function `db.score` is in the namespace `db`"),
        (function("kg.é"), "A function cannot be called"),
        (function(parameters=(unreadable,)), "default for `a`"),
        (function(parameters=(ParameterEntry("a b", "ANY"),)), "a parameter called `a b`"),
        (function(result="TIME"), "The function `kg.score` has a result of the unknown type"),
        (function(timeout_ms=0), "timeout"),
    ):
        assert told in refusal(refused)


def test_unknown_types_are_refused(entry: Make) -> None:
    """A type that the bridge does not carry is refused, and the error names its place."""
    assert "column `at`" in refusal(entry(columns=(ColumnEntry("at", "TIME"),)))
    assert "parameter `at`" in refusal(entry(parameters=(ParameterEntry("at", "TIME"),)))


@pytest.mark.parametrize(
    ("cypher_type", "default"),
    [
        ("INTEGER", DefaultEntry("null")),
        ("INTEGER", DefaultEntry("1", any=True)),
        ("DATE", DefaultEntry("null")),
        ("ANY", DefaultEntry("null")),
        ("MAP", DefaultEntry("{a: date()}")),
        ("STRING", DefaultEntry("x" * 60_001)),
        ("STRING", DefaultEntry("\0" * 30_001)),
    ],
)
def test_defaults_neo4j_cannot_read_are_refused(
    entry: Make, cypher_type: str, default: DefaultEntry
) -> None:
    """A default that Neo4j cannot read would keep it from starting; none is ever cut short."""
    text = refusal(entry(parameters=(ParameterEntry("a", cypher_type, default=default),)))

    assert "default for `a`" in text
    assert len(text) < 200


def test_required_parameters_come_first(entry: Make) -> None:
    """Neo4j refuses a class where a required parameter follows one with a default."""
    parameters = (
        ParameterEntry("a", "INTEGER", default=DefaultEntry("1")),
        ParameterEntry("b", "INTEGER"),
    )

    assert "`b` after `a`" in refusal(entry(parameters=parameters))


@pytest.mark.parametrize(
    "changes",
    [
        *({"mode": mode} for mode in ("DBMS", "read", "READ; //")),
        *({"timeout_ms": timeout} for timeout in (0, -1, 2**63)),
        *({"signature": text} for text in ("", "0" * 15, "A" * 16, '"' * 16)),
        {"availability": '"'},
    ],
)
def test_facts_outside_their_range_are_refused(entry: Make, changes: dict[str, object]) -> None:
    """The facts are checked even though they never come from an author's text."""
    assert "kg.score" in refusal(msgspec.structs.replace(entry(), **changes))


def test_all_that_is_unfit_is_told_at_once(entry: Make, function: MakeFunction) -> None:
    """Several unfit entries are told together, each with its name and reason."""
    catalogue = Catalogue.build(
        [entry("kg.one", timeout_ms=0), entry("kg.two"), entry("graph.three")],
        [function("kg.four", result="TIME")],
    )

    with pytest.raises(UnfitProcedure, match=r"^3 procedures and functions cannot") as caught:
        render(catalogue)

    assert caught.value.details["unfit"] == [
        "The procedure `graph.three` is in the namespace `graph`, which Neo4j reserves",
        "The procedure `kg.one` has a timeout of 0 ms",
        "The function `kg.four` has a result of the unknown type `TIME`",
    ]


def test_a_catalogue_not_made_by_build_is_refused(entry: Make) -> None:
    """A catalogue whose hash is not that of its procedures would make plugin and sidecar differ."""
    with pytest.raises(UnfitProcedure, match="hash"):
        render(Catalogue(2, "0" * 64, (entry(),), ()))
    with pytest.raises(DuplicateProcedure):
        render(Catalogue(2, "0" * 64, (entry(), entry()), ()))


def test_half_a_surrogate_pair_is_refused(entry: Make) -> None:
    """A text that is no Unicode text cannot enter a class file either."""
    broken = msgspec.structs.replace(entry(), description="\ud800")

    with pytest.raises(CatalogueError, match="surrogate"):
        render(Catalogue(2, "0" * 64, (broken,), ()))
