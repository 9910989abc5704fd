"""The scripts that docs/migrations.md shows can be applied."""

import pytest
from docs.pages import ROOT, blocks
from neo4j.exceptions import ClientError

from sidecypher_schema import connect, find_drift, migrate


@pytest.mark.slow
def test_the_scripts_of_the_page(driver, session, own):
    """The script and the trigger of the page are applied, and the trigger does what it says."""
    shown = [block.text for block in blocks("text", pages=[ROOT / "docs/migrations.md"])]
    [script] = [text for text in shown if text.startswith("CREATE CONSTRAINT")]
    [trigger] = [text for text in shown if text.startswith("// trigger")]
    scripts = own({"migrations/V001__people.cypher": script, "triggers/names.cypher": trigger})

    migrate(driver, scripts)

    assert find_drift(connect(driver), scripts) == []
    assert session.run("MATCH (n:Note) RETURN n.text").value() == ["a ; in a string ends nothing"]
    with pytest.raises(ClientError, match="A person has an empty name"):
        session.run("CREATE (:Person {id: 1, name: ''})").consume()
