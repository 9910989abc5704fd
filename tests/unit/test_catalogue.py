"""The catalogue is data with a hash: equal content, equal bytes; changed content is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecypher.catalogue import (
    Catalogue,
    CatalogueError,
    ColumnEntry,
    DefaultEntry,
    ParameterEntry,
    ProcedureEntry,
    signature_of,
)
from sidecypher.errors import DuplicateProcedure, SidecypherError


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


def test_build_sorts_by_name() -> None:
    """The order in which procedures are found changes neither the hash nor the bytes."""
    one, two = entry("kg.a"), entry("kg.b")

    assert Catalogue.build([two, one]) == Catalogue.build([one, two])
    assert Catalogue.build([two, one]).to_json() == Catalogue.build([one, two]).to_json()
    assert Catalogue.build([two, one]).procedures == (one, two)


def test_json_has_the_agreed_shape() -> None:
    """The JSON has the fields that plugin and sidecar agreed on, and the hash is a SHA-256."""
    read = json.loads(Catalogue.build([entry()]).to_json())

    assert list(read) == ["version", "hash", "procedures"]
    assert read["version"] == 1
    assert len(bytes.fromhex(read["hash"])) == 32
    [procedure] = read["procedures"]
    assert len(bytes.fromhex(procedure.pop("signature"))) == 8
    assert procedure == {
        "name": "kg.score",
        "mode": "READ",
        "description": "Score a node.",
        "timeout_ms": 30_000,
        "parameters": [
            {"name": "node", "type": "STRING", "nullable": False, "default": None},
            {
                "name": "limit",
                "type": "INTEGER",
                "nullable": False,
                "default": {"text": "10", "any": False},
            },
        ],
        "columns": [{"name": "score", "type": "FLOAT", "description": "0 to 1"}],
    }


def test_json_round_trips() -> None:
    """What `to_json` wrote, `from_json` reads back as an equal catalogue."""
    catalogue = Catalogue.build([entry("kg.a"), entry("kg.b", description="é 😀 \0 \\u0022 */")])

    assert Catalogue.from_json(catalogue.to_json()) == catalogue


def test_equal_names_are_refused() -> None:
    """Two procedures cannot share a name, and the error tells which one."""
    with pytest.raises(DuplicateProcedure, match=r"kg\.score"):
        Catalogue.build([entry(), entry(mode="WRITE")])


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
    ],
)
def test_signature_leaves_out_texts_and_timeout(changes: dict[str, object]) -> None:
    """Texts and the timeout change the catalogue's hash, but not the signature."""
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
        ('"version":1', '"version":2'),
        ('"mode":"READ"', '"mode":"ADMIN"'),
        ('"timeout_ms":30000', '"timeout_ms":"30000"'),
        ('"timeout_ms":30000', '"timeout_ms":30001'),
        ('"type":"FLOAT"', '"type":"STRING"'),
        ('"nullable":false', '"nullable":true'),
        ('"version":1', '"version":1,"more":1'),
        ('"description":"Score a node."', '"description":"\\ud800"'),
        ("{", ""),
    ],
)
def test_changed_json_is_refused(old: str, new: str) -> None:
    """A catalogue that was changed by hand, or is of another version, is refused."""
    text = Catalogue.build([entry()]).to_json().decode()
    assert old in text

    with pytest.raises(CatalogueError) as caught:
        Catalogue.from_json(text.replace(old, new, 1))

    assert caught.value.code == "SC-104"


@given(st.binary() | st.text(st.characters(codec=None)))
def test_any_other_text_is_refused(text: bytes | str) -> None:
    """Whatever is no catalogue gives a named error, never another exception."""
    with pytest.raises(SidecypherError):
        Catalogue.from_json(text)


def test_half_a_surrogate_pair_is_refused() -> None:
    """A text that is no Unicode text cannot enter a catalogue."""
    with pytest.raises(CatalogueError, match="surrogate"):
        Catalogue.build([entry(description="\ud800")])
