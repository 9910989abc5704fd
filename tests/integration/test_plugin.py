"""What Neo4j reads from a generated plugin, told by its own `SHOW` commands."""

from pathlib import Path

import pytest

from sidecypher.protocol.catalogue import Catalogue
from sidecypher.runtime._temporary_server import running, temporary_server
from sidecypher_plugin.builder import build

pytestmark = pytest.mark.slow

ALL = Path(__file__).parents[1] / "golden" / "plugin" / "all.json"
"""A namespace with every kind of procedure and function that a catalogue can hold."""


@pytest.fixture(scope="module")
def shown(installation, java, jdk_compiler, core_jar):
    """Asks a throw-away Neo4j that has loaded the golden plugin."""
    with temporary_server(installation, java) as server:
        build(
            Catalogue.from_json(ALL.read_bytes()),
            core_jar=core_jar,
            classpath=installation.jars("lib"),
            compiler=jdk_compiler,
            destination=server.plugin_folder / "sidecypher.jar",
        )
        with (
            running(server.process(restart=False)),
            server.address.driver(warn_notification_severity="OFF") as driver,
        ):
            yield driver.execute_query


@pytest.fixture(scope="module")
def procedures(shown):
    """The rows of SHOW PROCEDURES by name."""
    rows = shown("SHOW PROCEDURES YIELD * WHERE name STARTS WITH 'kg.'").records
    return {row["name"]: row for row in rows}


@pytest.fixture(scope="module")
def functions(shown):
    """The rows of SHOW FUNCTIONS by name."""
    rows = shown("SHOW FUNCTIONS YIELD * WHERE name STARTS WITH 'kg.'").records
    return {row["name"]: row for row in rows}


def test_procedure_twin_and_function_live_side_by_side(procedures, functions):
    """A procedure, its `.batch` and a function of the same name are all offered."""
    assert procedures.keys() == {
        *("kg.note", "kg.old", "kg.reset", "kg.similar", "kg.similar.batch", "kg.types")
    }
    assert functions.keys() == {"kg.hash", "kg.old", "kg.older", "kg.pick", "kg.similar"}


def test_descriptions_are_shown(procedures, functions):
    """Descriptions of procedures, their parameters and columns, and of functions are shown."""
    [text] = procedures["kg.note"]["argumentDescription"]
    assert text["description"] == "what it says"
    assert procedures["kg.similar"]["description"] == "Nodes most like this one."
    assert functions["kg.similar"]["description"] == "How alike two nodes are."
    [score, other] = procedures["kg.similar"]["returnDescription"]
    assert score["description"] == "0..1, cosine"
    assert other["description"] == "other :: NODE"


def test_signatures_are_shown(procedures, functions):
    """A signature has the declared types; a void procedure has no columns."""
    assert procedures["kg.note"]["signature"] == "kg.note(text =  :: STRING)"
    assert procedures["kg.similar"]["signature"] == (
        "kg.similar(node :: NODE) :: (score :: FLOAT, other :: NODE)"
    )
    assert functions["kg.pick"]["signature"] == "kg.pick(a :: ANY, b = -1 :: INTEGER) :: ANY"
    assert functions["kg.hash"]["signature"] == "kg.hash(content = null :: ANY) :: BYTEARRAY"


def test_types_are_those_of_neo4j(procedures):
    """Each type of the catalogue is Neo4j's own; only BYTES has another name there."""
    entry = next(
        each for each in Catalogue.from_json(ALL.read_bytes()).procedures if each.name == "kg.types"
    )

    shown = [column["type"] for column in procedures["kg.types"]["returnDescription"]]

    assert shown == [column.type.replace("BYTES", "BYTEARRAY") for column in entry.columns]


@pytest.mark.parametrize(
    ("name", "mode", "admin"),
    [
        ("kg.similar", "READ", False),
        ("kg.note", "WRITE", False),
        ("kg.reset", "SCHEMA", True),
        ("kg.old", "READ", True),
    ],
)
def test_mode_and_admin_are_shown(procedures, name, mode, admin):
    """The mode and the mark for administrators are what the catalogue says."""
    assert (procedures[name]["mode"], procedures[name]["admin"]) == (mode, admin)


def test_deprecation_is_shown(procedures, functions):
    """A deprecated procedure or function is marked, and its successor named if it has one."""
    marks = {
        name: (row["isDeprecated"], row["deprecatedBy"])
        for rows in (procedures, functions)
        for name, row in rows.items()
        if row["isDeprecated"] or row["deprecatedBy"]
    }

    assert marks == {
        "kg.old": (True, "kg.similar"),
        "kg.older": (True, '*/ \\u0022 "'),
        "kg.reset": (True, None),
    }


def test_a_query_that_calls_what_is_deprecated_is_told(shown):
    """A driver gets a notification that names the deprecated procedure and its successor."""
    for query in ("EXPLAIN CALL kg.old()", "EXPLAIN RETURN kg.old('x')"):
        [told] = [
            status.status_description
            for status in shown(query).summary.gql_status_objects
            if status.raw_classification == "DEPRECATION"
        ]

        assert told.endswith("kg.old is deprecated. It is replaced by kg.similar.")


def test_an_eager_procedure_is_planned_eagerly(shown):
    """Neo4j reads all that comes before an eager procedure first, and no other waits."""
    [eager, lazy] = (
        shown(f"EXPLAIN MATCH (n) CALL {name} RETURN n").summary.plan
        for name in ("kg.note()", "kg.similar(n) YIELD score")
    )

    assert "Eager" in operators(eager)
    assert "Eager" not in operators(lazy)


def operators(plan):
    children = [name for child in plan.get("children", []) for name in operators(child)]
    return [plan["operatorType"].partition("@")[0], *children]
