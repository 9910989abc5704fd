"""The models of the Python API: the contract of the configuration."""

import json

import pytest
from docs.pages import page_named
from pydantic import ValidationError

from sidecypher_procedures.code.client import (
    Entity,
    GraphSearchConfig,
    GraphStorageConfig,
    Neo4jClient,
    Relationship,
)

DEFAULTS = {
    "neo4j_uri": "bolt://localhost:7687",
    "neo4j_user": "neo4j",
    "neo4j_password": "",
    "neo4j_database": "neo4j",
    "max_hops": 2,
    "include_communities": True,
    "community_algorithm": "louvain",
    "entity_types": ["function", "class", "module", "variable", "import"],
    "relationship_types": ["calls", "imports", "inherits", "contains", "references"],
    "graph_search_top_k": 30,
}


def test_the_configuration_has_these_fields_and_defaults():
    """A file with all defaults is the configuration without arguments."""
    assert GraphStorageConfig().model_dump() == DEFAULTS
    assert GraphStorageConfig.model_validate_json(json.dumps(DEFAULTS)) == GraphStorageConfig()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_hops": 0},
        {"max_hops": 6},
        {"graph_search_top_k": 0},
        {"community_algorithm": "leiden"},
        {"entity_types": ["method"]},
        {"entity_types": []},
        {"relationship_types": ["uses"]},
        {"neo4j_database": ""},
        {"neo4j_databse": "shop"},
    ],
)
def test_what_is_out_of_range_or_unknown_is_refused_by_name(wrong):
    """The error names the field, and shows no value."""
    [name] = wrong
    with pytest.raises(ValidationError, match=name) as caught:
        GraphStorageConfig(neo4j_password="secret-word", **wrong)

    assert "secret-word" not in str(caught.value)


def test_a_password_is_not_shown():
    """Neither the configuration nor the client shows it."""
    config = GraphStorageConfig(neo4j_password="secret-word")

    assert "secret-word" not in repr(config) + str(config) + repr(Neo4jClient.of(config))
    assert config.neo4j_password == "secret-word"


def test_a_configuration_says_how_to_search():
    """Its hops and its number of results are those of a search."""
    config = GraphStorageConfig(max_hops=3, graph_search_top_k=5)

    assert config.search == GraphSearchConfig(max_hops=3, top_k=5)
    assert GraphStorageConfig().search == GraphSearchConfig()


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "a b"},
        {"id": "a" * 201},
        {"name": ""},
        {"type": "method"},
        {"language": "cobol"},
        {"start_line": -1},
        {"chunk_id": " "},
        {"colour": "red"},
    ],
)
def test_an_entity_is_checked(wrong):
    """A field that is missing, unknown or out of range is named."""
    given = {"id": "a", "name": "a", "type": "function", "file_path": "a.py"}

    assert Entity(**given)
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Entity(**given | wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"source": ""}, {"type": "CALLS"}, {"resolution": "guess"}, {"confidence": 1.5}, {"x": 1}],
)
def test_a_relationship_is_checked(wrong):
    """A field that is missing, unknown or out of range is named."""
    given = {"source": "a", "target": "b", "type": "calls"}

    assert Relationship(**given)
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        Relationship(**given | wrong)


def allowed(field):
    """Return what a field of a JSON schema may be, as the page says it."""
    if "maximum" in field:
        return f"{field['minimum']} to {field['maximum']}"
    values = field.get("enum") or field.get("items", {}).get("enum", [])
    return ", ".join(f"`{value}`" for value in values)


@pytest.mark.parametrize("model", [GraphStorageConfig, GraphSearchConfig])
def test_the_page_has_the_schema_of_a_configuration(model):
    """Each field of the JSON schema is a row of the page: type, what is allowed, and default."""
    text = page_named("docs/code-python.md")

    for name, field in model.model_json_schema()["properties"].items():
        is_list = field["type"] == "array"
        default = "all" if is_list else f"`{json.dumps(field['default'])}`"
        cells = [f"`{name}`", field["type"], allowed(field), default, field["description"]]
        assert f"| {' | '.join(cells)} |" in text
