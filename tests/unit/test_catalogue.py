"""The catalogue is data with a hash: equal content, equal bytes; changed content is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher.errors import DuplicateProcedure, SidecypherError
from sidecypher.protocol.catalogue import (
    Catalogue,
    CatalogueError,
    ColumnEntry,
    DefaultEntry,
    FunctionEntry,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)


def entry(name: str = "kg.score", **changes: object) -> ProcedureEntry:
    parameters = (
        ParameterEntry("node", "STRING"),
        ParameterEntry("limit", "INTEGER", default=DefaultEntry("10")),
    )
    columns = (ColumnEntry("score", "FLOAT", "0 to 1"),)
    facts = {"mode": "READ", "parameters": parameters, "columns": columns, **changes}
    shape = {key: facts[key] for key in ("mode", "parameters", "columns")}
    return ProcedureEntry(
        name=name,
        signature=signature_of(name, **shape),
        **{"description": "Score a node.", "timeout_ms": 30_000, **facts},
    )


def function(name: str = "kg.score", **changes: object) -> FunctionEntry:
    facts = {"parameters": (ParameterEntry("node", "STRING"),), "result": "FLOAT", **changes}
    columns = [ColumnEntry("value", facts["result"])]
    return FunctionEntry(
        name=name,
        signature=signature_of(name, "FUNCTION", facts["parameters"], columns),
        **{"description": "Score a node.", "timeout_ms": 30_000, **facts},
    )


def test_build_sorts_by_name() -> None:
    """The order in which procedures are found changes neither the hash nor the bytes."""
    one, two = entry("kg.a"), entry("kg.b")

    assert Catalogue.build([two, one]) == Catalogue.build([one, two])
    assert Catalogue.build([two, one]).to_json() == Catalogue.build([one, two]).to_json()
    assert Catalogue.build([two, one]).procedures == (one, two)


def test_functions_are_sorted_too() -> None:
    """The order in which functions are found changes nothing either."""
    one, two = function("kg.a"), function("kg.b")

    assert Catalogue.build([], [two, one]) == Catalogue.build([], [one, two])
    assert Catalogue.build([], [two, one]).functions == (one, two)


def test_json_has_the_agreed_shape() -> None:
    """The JSON has the fields that plugin and sidecar agreed on, and the hash is a SHA-256."""
    read = json.loads(Catalogue.build([entry()], [function()]).to_json())

    assert list(read) == ["version", "hash", "procedures", "functions"]
    assert read["version"] == 3
    assert len(bytes.fromhex(read["hash"])) == 32
    node = {
        "name": "node",
        "type": "STRING",
        "nullable": False,
        "default": None,
        "description": "",
    }
    [procedure] = read["procedures"]
    assert len(bytes.fromhex(procedure.pop("signature"))) == 8
    assert procedure == {
        "name": "kg.score",
        "mode": "READ",
        "description": "Score a node.",
        "timeout_ms": 30_000,
        "parameters": [
            node,
            {
                "name": "limit",
                "type": "INTEGER",
                "nullable": False,
                "default": {"text": "10", "any": False},
                "description": "",
            },
        ],
        "columns": [{"name": "score", "type": "FLOAT", "description": "0 to 1"}],
        "single": False,
        "availability": "REQUIRED",
        "eager": False,
        "admin": False,
        "cache": "",
        "deprecated_by": None,
    }
    [of_function] = read["functions"]
    assert len(bytes.fromhex(of_function.pop("signature"))) == 8
    assert of_function == {
        "name": "kg.score",
        "description": "Score a node.",
        "timeout_ms": 30_000,
        "parameters": [node],
        "result": "FLOAT",
        "availability": "REQUIRED",
        "deprecated_by": None,
    }


def test_json_round_trips() -> None:
    """What `to_json` wrote, `from_json` reads back as an equal catalogue."""
    catalogue = Catalogue.build(
        [entry("kg.a", columns=()), entry("kg.b", description="é 😀 \0 \\u0022 */")],
        [function("kg.a", deprecated_by=""), function("kg.c", availability="OFF")],
    )

    assert Catalogue.from_json(catalogue.to_json()) == catalogue


def test_equal_names_are_refused() -> None:
    """Two procedures cannot share a name, and the error tells which one."""
    with pytest.raises(DuplicateProcedure, match=r"kg\.score"):
        Catalogue.build([entry(), entry(mode="WRITE")])
    with pytest.raises(DuplicateProcedure, match=r"functions.*kg\.score"):
        Catalogue.build([], [function(), function(result="STRING")])


def test_a_procedure_and_a_function_may_share_a_name() -> None:
    """Cypher tells procedures from functions by where they stand, so the catalogue holds both."""
    catalogue = Catalogue.build([entry()], [function()])

    assert catalogue.procedures[0].name == catalogue.functions[0].name
    assert catalogue.procedures[0].signature != catalogue.functions[0].signature


@pytest.mark.parametrize("changes", [{"result": "INTEGER"}, {"parameters": ()}])
def test_a_functions_signature_covers_its_shape(changes: dict[str, object]) -> None:
    """Parameters and result of a function are what plugin and sidecar must agree on."""
    assert function(**changes).signature != function().signature


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "WRITE"},
        {"parameters": ()},
        {"parameters": (ParameterEntry("node", "STRING", nullable=True),)},
        {"parameters": (ParameterEntry("node", "STRING", default=DefaultEntry("x")),)},
        {"columns": (ColumnEntry("score", "INTEGER"),)},
        {"columns": (ColumnEntry("value", "FLOAT"),)},
    ],
)
def test_signature_covers_the_shape(changes: dict[str, object]) -> None:
    """Whatever a plugin and a sidecar must agree on to make a call changes the signature."""
    assert entry(**changes).signature != entry().signature


@pytest.mark.parametrize(
    "changes",
    [
        {"description": "Another text."},
        {"timeout_ms": 1},
        {"columns": (ColumnEntry("score", "FLOAT", "another text"),)},
        {
            "parameters": (
                ParameterEntry("node", "STRING", description="another text"),
                ParameterEntry("limit", "INTEGER", default=DefaultEntry("10")),
            )
        },
        {"single": True},
        {"availability": "OPTIONAL"},
        {"eager": True},
        {"admin": True},
        {"deprecated_by": ""},
    ],
)
def test_signature_leaves_out_the_rest(changes: dict[str, object]) -> None:
    """What no call depends on changes the catalogue's hash, but not the signature."""
    assert entry(**changes).signature == entry().signature
    assert Catalogue.build([entry(**changes)]).hash != Catalogue.build([entry()]).hash


def test_signature_is_stable() -> None:
    """A signature is the same in every release: an old plugin goes on working."""
    assert signature_of("kg.ping", "READ", [], [ColumnEntry("pong", "BOOLEAN")]) == (
        "053725ae06756dcf"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"version":3', '"version":2'),
        ('"mode":"READ"', '"mode":"ADMIN"'),
        ('"timeout_ms":30000', '"timeout_ms":"30000"'),
        ('"timeout_ms":30000', '"timeout_ms":30001'),
        ('"type":"FLOAT"', '"type":"STRING"'),
        ('"nullable":false', '"nullable":true'),
        ('"version":3', '"version":3,"more":1'),
        ('"availability":"REQUIRED"', '"availability":"SOMETIMES"'),
        ('"admin":false', '"admin":true'),
        ('"deprecated_by":null', '"deprecated_by":"kg.x"'),
        ('"result":"FLOAT"', '"result":"STRING"'),
        (',"functions"', ',"more"'),
        ('"description":"Score a node."', '"description":"\\ud800"'),
        ("{", ""),
    ],
)
def test_changed_json_is_refused(old: str, new: str) -> None:
    """A catalogue that was changed by hand, or is of another version, is refused."""
    text = Catalogue.build([entry()], [function()]).to_json().decode()
    assert old in text

    with pytest.raises(CatalogueError) as caught:
        Catalogue.from_json(text.replace(old, new, 1))

    assert caught.value.code == "SC-104"


@given(st.binary() | st.text(st.characters(codec=None)))
def test_any_other_text_is_refused(text: bytes | str) -> None:
    """Whatever is not a catalogue gives a named error, never another exception."""
    with pytest.raises(SidecypherError):
        Catalogue.from_json(text)


def test_half_a_surrogate_pair_is_refused() -> None:
    """A text that is not Unicode text cannot enter a catalogue."""
    with pytest.raises(CatalogueError, match="surrogate"):
        Catalogue.build([entry(description="\ud800")])
